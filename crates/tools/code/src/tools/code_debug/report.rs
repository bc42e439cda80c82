//! Builds the output of a call.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{ToolContext, ToolError};
use hermes_debug::{
    Breakpoint, DebugSession, DebugVariable, DebuggeeStatus, ExceptionDetails, StackFrame,
    StopEvent, ValueLimits,
};
use hermes_exec::{CapturedCommand, CommandSpec, JobRegistry, StdinSource};
use hermes_files::FileAccess;
use serde::Serialize;

use super::{Args, DebugAction, is_test_target};

/// Source lines shown before and after the current line.
const CONTEXT_LINES: u64 = 4;
/// Highest line number for which source is shown.
const MAX_SOURCE_LINE: u64 = 200_000;
/// Maximum number of frames shown, of the project and of libraries.
const MAX_PROJECT_FRAMES: usize = 20;
const MAX_LIBRARY_FRAMES: usize = 10;
/// Maximum bytes of output.
const MAX_OUTPUT_BYTES: usize = 8_000;

/// State of a debugged program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum DebugRunStatus {
    Stopped,
    Running,
    Ended,
    /// The result of `list`.
    Listed,
}

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    status: DebugRunStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Why it stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<ExceptionDetails>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hit_breakpoints: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<CodeLocation>,
    /// Frames of the project first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stack: Vec<FrameSummary>,
    /// Total number of frames, if not all are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    frames_total: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    locals: Vec<DebugVariable>,
    /// The evaluated or expanded value.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<DebugVariable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    /// Output since the last report.
    #[serde(skip_serializing_if = "String::is_empty")]
    output: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    breakpoints: Vec<Breakpoint>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sessions: Vec<DebugSessionRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Serialize)]
struct CodeLocation {
    file: String,
    line: u64,
    function: String,
    frame: usize,
    /// The lines around it, with the next one marked.
    #[serde(skip_serializing_if = "String::is_empty")]
    source: String,
}

#[derive(Debug, Serialize)]
struct FrameSummary {
    frame: usize,
    function: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    line: u64,
    #[serde(skip_serializing_if = "crate::checks::is_false")]
    library: bool,
}

#[derive(Debug, Serialize)]
struct DebugSessionRow {
    session: String,
    program: String,
    debugger: &'static str,
    status: DebugRunStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    breakpoints: usize,
}

impl Output {
    fn empty(status: DebugRunStatus) -> Self {
        Self {
            status,
            session: None,
            reason: None,
            exception: None,
            hit_breakpoints: Vec::new(),
            location: None,
            stack: Vec::new(),
            frames_total: None,
            locals: Vec::new(),
            value: None,
            exit_code: None,
            output: String::new(),
            breakpoints: Vec::new(),
            sessions: Vec::new(),
            note: None,
        }
    }

    pub(super) fn add_note(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.note = Some(match self.note.take() {
            Some(before) => format!("{before} {text}"),
            None => text.to_owned(),
        });
    }
}

/// Returns the result of `list`.
pub(super) fn list(sessions: &[Arc<DebugSession>], cx: &ToolContext) -> Output {
    let one = |session: &Arc<DebugSession>| {
        let (status, exit_code) = run_status(&session.status());
        DebugSessionRow {
            session: session.id.clone(),
            program: match session.launch.target.file() {
                Some(file)
                    if session.launch.target.display_name() == file.display().to_string() =>
                {
                    display_path(file, cx)
                }
                _ => session.launch.target.display_name(),
            },
            debugger: session.debugger.adapter.name(),
            status,
            exit_code,
            breakpoints: session.breakpoints().len(),
        }
    };
    let mut output = Output::empty(DebugRunStatus::Listed);
    output.sessions = sessions.iter().map(one).collect();
    if output.sessions.is_empty() {
        output.add_note("No debug sessions.");
    }
    output
}

fn run_status(met: &DebuggeeStatus) -> (DebugRunStatus, Option<i64>) {
    match met {
        DebuggeeStatus::Stopped(_) => (DebugRunStatus::Stopped, None),
        DebuggeeStatus::Running => (DebugRunStatus::Running, None),
        DebuggeeStatus::Ended(code) => (DebugRunStatus::Ended, *code),
    }
}

/// Returns the requested frame, or the one shown by default.
pub(super) async fn selected_frame(
    session: &DebugSession,
    said: Option<usize>,
) -> Result<usize, ToolError> {
    match (said, session.status()) {
        (Some(frame), _) => Ok(frame),
        (None, DebuggeeStatus::Stopped(stop)) => Ok(relevant_frame(&stop, &session.stack().await?)),
        (None, _) => Ok(0),
    }
}

/// Returns the frame to show: for an exception in a library, the project's
/// frame.
fn relevant_frame(stop: &StopEvent, frames: &[StackFrame]) -> usize {
    let is_plain = ["breakpoint", "function breakpoint", "step", "entry"];
    if is_plain.contains(&stop.reason.as_str()) && !is_panic(stop, frames) {
        return 0;
    }
    frames.iter().position(|frame| frame.is_own).unwrap_or(0)
}

/// Whether it stopped at the start of a panic.
fn is_panic(stop: &StopEvent, frames: &[StackFrame]) -> bool {
    let first = frames.first().map_or("", |frame| frame.function.as_str());
    stop.breakpoints.is_empty() && first.contains("rust_panic")
}

/// Returns a path relative to the working directory, if it is inside.
fn display_path(path: &Path, cx: &ToolContext) -> String {
    path.strip_prefix(cx.working_dir.cwd()).unwrap_or(path).display().to_string()
}

/// Builder for the output of one call.
#[derive(Debug)]
pub(super) struct DebugReport<'a> {
    session: &'a Arc<DebugSession>,
    cx: &'a ToolContext,
    args: &'a Args,
}

impl<'a> DebugReport<'a> {
    pub(super) fn new(session: &'a Arc<DebugSession>, cx: &'a ToolContext, args: &'a Args) -> Self {
        Self { session, cx, args }
    }

    fn base_output(&self, met: &DebuggeeStatus) -> Output {
        let (status, exit_code) = run_status(met);
        let mut output = Output::empty(status);
        output.session = Some(self.session.id.clone());
        output.exit_code = exit_code;
        let printed = self.session.take_output(MAX_OUTPUT_BYTES);
        output.output = match printed.skipped_bytes {
            0 => printed.text,
            skipped => format!("[{skipped} bytes omitted]\n{}", printed.text),
        };
        output
    }

    /// Reports the state of the program.
    pub(super) async fn describe_state(&self, met: DebuggeeStatus) -> Result<Output, ToolError> {
        match &met {
            DebuggeeStatus::Stopped(stop) => self.stopped(stop, &met).await,
            DebuggeeStatus::Running => {
                let mut output = self.base_output(&met);
                // Not every debugger reports the stack of a running program.
                if let Ok(frames) = self.session.stack().await {
                    self.add_location(&mut output, &frames, 0).await;
                    output.location = None;
                }
                Ok(output)
            }
            DebuggeeStatus::Ended(code) => self.ended(*code, &met).await,
        }
    }

    async fn stopped(&self, stop: &StopEvent, met: &DebuggeeStatus) -> Result<Output, ToolError> {
        let frames = self.session.stack().await?;
        let mut output = self.base_output(met);
        output.reason = Some(match is_panic(stop, &frames) {
            true => "panic".to_owned(),
            false => stop.reason.clone(),
        });
        output.hit_breakpoints.clone_from(&stop.breakpoints);
        output.exception = self.session.exception().await;
        let frame = self.args.frame.unwrap_or_else(|| relevant_frame(stop, &frames));
        self.add_location(&mut output, &frames, frame).await;
        match self.session.locals(frame, ValueLimits::FOR_LOCALS).await {
            Ok((locals, 0)) => output.locals = locals,
            Ok((locals, more)) => {
                output.locals = locals;
                output.add_note(&format!("{more} more variables: see action 'variables'."));
            }
            Err(error) => output.add_note(&format!("{}.", error.message())),
        }
        if self.args.action == DebugAction::Run || self.args.action == DebugAction::Restart {
            output.breakpoints = self.shown_breakpoints();
        }
        output.add_note(stop.note.as_deref().unwrap_or_default());
        output.add_note(&self.moved_note());
        Ok(output)
    }

    async fn ended(&self, code: Option<i64>, met: &DebuggeeStatus) -> Result<Output, ToolError> {
        self.session.end().await;
        let mut output = self.base_output(met);
        let breakpoints = self.shown_breakpoints();
        if let Some(reason) = self.session.end_reason() {
            output.add_note(&format!("It was terminated: {reason}."));
        } else if let Some(complaint) =
            self.session.adapter_stderr().filter(|_| self.args.action != DebugAction::Stop)
        {
            let name = self.session.debugger.adapter.name();
            let said = if complaint.is_empty() { "no error output".to_owned() } else { complaint };
            return Err(ToolError::unavailable(format!("The debugger ({name}) crashed: {said}"))
                .with_hint("The program ended with it. Run it again with action 'restart'.")
                .with("session", self.session.id.as_str())
                .with("output", output.output.as_str()));
        }
        if let Some(signal) = code.filter(|code| *code < 0) {
            output.exit_code = Some(128 - signal);
            output.add_note(&format!("It was killed by signal {}.", -signal));
        }
        let is_first = matches!(self.args.action, DebugAction::Run | DebugAction::Restart);
        if is_first && !breakpoints.is_empty() {
            output.add_note("The program ended before it hit a breakpoint.");
            for one in breakpoints.iter().filter(|one| !one.verified) {
                let place = match (&one.function, &one.file, one.line) {
                    (Some(function), ..) => format!("function {function}"),
                    (None, Some(file), Some(line)) => format!("{}:{line}", file.display()),
                    _ => "it".to_owned(),
                };
                let why = one.message.as_deref().unwrap_or("no such code was loaded");
                output.add_note(&format!("Breakpoint {} ({place}): {why}.", one.id));
            }
            output.breakpoints = breakpoints;
        }
        if is_first && is_test_target(&self.session.launch.target) && ran_no_test(&output.output) {
            output.add_note("No test ran: none has this name.");
        }
        output.add_note(&self.moved_note());
        Ok(output)
    }

    /// Reports an evaluated or expanded value.
    pub(super) async fn value(
        &self,
        mut values: Vec<DebugVariable>,
        frame: usize,
    ) -> Result<Output, ToolError> {
        let is_one = self.args.action == DebugAction::Evaluate || self.args.expression.is_some();
        let mut output = self.base_output(&self.session.status());
        if is_one {
            output.value = values.pop();
        } else {
            output.locals = values;
            let frames = self.session.stack().await?;
            self.add_location(&mut output, &frames, frame).await;
            output.stack.clear();
            output.frames_total = None;
        }
        Ok(output)
    }

    /// Reports the current breakpoints.
    pub(super) fn breakpoints(&self) -> Output {
        let mut output = self.base_output(&self.session.status());
        output.breakpoints = self.shown_breakpoints();
        output.add_note(&self.moved_note());
        output
    }

    fn shown_breakpoints(&self) -> Vec<Breakpoint> {
        let mut all = self.session.breakpoints();
        for one in &mut all {
            one.file = one.file.as_ref().map(|file| PathBuf::from(display_path(file, self.cx)));
        }
        all
    }

    /// Notes the breakpoints that the debugger moved off lines without code.
    fn moved_note(&self) -> String {
        let shown = self.session.breakpoints().into_iter().filter(|one| one.verified);
        let moved = shown.filter_map(|one| {
            let (asked, line) = (one.asked_line?, one.line?);
            Some(format!("Breakpoint {}: line {asked} has no code, moved to {line}.", one.id))
        });
        moved.collect::<Vec<_>>().join(" ")
    }

    /// Adds the stack and the location of a frame.
    async fn add_location(&self, output: &mut Output, frames: &[StackFrame], frame: usize) {
        let brief = |frame: &StackFrame| FrameSummary {
            frame: frame.frame,
            function: frame.function.clone(),
            file: frame.file.as_deref().map(|file| display_path(file, self.cx)),
            line: frame.line,
            library: !frame.is_own,
        };
        let own = frames.iter().filter(|frame| frame.is_own).take(MAX_PROJECT_FRAMES);
        let others = frames.iter().filter(|frame| !frame.is_own).take(MAX_LIBRARY_FRAMES);
        output.stack = own.chain(others).map(brief).collect();
        output.frames_total = Some(frames.len()).filter(|total| *total > output.stack.len());
        let Some(at) = frames.get(frame) else { return };
        let Some(file) = &at.file else { return };
        output.location = Some(CodeLocation {
            file: display_path(file, self.cx),
            line: at.line,
            function: at.function.clone(),
            frame,
            source: self.source_excerpt(file, at.line).await.unwrap_or_default(),
        });
    }

    /// Reads the source lines around `line`.
    async fn source_excerpt(&self, file: &Path, line: u64) -> Option<String> {
        let (first, last) = (line.saturating_sub(CONTEXT_LINES).max(1), line + CONTEXT_LINES);
        if !file.is_absolute() || line == 0 || line > MAX_SOURCE_LINE {
            return None;
        }
        let jobs = JobRegistry::from_context(self.cx);
        let lines = match jobs.backend().is_local() {
            true => {
                let opened = FileAccess::new(self.cx).open(file).ok()?;
                let lines = BufReader::new(opened).split(b'\n').map_while(Result::ok);
                let skip = usize::try_from(first - 1).ok()?;
                let take = usize::try_from(last - first + 1).ok()?;
                lines.skip(skip).take(take).collect::<Vec<_>>()
            }
            false => {
                let range = format!("{first},{last}p;{last}q");
                let spec = CommandSpec {
                    program: "sed".into(),
                    arguments: vec!["-n".into(), range.into(), "--".into(), file.into()],
                    environment: self.session.launch.environment.clone(),
                    directory: "/".into(),
                    input: StdinSource::Empty,
                    output: hermes_exec::StdioMode::Separate,
                    confinement: None,
                };
                let errand = CapturedCommand {
                    spec,
                    timeout: Duration::from_secs(15),
                    max_output_bytes: 1 << 20,
                };
                let done = errand.run(jobs.backend(), "source").await.ok()?;
                done.output.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
            }
        };
        Some(numbered_lines(&lines, first, line))
    }
}

/// Formats lines with their numbers, one of them marked.
fn numbered_lines(lines: &[Vec<u8>], first: u64, marked: u64) -> String {
    const MAX_LINE_CHARS: usize = 200;
    let mut text = String::new();
    for (number, line) in (first..).zip(lines) {
        let line = String::from_utf8_lossy(line);
        let line: String = line.trim_end().chars().take(MAX_LINE_CHARS).collect();
        let mark = if number == marked { '>' } else { ' ' };
        text.push_str(format!("{mark} {number:>4} {line}").trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// Whether Node's test runner reports no passed and no failed test.
fn ran_no_test(printed: &str) -> bool {
    let count = |what: &str| {
        let mut counts = printed
            .lines()
            .filter_map(|line| line.trim_start_matches(['#', 'ℹ', ' ']).strip_prefix(what));
        counts.next_back().and_then(|rest| rest.trim().parse::<u64>().ok())
    };
    count("pass ") == Some(0) && count("fail ") == Some(0)
}
