//! `hermes audit`: shows and verifies the record of all calls.

use std::time::Duration;

use hermes::audit::{AuditEntry, AuditQuery, LogError};
use hermes::core::ErrorKind;
use serde_json::{Value, json};

use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::table::{TextTable, clip};
use crate::terminal::{OutputStyle, one_line};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum AuditCommand {
    /// Show the most recent calls
    Tail {
        /// Number of calls to show
        #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
        lines: usize,
        /// Keep showing calls as they are made
        #[arg(long, short)]
        follow: bool,
    },
    /// Search calls, newest last
    Query(Box<AuditFilter>),
    /// Verify that no entry was changed, removed or added
    Verify,
}

/// Filter for audit entries.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct AuditFilter {
    /// Calls since this time: 10m, 2h, 3d, a date, or a date and time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Calls before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Calls of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Call with this ID
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// Calls with this status: success, or an error kind
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Calls with this verdict: allow, ask or deny
    #[arg(long, value_name = "VERDICT")]
    verdict: Option<String>,
    /// Calls with an effect of this scope, on a resource that contains this
    /// text
    #[arg(long, value_name = "SCOPE[=RESOURCE]")]
    effect: Option<String>,
    /// Entries that contain this text
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Maximum number of entries to show
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 100)]
    lines: usize,
}

impl From<LogError> for CommandError {
    fn from(error: LogError) -> Self {
        CommandError::failed(ErrorKind::Unavailable, error.to_string())
            .hint("Make the directory logs/audit in the hermes home accessible to your user.")
    }
}

pub(crate) fn run(app: &AppContext, command: AuditCommand) -> CommandResult {
    let dir = app.home()?.audit_dir();
    match command {
        AuditCommand::Tail { lines, follow } => {
            let entries = newest(&dir, &AuditQuery::default(), lines)?;
            show(app, &entries)?;
            if follow { follow_log(app, &dir, entries.last()) } else { Ok(CliExitCode::Ok) }
        }
        AuditCommand::Query(wanted) => {
            let lines = wanted.lines;
            let entries = newest(&dir, &wanted.into_query()?, lines)?;
            show(app, &entries)?;
            if entries.is_empty() && !app.json {
                app.terminal.note("No matching entries");
            } else if app.terminal.stdout_is_person && entries.len() == lines {
                app.terminal.note(&format!("showing the newest {lines}; use -n to show more"));
            }
            Ok(CliExitCode::Ok)
        }
        AuditCommand::Verify => verify(app, &dir),
    }
}

/// Returns the newest matching entries, oldest first.
fn newest(
    dir: &std::path::Path,
    query: &AuditQuery,
    limit: usize,
) -> Result<Vec<AuditEntry>, LogError> {
    let mut entries = hermes::audit::query(dir, query, limit)?;
    entries.reverse();
    Ok(entries)
}

impl AuditFilter {
    fn into_query(self) -> Result<AuditQuery, CommandError> {
        let moment = |text: Option<String>| {
            let parsed = text.map(|text| hermes::audit::parse_time(&text)).transpose();
            parsed.map_err(|error| {
                CommandError::usage(error.to_string())
                    .hint("Use 10m, 2h or 3d for a time ago, or a date such as 2026-01-31.")
            })
        };
        let kinds = || ErrorKind::ALL.iter().map(|kind| kind.name());
        check_known_word(
            "--status",
            self.status.as_deref(),
            std::iter::once("success").chain(kinds()),
        )?;
        check_known_word(
            "--verdict",
            self.verdict.as_deref(),
            ["allow", "ask", "deny"].into_iter(),
        )?;
        let (scope, resource) = match self.effect {
            None => (None, None),
            Some(effect) => match effect.split_once('=') {
                None => (Some(effect), None),
                Some(("", resource)) => (None, Some(resource.to_owned())),
                Some((scope, resource)) => (Some(scope.to_owned()), Some(resource.to_owned())),
            },
        };
        Ok(AuditQuery {
            since: moment(self.since)?,
            until: moment(self.until)?,
            tool: self.tool,
            session: self.session,
            call: self.call,
            status: self.status,
            verdict: self.verdict,
            scope,
            resource,
            text: self.text,
        })
    }
}

/// Returns an error for a value that no entry can have.
fn check_known_word(
    option: &str,
    given: Option<&str>,
    mut known: impl Iterator<Item = &'static str> + Clone,
) -> Result<(), CommandError> {
    let all = known.clone();
    match given {
        Some(given) if !known.any(|word| word == given) => {
            let all: Vec<&str> = all.collect();
            Err(CommandError::usage(format!("{option} {given}: unknown value"))
                .hint(format!("Possible values: {}", all.join(", "))))
        }
        _ => Ok(()),
    }
}

fn follow_log(app: &AppContext, dir: &std::path::Path, last: Option<&AuditEntry>) -> CommandResult {
    let after = last.map_or(0, |entry| entry.seq);
    let mut follow = hermes::audit::follow(dir, Some(after))?;
    // Runs until the reader closes the pipe or the user presses Ctrl-C.
    loop {
        show(app, &follow.next_entries(Duration::from_secs(60))?)?;
    }
}

fn show(app: &AppContext, entries: &[AuditEntry]) -> Result<(), CommandError> {
    if entries.is_empty() {
        return Ok(());
    }
    if app.json {
        for entry in entries {
            app.terminal.print_line(&entry.line)?;
        }
        return Ok(());
    }
    let mut table = TextTable::default();
    for entry in entries {
        let status = entry.text_field("status").unwrap_or_default();
        let colour = if status == "success" { OutputStyle::Green } else { OutputStyle::Red };
        let name = entry.text_field("tool").or(entry.text_field("event")).unwrap_or_default();
        table.push_row([
            (entry.seq.to_string(), Some(OutputStyle::Dim)),
            (format!("{:.0}", entry.time), Some(OutputStyle::Dim)),
            (clip(entry.text_field("session").unwrap_or_default(), 16), None),
            (clip(name, 32), Some(OutputStyle::Bold)),
            (verdict_text(entry), None),
            (status.to_owned(), Some(colour)),
            (duration_text(entry), Some(OutputStyle::Dim)),
            (effects_text(entry), Some(OutputStyle::Dim)),
        ]);
    }
    Ok(app.terminal.print_line(&table.render(&app.terminal))?)
}

/// Returns the verdict and the outcome of an approval.
fn verdict_text(entry: &AuditEntry) -> String {
    let verdict = entry.text_field("verdict").unwrap_or_default();
    match entry.text_field("approval") {
        Some(approval) => format!("{verdict}:{approval}"),
        None if entry.fields.get("dry_run").is_some() => format!("{verdict} (dry run)"),
        None => match entry.text_field("would") {
            Some(would) => format!("{verdict} (would {would})"),
            None => verdict.to_owned(),
        },
    }
}

fn duration_text(entry: &AuditEntry) -> String {
    match entry.fields.get("duration_us").and_then(Value::as_u64) {
        None => String::new(),
        Some(us @ 0..1000) => format!("{us} µs"),
        Some(us @ 1000..1_000_000) => format!("{} ms", us / 1000),
        Some(us) => format!("{}.{} s", us / 1_000_000, us / 100_000 % 10),
    }
}

fn effects_text(entry: &AuditEntry) -> String {
    let effects: Vec<String> =
        entry.effects().map(|(scope, resource)| format!("{scope}={resource}")).collect();
    one_line(&effects.join(" "))
}

fn verify(app: &AppContext, dir: &std::path::Path) -> CommandResult {
    let report = hermes::audit::verify(dir);
    if app.json {
        let mut value = json!({ "schema_version": 1, "clean": report.is_clean() });
        if let (Some(to), Ok(Value::Object(from))) =
            (value.as_object_mut(), serde_json::to_value(&report))
        {
            to.extend(from);
        }
        app.terminal.print_line(&value.to_string())?;
    } else {
        app.terminal.print_line(&report.to_string())?;
        if !report.is_clean() {
            app.terminal.note(&format!(
                "The log was modified or truncated. Keep {} as evidence; entries before the \
                 first fault can be trusted. hermes starts a new chain once the directory is \
                 moved away.",
                dir.display()
            ));
        }
    }
    Ok(if report.is_clean() { CliExitCode::Ok } else { CliExitCode::Failed })
}
