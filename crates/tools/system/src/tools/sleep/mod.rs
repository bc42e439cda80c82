//! `sleep`: waits for a duration, until a time, or until a file, a process or a
//! port is ready.

mod deadline;
mod file;
mod port;
mod process;

use std::time::{Duration, Instant};

use hermes_core::{
    Effect, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolExample, ToolSpec, WorkingDir,
    answer_schema,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use deadline::{CALL_TIMEOUT, PROGRESS_INTERVAL, SleepDeadline};
use file::{FileState, FileWatch};
use port::{PortAddress, PortWatch};
use process::{ProcessTarget, ProcessWatch};

use crate::remote;

/// Interval between checks of a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The same, if each check is a round trip to a remote backend.
const REMOTE_POLL_INTERVAL: Duration = Duration::from_secs(1);

const LOCAL_ONLY_NOTE: &str = "Ports and pids are those of the machine that runs hermes; \
                       commands run elsewhere. Use a command to check theirs.";

#[derive(Debug, Default)]
pub(crate) struct Sleep;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Duration; with a condition, the timeout (default 600).
    #[schemars(range(max = 3600), extend("exclusiveMinimum" = 0))]
    seconds: Option<f64>,
    /// Latest time to wake: RFC 3339 or local HH:MM, at most an hour away.
    until: Option<String>,
    /// Until this path matches file_state.
    until_file: Option<String>,
    /// changed: created, written or removed since the wait began.
    #[serde(default)]
    file_state: FileState,
    /// Until it ends: session_id of a background command, or a pid.
    until_process: Option<String>,
    /// Until that background command prints this text.
    until_output: Option<String>,
    /// Until it accepts connections: host:port, or a local port.
    until_port: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SleepAnswer {
    slept_seconds: f64,
    woke: WakeCause,
    /// What happened; otherwise the current state.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The line that contains the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WakeCause {
    Elapsed,
    File,
    Process,
    Output,
    /// It waits for input.
    Question,
    Port,
}

/// Event that ends the wait.
#[derive(Debug)]
struct WakeEvent {
    woke: WakeCause,
    reason: String,
    exit_code: Option<i32>,
    line: Option<String>,
}

impl WakeEvent {
    fn new(woke: WakeCause, reason: String) -> Self {
        Self { woke, reason, exit_code: None, line: None }
    }
}

impl Tool for Sleep {
    type Args = Args;
    type Output = SleepAnswer;

    fn spec() -> ToolSpec {
        ToolSpec::new("sleep", "system")
            .emoji("😴")
            .description(
                "Wait for some seconds, until a time, or until a file, process or port is \
                 ready. The first condition met ends the wait.",
            )
            .alias("wait")
            .alias("wait_for")
            .parameter_alias("duration", "seconds")
            .parameter_alias("duration_seconds", "seconds")
            .parameter_alias("time", "seconds")
            .parameter_alias("timeout", "seconds")
            .parameter_alias("path", "until_file")
            .parameter_alias("file", "until_file")
            .parameter_alias("session_id", "until_process")
            .parameter_alias("pid", "until_process")
            .parameter_alias("pattern", "until_output")
            .parameter_alias("port", "until_port")
            .read_only()
            .timeout(CALL_TIMEOUT)
            .keyword("delay")
            .keyword("pause")
            .keyword("poll")
            .keyword("watch file")
            .keyword("wait for server")
            .keyword("port open")
            .example(
                ToolExample::new("Wait a moment", r#"{"seconds":0.05}"#)
                    .expects(r#"{"woke":"elapsed"}"#),
            )
            .example(
                ToolExample::new(
                    "Wait briefly for a file",
                    r#"{"until_file":"done","seconds":0.05}"#,
                )
                .expects(r#"{"woke":"elapsed","reason":"done is missing"}"#),
            )
            .example(
                ToolExample::new(
                    "Wait for a local server",
                    r#"{"until_port":"8080","seconds":0.05}"#,
                )
                .expects("{}"),
            )
    }

    fn output_schema() -> Option<Value> {
        Some(answer_schema::<SleepAnswer>())
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let file = args.until_file.as_deref();
        let file = file.map(|path| Effect::path(Scope::FILE_READ, at.resolve(path)));
        let target = args.until_process.as_deref().and_then(|text| ProcessTarget::parse(text).ok());
        let address = args.until_port.as_deref().and_then(|text| PortAddress::parse(text).ok());
        let others = [target.map(|target| target.effect()), address.map(|port| port.effect())];
        file.into_iter().chain(others.into_iter().flatten()).collect()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<SleepAnswer, ToolError> {
        let mut conditions = WakeConditions::from_args(&args, cx).await?;
        let end = SleepDeadline::from_args(
            args.seconds,
            args.until.as_deref(),
            !conditions.is_empty(),
            cx,
        )?;
        let mut awake = wait(&mut conditions, &end, cx).await?;
        awake.note = (conditions.uses_local_machine() && remote::remote_jobs(cx).is_some())
            .then_some(LOCAL_ONLY_NOTE);
        Ok(awake)
    }
}

async fn wait(
    conditions: &mut WakeConditions,
    end: &SleepDeadline,
    cx: &ToolContext,
) -> Result<SleepAnswer, ToolError> {
    let pace = conditions.poll_interval();
    let mut reported: Option<Instant> = None;
    loop {
        let left = end.remaining();
        if let Some(event) = conditions.poll(left, cx).await? {
            return Ok(end.wake_answer(event));
        }
        if left.is_zero() {
            return Ok(end.elapsed_answer(conditions.status_text()));
        }
        if reported.is_none_or(|at| at.elapsed() >= PROGRESS_INTERVAL) {
            reported = Some(Instant::now());
            end.report(left, conditions.status_text().as_deref(), cx);
        }
        if let Some(event) = conditions.pause(left.min(pace), cx).await? {
            return Ok(end.wake_answer(event));
        }
    }
}

/// Conditions that end the wait early.
#[derive(Debug)]
struct WakeConditions {
    file: Option<FileWatch>,
    process: Option<ProcessWatch>,
    port: Option<PortWatch>,
}

impl WakeConditions {
    async fn from_args(args: &Args, cx: &ToolContext) -> Result<Self, ToolError> {
        if args.until_output.is_some() && args.until_process.is_none() {
            return Err(ToolError::invalid("'until_output' requires 'until_process'")
                .with_hint("Give the session_id that terminal returned."));
        }
        if args.file_state != FileState::default() && args.until_file.is_none() {
            return Err(ToolError::invalid("'file_state' requires 'until_file'")
                .with_hint("Give the path in 'until_file', or leave out 'file_state'."));
        }
        let process = match &args.until_process {
            Some(text) => Some(ProcessWatch::start(text, args.until_output.as_deref(), cx).await?),
            None => None,
        };
        let port = match &args.until_port {
            Some(text) => Some(PortWatch::start(text, cx)?),
            None => None,
        };
        let file = match &args.until_file {
            Some(path) => Some(FileWatch::start(path, args.file_state, cx).await?),
            None => None,
        };
        Ok(Self { file, process, port })
    }

    fn is_empty(&self) -> bool {
        self.file.is_none() && self.process.is_none() && self.port.is_none()
    }

    /// Returns the interval between checks.
    fn poll_interval(&self) -> Duration {
        match &self.file {
            _ if self.is_empty() => PROGRESS_INTERVAL,
            Some(file) if file.is_remote() => REMOTE_POLL_INTERVAL,
            _ => POLL_INTERVAL,
        }
    }

    /// Whether a condition concerns this machine, even if commands run
    /// elsewhere.
    fn uses_local_machine(&self) -> bool {
        self.port.is_some() || matches!(self.process, Some(ProcessWatch::Pid(..)))
    }

    /// Checks the conditions: file and port before the process, and output
    /// before the end of the process that wrote it.
    async fn poll(
        &mut self,
        left: Duration,
        cx: &ToolContext,
    ) -> Result<Option<WakeEvent>, ToolError> {
        if let Some(file) = &mut self.file
            && let Some(event) = file.poll(cx).await?
        {
            return Ok(Some(event));
        }
        if let Some(port) = &mut self.port
            && let Some(event) = port.poll(left, cx).await?
        {
            return Ok(Some(event));
        }
        match &mut self.process {
            Some(process) => process.poll(cx).await,
            None => Ok(None),
        }
    }

    /// Sleeps for `time`. If the end of a job is the only condition, returns
    /// early when the job ends or waits for input.
    async fn pause(
        &self,
        time: Duration,
        cx: &ToolContext,
    ) -> Result<Option<WakeEvent>, ToolError> {
        match &self.process {
            Some(process) if self.file.is_none() && self.port.is_none() => {
                process.pause(time, cx).await
            }
            _ => cx.run_until_cancelled(tokio::time::sleep(time)).await.map(|()| None),
        }
    }

    /// Describes the current state of the conditions that are not met yet.
    fn status_text(&self) -> Option<String> {
        let all = [
            self.file.as_ref().map(FileWatch::status_text),
            self.process.as_ref().map(ProcessWatch::status_text),
            self.port.as_ref().map(PortWatch::status_text),
        ];
        let all: Vec<String> = all.into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

#[cfg(test)]
#[path = "sleep_tests.rs"]
mod tests;
