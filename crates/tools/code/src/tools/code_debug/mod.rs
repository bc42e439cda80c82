//! `code_debug`: runs a program under a debugger, inspects it when it stops,
//! and steps through it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{
    Effect, JsonSchema, Resource, Scope, Tool, ToolContext, ToolError, ToolExample, ToolSpec,
    WorkingDir,
};
use hermes_debug::{
    DebugSession, DebugSessions, DebugTarget, DebugVariable, DebuggeeStatus, ResumeKind,
    SessionReservation, ValueLimits,
};
use serde::Deserialize;

use report::{DebugReport, Output};
use start::PendingLaunch;

mod report;
mod start;

/// Seconds that a program may run before it is paused.
const DEFAULT_TIMEOUT_SECS: u64 = 60;
/// How long to wait for a program to pause.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval between progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct CodeDebug {
    sessions: DebugSessions,
}

/// The action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DebugAction {
    #[default]
    Run,
    Continue,
    StepOver,
    StepInto,
    StepOut,
    Pause,
    Stack,
    Variables,
    Evaluate,
    SetBreakpoints,
    ClearBreakpoints,
    Restart,
    Stop,
    List,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BreakpointArgs {
    file: Option<String>,
    #[schemars(with = "Option<i64>")]
    line: Option<u64>,
    function: Option<String>,
    condition: Option<String>,
    #[schemars(with = "Option<i64>")]
    hit: Option<u64>,
    log: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Default run.
    #[serde(default)]
    action: DebugAction,
    /// Default: latest.
    session: Option<String>,
    /// File to run, or -m and a Python module.
    program: Option<String>,
    /// Test to run: file::name.
    test: Option<String>,
    /// Its arguments.
    args: Option<Vec<String>>,
    /// Working dir.
    cwd: Option<String>,
    /// Env variables.
    env: Option<BTreeMap<String, String>>,
    /// File and line, or function. hit: n-th time only; log: print this and
    /// continue.
    #[serde(default)]
    breakpoints: Vec<BreakpointArgs>,
    /// uncaught (default), user_uncaught, raised, none, or exception classes; entry; libraries, too.
    stop_on: Option<Vec<String>>,
    /// 0 is the innermost.
    #[schemars(with = "Option<i64>")]
    frame: Option<usize>,
    /// Expression, or variable to expand: self.items[3].
    expression: Option<String>,
    /// Seconds until paused (60).
    #[schemars(with = "Option<i64>")]
    timeout: Option<u64>,
}

impl Tool for CodeDebug {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        ToolSpec::new("code_debug", "code")
            .emoji("🐞")
            .description(
                "Debug a program or test (Python, Node, native): run to a breakpoint or exception, \
                 see source, stack, locals; step, evaluate.",
            )
            .alias("debug")
            .parameter_alias("file", "program")
            .parameter_alias("script", "program")
            .parameter_alias("session_id", "session")
            .parameter_alias("path", "expression")
            .parameter_alias("arguments", "args")
            .parameter_alias("exceptions", "stop_on")
            .keyword("debugger")
            .keyword("breakpoint")
            .keyword("stack trace")
            .keyword("step through")
            .timeout(Duration::from_secs(3_700))
            .example(
                ToolExample::new(
                    "Stop in a loop on a condition",
                    r#"{"program":"sum.js","breakpoints":[{"file":"sum.js","line":3,"condition":"n === 2"}]}"#,
                )
                .file(
                    "sum.js",
                    "let total = 0;\nfor (const n of [1, 2, 3]) {\n  total += n;\n}\nconsole.log(total);\n",
                )
                .expects(r#"{"status":"stopped","reason":"breakpoint","location":{"file":"sum.js","line":3}}"#),
            )
            .example(ToolExample::new("List debug sessions", r#"{"action":"list"}"#))
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        if args.action == DebugAction::List {
            return Vec::new();
        }
        let dir = start::working_dir(args, at);
        let mut effects =
            vec![Effect::path(Scope::CODE_EXECUTE, &dir), Effect::path(Scope::FILE_READ, &dir)];
        if let Some(file) = start::program_file(args, at).filter(|file| !file.starts_with(&dir)) {
            effects.push(Effect::path(Scope::FILE_READ, file));
        }
        effects
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        if args.action == DebugAction::List {
            return Ok(report::list(&self.sessions.owned_by(cx.session.id()), cx));
        }
        let dir = start::working_dir(&args, &cx.working_dir);
        cx.check_grant(&Scope::CODE_EXECUTE, &Resource::Path(dir.clone()))?;
        cx.check_grant(&Scope::FILE_READ, &Resource::Path(dir))?;
        let until = deadline(args.timeout, cx);
        match args.action {
            DebugAction::Run => {
                let place = self.sessions.reserve(cx.session.id(), args.session.as_deref())?;
                let start = PendingLaunch::from_args(&args, cx).await?;
                let id = place.name.clone();
                self.start_session(start, (id, Some(place)), until, &args, cx).await
            }
            DebugAction::Restart => {
                let old = self.sessions.get(cx.session.id(), args.session.as_deref())?;
                let _turn = old.call_lock.lock().await;
                let start = PendingLaunch::for_restart(&old, cx).await?;
                old.end().await;
                self.start_session(start, (old.id.clone(), None), until, &args, cx).await
            }
            _ => {
                let session = self.sessions.get(cx.session.id(), args.session.as_deref())?;
                let _turn = cx.run_until_cancelled(session.call_lock.lock()).await?;
                self.perform_action(&session, until, &args, cx).await
            }
        }
    }

    async fn teardown(&self) {
        self.sessions.close().await;
    }
}

impl CodeDebug {
    /// Starts a program and waits for its first stop.
    async fn start_session(
        &self,
        start: PendingLaunch,
        (id, place): (String, Option<SessionReservation>),
        until: Instant,
        args: &Args,
        cx: &ToolContext,
    ) -> Result<Output, ToolError> {
        let session = cx.run_until_cancelled(start.start(id, cx)).await??;
        self.sessions.add(Arc::clone(&session));
        // The session is registered now.
        drop(place);
        let shown = self.wait_for_stop(&session, until, args, cx).await;
        if shown.as_ref().is_err_and(|_| cx.cancel.is_cancelled()) {
            // The caller never received the session id.
            self.sessions.remove(&session);
            session.end().await;
        }
        shown
    }

    async fn perform_action(
        &self,
        session: &Arc<DebugSession>,
        until: Instant,
        args: &Args,
        cx: &ToolContext,
    ) -> Result<Output, ToolError> {
        let step = match args.action {
            DebugAction::StepOver => ResumeKind::Over,
            DebugAction::StepInto => ResumeKind::Into,
            DebugAction::StepOut => ResumeKind::Out,
            _ => ResumeKind::Continue,
        };
        match args.action {
            DebugAction::Continue
            | DebugAction::StepOver
            | DebugAction::StepInto
            | DebugAction::StepOut => {
                // A program that is still running only needs waiting.
                if args.action != DebugAction::Continue
                    || session.status() != DebuggeeStatus::Running
                {
                    session.resume(step).await?;
                }
                self.wait_for_stop(session, until, args, cx).await
            }
            DebugAction::Pause => {
                if session.status() == DebuggeeStatus::Running {
                    session.pause().await?;
                }
                let met = session.wait(Instant::now() + PAUSE_TIMEOUT, &cx.cancel).await?;
                DebugReport::new(session, cx, args).describe_state(met).await
            }
            DebugAction::Stop => {
                session.end().await;
                self.sessions.remove(session);
                let mut output =
                    DebugReport::new(session, cx, args).describe_state(session.status()).await?;
                output.add_note("The session has ended.");
                Ok(output)
            }
            DebugAction::Variables | DebugAction::Evaluate => {
                let frame = report::selected_frame(session, args.frame).await?;
                let value = inspect_values(session, frame, args).await?;
                DebugReport::new(session, cx, args).value(value, frame).await
            }
            DebugAction::SetBreakpoints => {
                let wanted =
                    start::breakpoint_requests(&args.breakpoints, &session.launch.cwd, cx)?;
                start::check_breakpoint_files(&wanted, session, cx).await?;
                session.add_breakpoints(wanted).await?;
                Ok(DebugReport::new(session, cx, args).breakpoints())
            }
            DebugAction::ClearBreakpoints => {
                let gone = clear_breakpoints(session, args, cx).await?;
                let mut output = DebugReport::new(session, cx, args).breakpoints();
                output.add_note(&format!("{gone} removed."));
                Ok(output)
            }
            _ => DebugReport::new(session, cx, args).describe_state(session.status()).await,
        }
    }

    /// Waits for a stop. Pauses a program that takes too long, to show where it
    /// is.
    async fn wait_for_stop(
        &self,
        session: &Arc<DebugSession>,
        until: Instant,
        args: &Args,
        cx: &ToolContext,
    ) -> Result<Output, ToolError> {
        let began = Instant::now();
        let met = loop {
            let next = until.min(Instant::now() + PROGRESS_INTERVAL);
            match session.wait(next, &cx.cancel).await? {
                DebuggeeStatus::Running if next < until => {
                    let seconds = began.elapsed().as_secs();
                    cx.report_progress(None, format!("{}: running for {seconds} s", session.id));
                }
                met => break met,
            }
        };
        if met != DebuggeeStatus::Running {
            return DebugReport::new(session, cx, args).describe_state(met).await;
        }
        let asked = session.pause().await;
        let met = session.wait(Instant::now() + PAUSE_TIMEOUT, &cx.cancel).await?;
        let mut output = DebugReport::new(session, cx, args).describe_state(met.clone()).await?;
        let seconds = began.elapsed().as_secs();
        output.add_note(&match (met, asked) {
            (DebuggeeStatus::Stopped(_), _) => {
                // The timeout includes the start of the program.
                format!(
                    "It had not stopped before the timeout (after {seconds} s of running), so \
                     it was paused here."
                )
            }
            (DebuggeeStatus::Ended(_), _) => String::new(),
            (DebuggeeStatus::Running, Ok(())) => format!(
                "It is still running after {seconds} s and cannot be paused at once: it is \
                 blocked, or in code that the debugger does not see. It will stop as soon as \
                 it continues."
            ),
            (DebuggeeStatus::Running, Err(error)) => {
                format!("It is still running after {seconds} s: {}.", error.message())
            }
        });
        Ok(output)
    }
}

/// Returns the requested variables or value.
async fn inspect_values(
    session: &DebugSession,
    frame: usize,
    args: &Args,
) -> Result<Vec<DebugVariable>, ToolError> {
    let is_statement = args.action == DebugAction::Evaluate;
    let text = match is_statement {
        true => Some(args.expression.as_ref().ok_or_else(|| {
            ToolError::invalid("No expression to evaluate").with_hint("Give 'expression'.")
        })?),
        false => args.expression.as_ref(),
    };
    match text {
        Some(text) => {
            Ok(vec![session.evaluate(frame, text, is_statement, ValueLimits::FOR_EVALUATE).await?])
        }
        None => {
            let bounds = ValueLimits { top_level: 100, total: 300, ..ValueLimits::FOR_LOCALS };
            Ok(session.locals(frame, bounds).await?.0)
        }
    }
}

/// Removes the given breakpoints, or all.
async fn clear_breakpoints(
    session: &DebugSession,
    args: &Args,
    cx: &ToolContext,
) -> Result<usize, ToolError> {
    if args.breakpoints.is_empty() {
        return session.retain_breakpoints(|_| false).await;
    }
    let dir = WorkingDir::new(&session.launch.cwd, cx.working_dir.home().map(PathBuf::from));
    let named: Vec<_> = args
        .breakpoints
        .iter()
        .map(|one| (one.file.as_ref().map(|file| dir.resolve(file)), one))
        .collect();
    session
        .retain_breakpoints(|known| {
            !named.iter().any(|(file, one)| {
                let by_name = one.function.is_some() && one.function == known.function;
                let lines = [known.line, known.asked_line];
                let by_line = one.line.is_none_or(|line| lines.contains(&Some(line)));
                by_name || (file.is_some() && *file == known.file && by_line)
            })
        })
        .await
}

fn deadline(seconds: Option<u64>, cx: &ToolContext) -> Instant {
    let limit = Duration::from_secs(seconds.unwrap_or(DEFAULT_TIMEOUT_SECS).clamp(1, 3_600));
    // Reserve time to pause the program and report.
    let left = cx.remaining().map(|left| left.saturating_sub(PAUSE_TIMEOUT * 2).mul_f64(0.9));
    Instant::now() + left.map_or(limit, |left| left.min(limit))
}

/// Whether a target is a test.
fn is_test_target(target: &DebugTarget) -> bool {
    matches!(target, DebugTarget::Test { .. })
}
