//! The outcome of a script run.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use hermes_exec::output::OutputStream;
use hermes_exec::{Job, JobExit, ProcessExit, SandboxStop, tree};
use serde::Serialize;

use crate::callable_tools::CallableTool;
use crate::dispatcher::RpcDispatcher;
use crate::limits::{ScriptLanguage, ScriptLimits};

/// Process ids scanned for orphans after a script has ended.
const MAX_PIDS_SCANNED: u32 = 4_096;
/// Characters of a command shown in a warning.
const MAX_COMMAND_CHARS: usize = 100;
/// Characters of an error line.
const MAX_ERROR_CHARS: usize = 500;
/// Bytes of stderr searched for the cause of an error.
const MAX_STDERR_SCAN_BYTES: usize = 256 * 1024;
/// Exit code of Node when a top-level await can never settle.
const NODE_UNSETTLED_AWAIT_EXIT: i32 = 13;

/// The outcome of a script run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScriptOutcome {
    /// How it ended.
    pub status: ScriptStatus,
    /// Its stdout, followed by its stderr.
    pub output: String,
    /// The exit code, as a shell reports it.
    pub exit_code: i32,
    /// The number of tool calls it made.
    pub tool_calls_made: u64,
    /// Its run time.
    pub duration_seconds: f64,
    /// Whether stdout was truncated.
    pub stdout_truncated: bool,
    /// Bytes of stdout included in `output`.
    pub stdout_bytes_captured: u64,
    /// Bytes written to stdout.
    pub stdout_bytes_total: u64,
    /// Bytes of stdout omitted from `output`.
    pub stdout_bytes_omitted: u64,
    /// The sandbox that confined it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// What the sandbox blocked, and how to allow it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<SandboxStop>,
    /// Warnings about the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Why it failed, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a script ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptStatus {
    /// Exited with code 0.
    Success,
    /// Exited with another code, or was killed by a signal.
    Error,
    /// Ran into its timeout.
    Timeout,
    /// Was cancelled.
    Interrupted,
}

/// Why the wait for a script ended.
#[derive(Debug)]
pub(crate) enum ScriptEnd {
    Exited(JobExit),
    Timeout,
    Cancelled,
    /// It had more processes than this limit.
    TooManyProcesses(u64),
}

/// Everything needed to build the outcome.
#[derive(Debug)]
pub(crate) struct OutcomeBuilder<'a> {
    pub(crate) end: ScriptEnd,
    pub(crate) timeout: Duration,
    /// Whether processes it had started were still running.
    pub(crate) has_orphans: bool,
    /// The directory it ran in.
    pub(crate) directory: PathBuf,
    pub(crate) warning: Option<String>,
    pub(crate) language: ScriptLanguage,
    pub(crate) limits: &'a ScriptLimits,
    pub(crate) tools: &'a [CallableTool],
    pub(crate) dispatcher: &'a RpcDispatcher,
}

impl OutcomeBuilder<'_> {
    pub(crate) fn build(self, job: &Job) -> ScriptOutcome {
        let (printed, errors, unshown) = {
            let log = job.log();
            let printed = log.stream_summary(OutputStream::Stdout, self.limits.stdout);
            // The tail takes three fifths of a summary.
            let errors =
                log.stream_summary(OutputStream::Stderr, self.limits.stderr.saturating_mul(2));
            let end = tail(&errors.text, self.limits.stderr).to_owned();
            let is_cut = errors.is_cut || end.len() < errors.text.len();
            let unshown = errors.total_bytes.saturating_sub(end.len() as u64);
            // A long message may begin before the shown tail.
            let whole = log
                .stream_summary(OutputStream::Stderr, MAX_STDERR_SCAN_BYTES.max(self.limits.stderr))
                .text;
            (printed, (end, whole), unshown * u64::from(is_cut))
        };
        let (errors, whole) = errors;
        let (status, exit_code) = match &self.end {
            ScriptEnd::Exited(ended) if ended.exit == ProcessExit::Code(0) => {
                (ScriptStatus::Success, 0)
            }
            ScriptEnd::Exited(ended) => (ScriptStatus::Error, ended.exit.code()),
            ScriptEnd::Timeout => (ScriptStatus::Timeout, 124),
            ScriptEnd::Cancelled => (ScriptStatus::Interrupted, 130),
            ScriptEnd::TooManyProcesses(_) => (ScriptStatus::Error, 137),
        };
        let mut output = printed.text;
        if !errors.trim().is_empty() {
            if !output.is_empty() && !output.ends_with('\n') {
                output.push('\n');
            }
            output.push_str("--- stderr ---\n");
            if unshown > 0 {
                output.push_str(&format!("[... {unshown} bytes left out ...]\n"));
            }
            output.push_str(&errors);
        }
        ScriptOutcome {
            status,
            output,
            exit_code,
            tool_calls_made: self.dispatcher.calls_made(),
            duration_seconds: (job.age().as_secs_f64() * 1000.0).round() / 1000.0,
            stdout_truncated: printed.is_cut,
            stdout_bytes_captured: printed.total_bytes - printed.omitted_bytes,
            stdout_bytes_total: printed.total_bytes,
            stdout_bytes_omitted: printed.omitted_bytes,
            sandbox: job.containment_summary(),
            blocked: job.stops(&whole, &self.directory),
            error: self.error(&whole),
            warning: self.warnings(&errors),
        }
    }

    fn error(&self, errors: &str) -> Option<String> {
        match &self.end {
            ScriptEnd::Exited(ended) => match ended.exit {
                ProcessExit::Code(0) => None,
                ProcessExit::Code(NODE_UNSETTLED_AWAIT_EXIT)
                    if self.language == ScriptLanguage::JavaScript =>
                {
                    Some(
                        "The script exited with code 13: a top-level await never settled"
                            .to_owned(),
                    )
                }
                ProcessExit::Code(code) => Some(
                    error_line(errors)
                        .unwrap_or_else(|| format!("The script ended with code {code}")),
                ),
                ProcessExit::Signal(signal) => {
                    Some(format!("The script was killed by signal {signal}"))
                }
            },
            ScriptEnd::Timeout => Some(format!(
                "The script was ended after {} s together with its child processes; the output \
                 is partial",
                self.timeout.as_secs_f64().round()
            )),
            ScriptEnd::Cancelled => Some("The script was cancelled".to_owned()),
            ScriptEnd::TooManyProcesses(most) => Some(format!(
                "The script had more than {most} processes and was ended with all of them; the \
                 output is partial"
            )),
        }
    }

    fn warnings(&self, errors: &str) -> Option<String> {
        let mut all: Vec<String> = self.warning.iter().cloned().collect();
        if self.has_orphans {
            all.push("Processes that the script had left running were ended".to_owned());
        }
        let over = self.dispatcher.calls_over_limit();
        if over > 0 {
            let most = self.limits.tool_calls;
            all.push(format!("{over} tool calls were refused: a script may make {most}"));
        }
        let forged = self.dispatcher.forged_requests();
        if forged > 0 {
            all.push(format!("{forged} tool calls were refused: their token was not this run's"));
        }
        let wanted = match self.language {
            ScriptLanguage::Python => errors.contains("ImportError: cannot import name"),
            ScriptLanguage::JavaScript => errors.contains("does not provide an export named"),
        };
        if wanted && errors.contains("hermes_tools") {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            let names = if names.is_empty() { "no tool".to_owned() } else { names.join(", ") };
            all.push(format!("In this session hermes_tools has {names}"));
        }
        (!all.is_empty()).then(|| all.join(". "))
    }
}

/// Shortens a command for a warning.
pub(crate) fn shorten_command(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_COMMAND_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Returns the line that states the error.
fn error_line(errors: &str) -> Option<String> {
    let lines = || errors.lines().rev().filter(|line| !line.trim().is_empty());
    // Node prints stack frames after the message.
    let is_last =
        |line: &&str| !line.starts_with("Node.js v") && !line.trim_start().starts_with("at ");
    let plain = || lines().find(|line| is_exception_line(line)).or_else(|| lines().find(is_last));
    let shown = exception_group(errors).or_else(|| plain().map(str::to_owned))?;
    Some(shown.trim().chars().take(MAX_ERROR_CHARS).collect())
}

/// Whether the line looks like `ValueError: bad`.
fn is_exception_line(line: &str) -> bool {
    let name = line.split([':', ' ']).next().unwrap_or_default();
    let is_name = name.chars().all(|c| c.is_alphanumeric() || "._$".contains(c));
    is_name && ["Error", "Exception", "Interrupt", "Group"].iter().any(|end| name.ends_with(end))
}

/// Returns a Python exception group, which is printed as a tree, with its first
/// exception, if it is the last thing in `errors`.
fn exception_group(errors: &str) -> Option<String> {
    let at = errors.rfind("  + Exception Group Traceback (most recent call last):\n")?;
    let tree = errors.get(at..)?;
    let is_drawn = |line: &str| line.starts_with("  ") || line.trim().is_empty();
    let mut lines = tree.lines().filter(|_| tree.lines().all(is_drawn));
    let mut next = || {
        let bare = lines.by_ref().map(|line| line.trim_start_matches([' ', '|', '+', '-']));
        // The traceback heading also begins with an exception-like word.
        let mut named =
            bare.filter(|line| is_exception_line(line) && !line.ends_with("call last):"));
        named.next().map(str::to_owned)
    };
    let first = next()?;
    Some(next().map_or_else(|| first.clone(), |inner| format!("{first}: {inner}")))
}

/// Returns the end of a text, cut at a line start unless that would drop more
/// than half of it.
fn tail(text: &str, most: usize) -> &str {
    let Some(at) = text.len().checked_sub(most).filter(|at| *at > 0) else { return text };
    let cut = text.get(text.ceil_char_boundary(at)..).unwrap_or_default();
    match cut.split_once('\n') {
        Some((part, rest)) if !rest.is_empty() && part.len() <= most / 2 => rest,
        _ => cut,
    }
}

/// Whether the script has more processes than allowed. `RLIMIT_NPROC` does not
/// apply to root.
pub(crate) async fn exceeds_process_limit(job: &Job, most: u64) -> bool {
    // While the whole machine has fewer, the process tree need not be walked.
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let all = load.split_whitespace().nth(3).and_then(|it| it.split_once('/')?.1.parse().ok());
    let Some(pid) = job.pid.filter(|_| all.is_some_and(|all: u64| all > most)) else {
        return false;
    };
    let id = job.id.clone();
    let count = tokio::task::spawn_blocking(move || {
        tree::JobRoot::for_pid(pid, id).map_or(0, |root| tree::usage(&root).processes)
    });
    count.await.is_ok_and(|count| count as u64 > most)
}

/// Whether a process started by the script is still running. Scans only higher
/// process ids than the script's: scanning all would take longer than many a
/// script.
pub(crate) fn has_orphans(job: &Job) -> bool {
    let Some(pid) = job.pid else { return true };
    let last = fs::read_to_string("/proc/loadavg").ok().and_then(|text| {
        text.split_whitespace().next_back().and_then(|last| last.parse::<u32>().ok())
    });
    match last {
        Some(last) if last >= pid && last - pid <= MAX_PIDS_SCANNED => {
            (pid + 1..=last).any(|pid| belongs_to_job(pid, &job.id))
        }
        // The process ids wrapped around, or /proc is unreadable.
        _ => true,
    }
}

fn belongs_to_job(pid: u32, job: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let job = job.as_bytes();
    environment.windows(job.len()).any(|piece| piece == job)
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
