//! Job reports, as the `process` tool returns them.

use std::time::{Duration, SystemTime};

use hermes_exec::job_records::JobRecord;
use hermes_exec::{Job, JobHandle, ListeningPort, ProcessExit};
use schemars::JsonSchema;
use serde::Serialize;

use crate::notes;

/// Maximum characters of a command in the list.
const MAX_COMMAND_CHARS: usize = 200;

/// One job in the list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ProcessRow {
    session_id: String,
    command: String,
    cwd: String,
    pid: Option<u32>,
    status: &'static str,
    uptime_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// Bytes written so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_bytes: Option<u64>,
    started_at: String,
    /// It continues after hermes exits.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    detached: bool,
    /// An earlier hermes process started it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    left_over: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_file: Option<String>,
}

impl ProcessRow {
    pub(super) fn from_job(handle: &JobHandle, is_asking: bool) -> Self {
        let job = &handle.job;
        let runs = job.ended().is_none();
        Self {
            session_id: job.id.clone(),
            command: shorten_command(&job.command),
            cwd: handle.directory.display().to_string(),
            pid: job.pid,
            status: if runs && is_asking { "awaiting_input" } else { status(handle) },
            uptime_seconds: job.age().as_secs(),
            exit_code: exit_code(job),
            output_bytes: Some(job.log().len()),
            started_at: format_time(job.started_at),
            detached: handle.detached,
            left_over: false,
            output_file: None,
        }
    }

    pub(super) fn from_leftover(entry: &JobRecord) -> Self {
        let started = SystemTime::UNIX_EPOCH + Duration::from_secs(entry.at);
        Self {
            session_id: entry.id.clone(),
            command: shorten_command(&entry.command),
            cwd: entry.cwd.display().to_string(),
            pid: Some(entry.pid).filter(|_| entry.elsewhere.is_none()),
            // The state of a remote process is not visible from here.
            status: if entry.elsewhere.is_some() { "unknown" } else { "running" },
            uptime_seconds: started.elapsed().unwrap_or_default().as_secs(),
            exit_code: None,
            output_bytes: None,
            started_at: format_time(started),
            detached: entry.detached,
            left_over: true,
            output_file: entry.output.as_ref().map(|file| file.display().to_string()),
        }
    }
}

fn shorten_command(command: &str) -> String {
    match command.char_indices().nth(MAX_COMMAND_CHARS) {
        Some((end, _)) => format!("{}…", command.get(..end).unwrap_or_default()),
        None => command.to_owned(),
    }
}

/// Result of the `process` tool, for one job or for all.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<Vec<ProcessRow>>,
    /// Ports that the session's processes listen on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) ports: Vec<ListeningPort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<String>,
    /// The terminal screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    screen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// Why the exit status is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uptime_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) showing: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Output {
    /// Appends a sentence to the note.
    pub(super) fn add_note(&mut self, text: &str) {
        notes::append_sentence(self.note.get_or_insert_default(), text);
    }

    /// Adds the remarks about the backend, and an error if the job was lost
    /// with it.
    pub(super) fn add_place_notes(&mut self, job: &Job) {
        for remark in job.remarks() {
            self.add_note(&remark);
        }
        if let Some(trouble) = job.exit_error() {
            self.status = "lost";
            self.exit_code = None;
            self.error = Some(format!("{trouble}. It is not known what the command did."));
        }
    }

    /// Returns a report with only an id and a status.
    pub(super) fn for_id(id: &str, status: &'static str) -> Self {
        Self { session_id: Some(id.to_owned()), status, ..Self::default() }
    }

    pub(super) fn list(lines: Vec<ProcessRow>) -> Self {
        Self { processes: Some(lines), ..Self::default() }
    }

    pub(super) fn for_job(handle: &JobHandle) -> Self {
        let job = &handle.job;
        Self {
            session_id: Some(job.id.clone()),
            status: status(handle),
            screen: job.screen().map(|screen| screen.text()),
            exit_code: exit_code(job),
            uptime_seconds: Some(job.age().as_secs()),
            ..Self::default()
        }
    }
}

/// Returns the exit code, if it is known.
fn exit_code(job: &Job) -> Option<i32> {
    job.ended().filter(|_| job.exit_error().is_none()).map(|ended| ended.exit.code())
}

fn status(handle: &JobHandle) -> &'static str {
    match handle.job.ended() {
        None => "running",
        Some(_) if handle.job.exit_error().is_some() => "lost",
        Some(ended) if ended.has_descendants => "lingering",
        // A remote backend reports a signal as the shell's exit code, 128 +
        // signal.
        Some(_) if handle.end_reason() == Some("killed") => "killed",
        Some(ended) if matches!(ended.exit, ProcessExit::Signal(_)) => "killed",
        Some(_) => "exited",
    }
}

fn format_time(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at).map(|at| format!("{at:.0}")).unwrap_or_default()
}
