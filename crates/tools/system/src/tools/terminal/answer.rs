//! What is told of a command.

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
    /// None as long as it runs.
    pub(super) exit_code: Option<i32>,
    /// Why it did not end as it should.
    pub(super) error: Option<String>,
    /// `timeout`, `awaiting_input`, `running`; none if it has ended.
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
    /// What its terminal shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) screen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stdout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stderr: Option<String>,
    /// All of the output, if it is too long for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_file: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) detached: bool,
    /// Its session will be told of its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) notify_on_complete: bool,
    /// Its session will be told of lines with these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) watch_patterns: Vec<String>,
    /// Why it will not be told, and what to do instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) notify_unsupported: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) sudo_auth_failed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) sudo_cache_cleared: bool,
    /// What held the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    /// What the sandbox has stopped, by which rule, and how to allow it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) blocked: Vec<SandboxStop>,
    /// What it listens on, in the session's own network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ports: Vec<ListeningPort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Bytes of its output that are told with this.
    #[serde(skip)]
    pub(super) told: u64,
    /// Its code is an answer, and no failure.
    #[serde(skip)]
    is_answer: bool,
    /// Its place was lost, and with it how it has ended.
    #[serde(skip)]
    is_lost: bool,
}

impl Output {
    /// What is known of a job by now, with so many bytes of each output.
    pub(super) fn from_job(job: &Job, separate: bool, folder: &Path, shown: usize) -> Self {
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
            cwd: folder.display().to_string(),
            sandbox: job.containment_summary(),
            ..Self::default()
        };
        let (lost, written) = (log.lost_bytes(), log.len());
        output.told = written;
        drop(log);
        if lost > 0 {
            output.add_note(format!(
                "{lost} bytes in the middle of the output are lost: there was no room for them on \
                 the disk."
            ));
        }
        let screen = job.screen();
        let is_scrolled = screen.as_ref().is_some_and(|screen| screen.has_scrolled());
        output.screen = screen.map(|screen| screen.text());
        if output.screen.is_some() && !is_scrolled {
            // What was drawn is not for reading, and all of it can be seen.
            output.output.clear();
        }
        if written > 0 && is_mute && output.screen.is_none() && job.ended().is_some() {
            output.add_note(match is_cut {
                false => format!("It wrote {written} bytes, and no text is among them."),
                true => format!(
                    "It wrote {written} bytes, and neither their beginning nor their end has text \
                     in it."
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
        output.blocked = job.stops(&written.join("\n"), folder);
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
            self.error = Some(format!("It was ended by signal {signal}"));
        }
        if let Some(trouble) = job.exit_error() {
            self.exit_code_meaning = None;
            self.is_lost = true;
            self.error = Some(format!("{trouble}. It is not known what the command has done."));
        }
        if ended.has_descendants {
            self.add_note("Something that it started still runs; see the process tool.");
            self.session_id = Some(job.id.clone());
        }
    }

    /// How the call has ended, in the sense of all tools: a command that fails
    /// has done what was asked, one that was cut short has not.
    pub(super) fn ending(&self) -> CallEnding {
        match self.status {
            Some("cancelled") => CallEnding::Stopped,
            Some("timeout") => CallEnding::Incomplete(ErrorKind::Timeout),
            _ if self.is_lost => CallEnding::Incomplete(ErrorKind::Network),
            _ if self.is_answer => CallEnding::Succeeded,
            _ => CallEnding::Completed,
        }
    }

    /// Whether it did not even come to its folder, elsewhere.
    pub(super) fn is_missing_directory(&self, folder: &Path, job: &Job) -> bool {
        self.exit_code == Some(126)
            && job.report().is_none()
            && self.output.contains("cd")
            && self.output.contains(&*folder.to_string_lossy())
    }

    /// Says something besides.
    pub(super) fn add_note(&mut self, text: impl AsRef<str>) {
        notes::append_sentence(self.note.get_or_insert_default(), text.as_ref());
    }

    /// All that the command has written.
    pub(super) fn output_texts(&mut self) -> impl Iterator<Item = &mut String> {
        std::iter::once(&mut self.output)
            .chain(&mut self.screen)
            .chain(&mut self.stdout)
            .chain(&mut self.stderr)
    }
}

/// The signal that has ended it. Elsewhere it is seen as the code that a shell
/// makes of it; one that came to its own end has reported.
fn ending_signal(job: &Job, exit: ProcessExit, output: &str) -> Option<i32> {
    let signal = match exit {
        ProcessExit::Signal(signal) => return Some(signal),
        ProcessExit::Code(code @ 129..=159) => code - 128,
        ProcessExit::Code(_) => return None,
    };
    let is_alone = job.pid.is_none() && job.report().is_none();
    (is_alone || is_reported_by_bash(signal, output)).then_some(signal)
}

/// Whether bash has said of the last program that this signal has ended it, as in
/// `bash: line 1: 123 Segmentation fault`. By its code alone, it may have ended like
/// that by itself.
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
    let told = last.split_once(": line ").and_then(|(_, told)| told.split_once(": "));
    let told = told.map_or("", |(_, told)| told.trim_start());
    let after = told.trim_start_matches(|letter: char| letter.is_ascii_digit());
    after.len() < told.len() && after.trim_start().starts_with(words)
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
