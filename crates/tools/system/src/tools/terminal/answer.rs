//! Result of a command.

use std::path::Path;

use hermes_core::{CallEnding, ErrorKind};
use hermes_exec::output::OutputStream;
use hermes_exec::{Job, ListeningPort, ProcessExit, SandboxStop};
use schemars::JsonSchema;
use serde::Serialize;

use super::exit_meaning;
use crate::notes;

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Output {
    pub(super) output: String,
    /// None while the command runs.
    pub(super) exit_code: Option<i32>,
    /// Why the command did not end normally.
    pub(super) error: Option<String>,
    /// The kind of `error`, as in other tools' errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    /// `timeout`, `cancelled`, `awaiting_input`, `running`; none if it has
    /// ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code_meaning: Option<String>,
    pub(super) cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pid: Option<u32>,
    /// The terminal screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) screen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stdout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stderr: Option<String>,
    /// File with all output, if it is too long for a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_file: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) detached: bool,
    /// The session gets a notice when the command ends.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) notify_on_complete: bool,
    /// The session gets a notice for lines with these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) watch_patterns: Vec<String>,
    /// Why there are no notices, and what to do instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) notify_unsupported: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) sudo_auth_failed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) sudo_cache_cleared: bool,
    /// The sandbox that confined the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    /// What the sandbox blocked, by which rule, and how to allow it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) blocked: Vec<SandboxStop>,
    /// Ports that the command listens on, in the session's own network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ports: Vec<ListeningPort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Bytes of output that this result covers.
    #[serde(skip)]
    pub(super) told: u64,
    /// The exit code is an answer, not a failure.
    #[serde(skip)]
    is_answer: bool,
    /// The backend was lost, so the exit status is unknown.
    #[serde(skip)]
    is_lost: bool,
}

impl Output {
    /// Describes the current state of a job, with up to `shown` bytes of each
    /// output stream.
    pub(super) fn from_job(job: &Job, separate: bool, dir: &Path, shown: usize) -> Self {
        let mut log = job.log();
        let summary = log.summary(shown);
        let apart = |source| separate.then(|| log.stream_summary(source, shown).text);
        let (stdout, stderr) = (apart(OutputStream::Stdout), apart(OutputStream::Stderr));
        let (is_cut, is_mute) = (summary.is_cut, summary.is_blank);
        let file = if is_cut { log.spill_all() } else { None };
        let output_file = file.map(|file| file.display().to_string());
        let mut output = Self {
            stdout,
            stderr,
            output: summary.text,
            output_file,
            cwd: dir.display().to_string(),
            sandbox: job.containment_summary(),
            ..Self::default()
        };
        let (lost, written) = (log.lost_bytes(), log.len());
        output.told = written;
        drop(log);
        if lost > 0 {
            output.add_note(format!(
                "{lost} bytes in the middle of the output were lost: the disk had no space for \
                 them."
            ));
        }
        let screen = job.screen();
        let is_scrolled = screen.as_ref().is_some_and(|screen| screen.has_scrolled());
        output.screen = screen.map(|screen| screen.text());
        if output.screen.is_some() && !is_scrolled {
            // Drawn output is not readable as text, and the screen shows all of
            // it.
            output.output.clear();
        }
        if written > 0 && is_mute && output.screen.is_none() && job.ended().is_some() {
            output.add_note(match is_cut {
                false => format!("The command wrote {written} bytes that contain no text."),
                true => format!(
                    "The command wrote {written} bytes; neither the start nor the end contains \
                     text."
                ),
            });
        }
        for remark in job.remarks() {
            output.add_note(remark);
        }
        output.add_exit(job);
        let written = [Some(&output.output), output.stderr.as_ref(), output.screen.as_ref()];
        let written: Vec<&str> = written.into_iter().flatten().map(String::as_str).collect();
        output.ports = job.ports();
        output.blocked = job.stops(&written.join("\n"), dir);
        output
    }

    fn add_exit(&mut self, job: &Job) {
        let Some(ended) = job.ended() else { return };
        self.exit_code = Some(ended.exit.code());
        self.duration_ms = u64::try_from(ended.elapsed.as_millis()).ok();
        let meaning = exit_meaning::explain_exit(&job.command, ended.exit, &self.output);
        self.is_answer = meaning.as_ref().is_some_and(|meaning| meaning.is_answer);
        self.exit_code_meaning = meaning.map(|meaning| meaning.text.to_owned());
        if let Some(signal) = ending_signal(job, ended.exit, &self.output) {
            self.error = Some(format!("Terminated by signal {signal}"));
        }
        if let Some(trouble) = job.exit_error() {
            self.exit_code_meaning = None;
            self.is_lost = true;
            self.kind = Some(ErrorKind::Network.name());
            self.error = Some(format!("{trouble}. It is not known what the command did."));
        }
        if ended.has_descendants {
            self.add_note("A process that the command started still runs; see the process tool.");
            self.session_id = Some(job.id.clone());
        }
    }

    /// Returns the ending of the call: a command that fails has done what was
    /// asked, one that was cut short has not.
    pub(super) fn ending(&self) -> CallEnding {
        match self.status {
            Some("cancelled") => CallEnding::Stopped,
            Some("timeout") => CallEnding::Incomplete(ErrorKind::Timeout),
            _ if self.is_lost => CallEnding::Incomplete(ErrorKind::Network),
            _ if self.is_answer => CallEnding::Succeeded,
            _ => CallEnding::Completed,
        }
    }

    /// Whether a remote shell could not change to the directory.
    pub(super) fn is_missing_directory(&self, dir: &Path, job: &Job) -> bool {
        self.exit_code == Some(126)
            && job.report().is_none()
            && self.output.contains("cd")
            && self.output.contains(&*dir.to_string_lossy())
    }

    /// Appends a sentence to the note.
    pub(super) fn add_note(&mut self, text: impl AsRef<str>) {
        notes::append_sentence(self.note.get_or_insert_default(), text.as_ref());
    }

    /// Iterates over all texts that the command wrote.
    pub(super) fn output_texts(&mut self) -> impl Iterator<Item = &mut String> {
        std::iter::once(&mut self.output)
            .chain(&mut self.screen)
            .chain(&mut self.stdout)
            .chain(&mut self.stderr)
    }
}

/// Returns the signal that ended the command. A remote backend reports it as
/// the shell's exit code, 128 + signal; a command that ended on its own has
/// left a report.
fn ending_signal(job: &Job, exit: ProcessExit, output: &str) -> Option<i32> {
    let signal = match exit {
        ProcessExit::Signal(signal) => return Some(signal),
        ProcessExit::Code(code @ 129..=159) => code - 128,
        ProcessExit::Code(_) => return None,
    };
    let is_alone = job.pid.is_none() && job.report().is_none();
    (is_alone || is_reported_by_bash(signal, output)).then_some(signal)
}

/// Whether bash reported that this signal ended the last program, as in `bash:
/// line 1: 123 Segmentation fault`. The exit code alone is ambiguous, since a
/// program can also exit with it.
fn is_reported_by_bash(signal: i32, output: &str) -> bool {
    let words = match signal {
        4 => "Illegal instruction",
        6 => "Aborted",
        7 => "Bus error",
        8 => "Floating point exception",
        9 => "Killed",
        11 => "Segmentation fault",
        15 => "Terminated",
        31 => "Bad system call",
        _ => return false,
    };
    let last = output.trim_end().lines().next_back().unwrap_or_default();
    let shown = last.split_once(": line ").and_then(|(_, shown)| shown.split_once(": "));
    let shown = shown.map_or("", |(_, shown)| shown.trim_start());
    let after = shown.trim_start_matches(|letter: char| letter.is_ascii_digit());
    after.len() < shown.len() && after.trim_start().starts_with(words)
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
