//! `hermes processes`: processes that an earlier hermes left running.

use std::time::{Duration, SystemTime};

use clap::Subcommand;
use hermes::core::ErrorKind;
use hermes::engine::SecretSource as _;
use hermes_exec::JobRegistry;
use hermes_exec::job_records::JobRecord;
use serde_json::{Value, json};

use crate::app::{AppContext, AppServices};
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::commands::runtime;
use crate::table::TextTable;
use crate::terminal::{OutputStyle, one_line};
use hermes::SecretsProvider;

/// Maximum length of a command in a warning.
const MAX_COMMAND_CHARS: usize = 60;

#[derive(Debug, Subcommand)]
pub(crate) enum ProcessesCommand {
    /// List detached processes and those left over from a crash
    List,
    /// Kill a process and its descendants
    Kill {
        /// Process ID from the list; `all` for those left over from a crash
        id: String,
    },
}

pub(crate) fn run(app: &AppContext, command: &ProcessesCommand) -> CommandResult {
    let home = app.home()?;
    let jobs = JobRegistry::local(home.cache_dir().join("jobs"));
    let mut left = jobs.orphans();
    let redactor = SecretsProvider::new(&home).redactor();
    for entry in &mut left {
        entry.command = redactor.redact(&entry.command).into_owned();
    }
    match command {
        ProcessesCommand::List => list(app, &left)?,
        ProcessesCommand::Kill { id } => {
            let meant: Vec<&JobRecord> = match id.as_str() {
                "all" => left.iter().filter(|entry| !entry.detached).collect(),
                id => left.iter().filter(|entry| entry.id == id).collect(),
            };
            if meant.is_empty() && id != "all" {
                return Err(CommandError::not_found(format!("No process with ID '{id}'"))
                    .hint("`hermes processes list` lists the processes."));
            }
            for entry in &meant {
                end_process(app, &jobs, entry)?;
            }
            let ids: Vec<&str> = meant.iter().map(|entry| entry.id.as_str()).collect();
            if app.json {
                let answer = json!({ "schema_version": 1, "killed": ids });
                app.terminal.print_line(&answer.to_string())?;
            } else {
                app.terminal.note(&format!("{} killed.", ids.len()));
            }
        }
    }
    Ok(CliExitCode::Ok)
}

fn end_process(
    app: &AppContext,
    jobs: &JobRegistry,
    entry: &JobRecord,
) -> Result<(), CommandError> {
    if entry.elsewhere.is_some() {
        return end_remote(app, entry);
    }
    if jobs.terminate_orphan(entry) {
        return Ok(());
    }
    let message = format!("Cannot kill all processes of {}", entry.id);
    Err(CommandError::failed(ErrorKind::Conflict, message).hint("They may belong to another user."))
}

/// Ends a job left over on the configured backend.
fn end_remote(app: &AppContext, entry: &JobRecord) -> Result<(), CommandError> {
    let ready = app.services()?;
    runtime::block_on_workers(async {
        // Do not open a backend other than the job's.
        let is_there = entry.elsewhere.as_ref() == Some(&ready.exec_target.backend().location());
        let reached = if is_there { ready.exec_target.connect().await.map(drop) } else { Ok(()) };
        let ended = match reached {
            Ok(()) => ready.jobs().terminate_remote_orphan(entry).await.map_err(CommandError::from),
            Err(failure) => Err(failure),
        };
        ready.exec_target.close().await;
        ended
    })?
}

fn list(app: &AppContext, left: &[JobRecord]) -> Result<(), CommandError> {
    if app.json {
        let entries: Vec<Value> = left.iter().map(entry_json).collect();
        let answer = json!({ "schema_version": 1, "processes": entries });
        app.terminal.print_line(&answer.to_string())?;
        return Ok(());
    }
    if left.is_empty() {
        app.terminal.note("No processes of an earlier hermes are running.");
        return Ok(());
    }
    let mut table = TextTable::default();
    for entry in left {
        let kind = match &entry.elsewhere {
            // The state of a remote process is unknown.
            Some(place) => format!("may still run in {place}"),
            None if entry.detached => "detached".to_owned(),
            None => "left over".to_owned(),
        };
        table.push_row([
            (entry.id.clone(), Some(OutputStyle::Bold)),
            (kind, None),
            (format!("{} s", age(entry).as_secs()), Some(OutputStyle::Dim)),
            (entry.cwd.display().to_string(), None),
            (one_line(&entry.command), None),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(())
}

fn entry_json(entry: &JobRecord) -> Value {
    json!({
        "session_id": entry.id,
        "pid": Some(entry.pid).filter(|_| entry.elsewhere.is_none()),
        "place": entry.elsewhere,
        "command": entry.command,
        "cwd": entry.cwd.display().to_string(),
        "session": entry.session,
        "uptime_seconds": age(entry).as_secs(),
        "detached": entry.detached,
        "output_file": entry.output.as_ref().map(|file| file.display().to_string()),
    })
}

fn age(entry: &JobRecord) -> Duration {
    let began = SystemTime::UNIX_EPOCH + Duration::from_secs(entry.at);
    began.elapsed().unwrap_or_default()
}

impl AppServices {
    /// Warns in one line about processes left over from a crash.
    pub(crate) fn warn_of_leftovers(&self, app: &AppContext) {
        let left = self.jobs().orphans();
        let mut left = left.iter().filter(|entry| !entry.detached);
        let Some(first) = left.next() else { return };
        let others = match left.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let command = self.secrets().redactor().redact(&first.command).into_owned();
        let command: String = command.chars().take(MAX_COMMAND_CHARS).collect();
        // The state of a remote process is unknown.
        let has = if first.elsewhere.is_some() { "may have" } else { "has" };
        app.terminal.warn(&format!(
            "An earlier hermes {has} left `{}` running{others}; see `hermes processes list`",
            one_line(&command)
        ));
    }
}
