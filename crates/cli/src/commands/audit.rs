//! `hermes audit`: what was called, by whom, and whether the record is whole.

use std::path::PathBuf;
use std::time::Duration;

use hermes::audit::{AuditEntry, LogError, AuditQuery};
use hermes::core::ErrorKind;
use hermes_config::HermesHome;
use serde_json::{Value, json};

use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};
use crate::table::{Table, clip};
use crate::terminal::{Style, one_line};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Audit {
    /// Show the last calls
    Tail {
        /// How many to show
        #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
        lines: usize,
        /// Go on showing calls as they are made
        #[arg(long, short)]
        follow: bool,
    },
    /// Find calls, the newest last
    Query(Box<Wanted>),
    /// Check that no entry was changed, removed or added
    Verify,
}

/// Which calls are wanted.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Wanted {
    /// Not older than this: 10m, 2h, 3d, a date, or a date and time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Older than this
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Calls of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The call of this id
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// Calls that ended so: success, or the kind of an error
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Calls that were judged so: allow, ask or deny
    #[arg(long, value_name = "VERDICT")]
    verdict: Option<String>,
    /// Calls with an effect of this scope, on a resource that has this in it
    #[arg(long, value_name = "SCOPE[=RESOURCE]")]
    effect: Option<String>,
    /// Entries with this text anywhere in them
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// How many to show at most
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 100)]
    lines: usize,
}

/// Where the log is kept.
pub(crate) fn folder(home: &HermesHome) -> PathBuf {
    home.logs_dir().join("audit")
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Failure::failed(ErrorKind::Unavailable, error.to_string())
            .hint("Give the folder logs/audit of the hermes home to your user.")
    }
}

pub(crate) fn run(app: &App, command: Audit) -> Outcome {
    let folder = folder(&app.home()?);
    match command {
        Audit::Tail { lines, follow } => {
            let entries = newest(&folder, &AuditQuery::default(), lines)?;
            show(app, &entries)?;
            if follow { go_on(app, &folder, entries.last()) } else { Ok(Exit::Ok) }
        }
        Audit::Query(wanted) => {
            let lines = wanted.lines;
            let entries = newest(&folder, &wanted.query()?, lines)?;
            show(app, &entries)?;
            if entries.is_empty() && !app.json {
                app.terminal.note("No entry is like that");
            } else if app.terminal.stdout_is_person && entries.len() == lines {
                app.terminal.note(&format!("the newest {lines}; -n shows more"));
            }
            Ok(Exit::Ok)
        }
        Audit::Verify => verify(app, &folder),
    }
}

/// The newest entries that are wanted, oldest first.
fn newest(folder: &std::path::Path, query: &AuditQuery, limit: usize) -> Result<Vec<AuditEntry>, LogError> {
    let mut entries = hermes::audit::query(folder, query, limit)?;
    entries.reverse();
    Ok(entries)
}

impl Wanted {
    fn query(self) -> Result<AuditQuery, Failure> {
        let moment = |text: Option<String>| {
            let parsed = text.map(|text| hermes::audit::parse_time(&text)).transpose();
            parsed.map_err(|error| {
                Failure::usage(error.to_string())
                    .hint("Write 10m, 2h or 3d for so long ago, or a date such as 2026-01-31.")
            })
        };
        let kinds = || ErrorKind::ALL.iter().map(|kind| kind.name());
        is_one_of("--status", self.status.as_deref(), std::iter::once("success").chain(kinds()))?;
        is_one_of("--verdict", self.verdict.as_deref(), ["allow", "ask", "deny"].into_iter())?;
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

/// An error for a word that no entry can have.
fn is_one_of(
    option: &str,
    given: Option<&str>,
    mut known: impl Iterator<Item = &'static str> + Clone,
) -> Result<(), Failure> {
    let all = known.clone();
    match given {
        Some(given) if !known.any(|word| word == given) => {
            let all: Vec<&str> = all.collect();
            Err(Failure::usage(format!("{option} {given}: nothing ends or is judged so"))
                .hint(format!("It is one of: {}", all.join(", "))))
        }
        _ => Ok(()),
    }
}

fn go_on(app: &App, folder: &std::path::Path, last: Option<&AuditEntry>) -> Outcome {
    let after = last.map_or(0, |entry| entry.seq);
    let mut follow = hermes::audit::follow(folder, Some(after))?;
    // Until the reader goes away or the user presses Ctrl-C.
    loop {
        show(app, &follow.next_entries(Duration::from_secs(60))?)?;
    }
}

fn show(app: &App, entries: &[AuditEntry]) -> Result<(), Failure> {
    if entries.is_empty() {
        return Ok(());
    }
    if app.json {
        for entry in entries {
            app.terminal.line(&entry.line)?;
        }
        return Ok(());
    }
    let mut table = Table::default();
    for entry in entries {
        let status = entry.text_field("status").unwrap_or_default();
        let colour = if status == "success" { Style::Green } else { Style::Red };
        let name = entry.text_field("tool").or(entry.text_field("event")).unwrap_or_default();
        table.row([
            (entry.seq.to_string(), Some(Style::Dim)),
            (format!("{:.0}", entry.time), Some(Style::Dim)),
            (clip(entry.text_field("session").unwrap_or_default(), 16), None),
            (clip(name, 32), Some(Style::Bold)),
            (judgement(entry), None),
            (status.to_owned(), Some(colour)),
            (duration(entry), Some(Style::Dim)),
            (effects(entry), Some(Style::Dim)),
        ]);
    }
    Ok(app.terminal.line(&table.render(&app.terminal))?)
}

/// The verdict, and how an approval ended.
fn judgement(entry: &AuditEntry) -> String {
    let verdict = entry.text_field("verdict").unwrap_or_default();
    match entry.text_field("approval") {
        Some(approval) => format!("{verdict}:{approval}"),
        None if entry.fields.get("dry_run").is_some() => format!("{verdict} (rehearsal)"),
        None => match entry.text_field("would") {
            Some(would) => format!("{verdict} (would {would})"),
            None => verdict.to_owned(),
        },
    }
}

fn duration(entry: &AuditEntry) -> String {
    match entry.fields.get("duration_us").and_then(Value::as_u64) {
        None => String::new(),
        Some(us @ 0..1000) => format!("{us} µs"),
        Some(us @ 1000..1_000_000) => format!("{} ms", us / 1000),
        Some(us) => format!("{}.{} s", us / 1_000_000, us / 100_000 % 10),
    }
}

fn effects(entry: &AuditEntry) -> String {
    let effects: Vec<String> =
        entry.effects().map(|(scope, resource)| format!("{scope}={resource}")).collect();
    one_line(&effects.join(" "))
}

fn verify(app: &App, folder: &std::path::Path) -> Outcome {
    let report = hermes::audit::verify(folder);
    if app.json {
        let mut value = json!({ "schema_version": 1, "clean": report.is_clean() });
        if let (Some(to), Ok(Value::Object(from))) =
            (value.as_object_mut(), serde_json::to_value(&report))
        {
            to.extend(from);
        }
        app.terminal.line(&value.to_string())?;
    } else {
        app.terminal.line(&report.to_string())?;
        if !report.is_clean() {
            app.terminal.note(&format!(
                "The log was changed or cut. Keep {} aside as evidence; entries before the first \
                 fault can be trusted. hermes goes on in a new chain once the folder is moved away.",
                folder.display()
            ));
        }
    }
    Ok(if report.is_clean() { Exit::Ok } else { Exit::Failed })
}
