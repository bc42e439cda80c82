//! `hermes sessions`: stored conversations.

mod imports;
mod rendering;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use hermes::core::ErrorKind;
use hermes::engine::SecretSource as _;
use hermes::secrets::Redactor;
use hermes_history::{
    HistoryError, HistoryReader, HitOrder, HomeHistory, MessageQuery, MessageRange, SessionFilter,
    SessionSummary, Timestamp, format_local, parse_time,
};
use serde_json::{Value, json};

use self::imports::ListedSession;
pub(crate) use self::imports::find_session;
use self::rendering::{
    author, cost_text, heading, markdown, message_json, session_json, truncation_point,
};
use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::table::{TextTable, clip};
use crate::terminal::{OutputStyle, one_line, show_control_chars};
use hermes::SecretsProvider;

/// Maximum length of a message that `show` prints without `--full`.
const MAX_MESSAGE_CHARS: usize = 2_000;
/// Sources of helper sessions, which do part of another session's work.
pub(crate) const HELPER_SOURCES: [&str; 2] = ["subagent", "tool"];

#[derive(Debug, clap::Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, most recently active first
    List(SessionListArgs),
    /// Show the messages of a session
    Show {
        /// Session ID, a prefix of it, or `last`
        id: String,
        /// Show long messages in full
        #[arg(long)]
        full: bool,
    },
    /// Search messages, in any script: words, "phrases", OR, NOT, prefix*
    Search(Box<SessionSearchArgs>),
    /// Export a session as JSON lines or Markdown
    Export {
        /// Session ID, a prefix of it, `last`, or `all` for all sessions
        id: String,
        /// Output format
        #[arg(long, value_enum, default_value_t = SessionFormat::Jsonl)]
        format: SessionFormat,
        /// Output file, which must not exist; defaults to standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Reopen a session and print its ID
    Resume {
        /// Session ID, a prefix of it, or `last`
        #[arg(default_value = "last")]
        id: String,
    },
    /// Copy conversations of Hermes Agent from its state.db, or what it has added
    Import {
        /// Session IDs, or prefixes of them; defaults to all that are not archived
        ids: Vec<String>,
    },
    /// Set the title of a session
    Rename {
        /// Session ID, a prefix of it, or `last`
        id: String,
        /// New title; an empty title removes it
        title: String,
    },
    /// Permanently delete sessions and the sessions they delegated work to
    Delete {
        /// Session IDs
        #[arg(required = true)]
        ids: Vec<String>,
        /// Confirm the deletion; without it, only report what would be deleted
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct SessionListArgs {
    /// Maximum number of sessions to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only sessions from this source: cli, run, cron, subagent, batch, hermes-agent
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only sessions that ran in the current directory
    #[arg(long)]
    here: bool,
    /// Include helper sessions, such as those of sub-agents
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    times: TimeRange,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SessionSearchArgs {
    /// Search terms
    #[arg(required = true)]
    query: Vec<String>,
    /// Maximum number of matches to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only messages with these roles
    #[arg(long, value_name = "ROLES", value_delimiter = ',',
          value_parser = ["user", "assistant", "tool", "system"])]
    role: Vec<String>,
    /// Only messages of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Order of the matches
    #[arg(long, value_enum, default_value_t = SearchOrder::Rank)]
    sort: SearchOrder,
    #[command(flatten)]
    times: TimeRange,
}

#[derive(Debug, clap::Args)]
struct TimeRange {
    /// Start of the time range: 10m, 2h or 3d ago, a date, or a date and time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// End of the time range, in the same format
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SearchOrder {
    /// Best match first
    Rank,
    /// Newest first
    Newest,
    /// Oldest first
    Oldest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SessionFormat {
    /// One line for the session, then one line per message
    Jsonl,
    /// Readable text
    Markdown,
}

impl From<HistoryError> for CommandError {
    fn from(error: HistoryError) -> Self {
        let kind = match &error {
            HistoryError::NoSession(_) | HistoryError::NoMessage { .. } => ErrorKind::NotFound,
            HistoryError::Ambiguous(_) => ErrorKind::InvalidArguments,
            HistoryError::SessionExists(_) | HistoryError::Busy { .. } => ErrorKind::Conflict,
            _ => ErrorKind::Unavailable,
        };
        CommandError::failed(kind, error.to_string()).hint(error.hint())
    }
}

/// State shared by the subcommands.
struct SessionBrowser<'a> {
    app: &'a AppContext,
    history: HomeHistory,
    /// Also redacts secrets that were stored after the message was written.
    redactor: Arc<Redactor>,
}

pub(crate) fn run(app: &AppContext, command: SessionsCommand) -> CommandResult {
    let home = app.home()?;
    let desk = SessionBrowser {
        app,
        redactor: SecretsProvider::new(&home).redactor(),
        history: HomeHistory::for_home(home.root()),
    };
    match command {
        SessionsCommand::List(args) => desk.list(&args)?,
        SessionsCommand::Show { id, full } => desk.show(&id, full)?,
        SessionsCommand::Search(args) => desk.search(&args)?,
        SessionsCommand::Export { id, format, out } => desk.export(&id, format, out)?,
        SessionsCommand::Resume { id } => {
            let (reader, session) = desk.find(&id)?;
            desk.history.store()?.reopen(&session.id)?;
            if app.json {
                let row = session_json(&session, &reader.total_usage(&session)?);
                desk.print_json(&json!({ "schema_version": 1, "session": row }))?;
            } else {
                desk.print_line(&session.id)?;
            }
        }
        SessionsCommand::Import { ids } => desk.import(&ids)?,
        SessionsCommand::Rename { id, title } => {
            let (_, session) = desk.find(&id)?;
            desk.history.store()?.rename(&session.id, &title)?;
            let (reader, session) = desk.find(&session.id)?;
            if app.json {
                let row = session_json(&session, &reader.total_usage(&session)?);
                desk.print_json(&json!({ "schema_version": 1, "session": row }))?;
            }
        }
        SessionsCommand::Delete { ids, yes } => desk.delete(&ids, yes)?,
    }
    Ok(CliExitCode::Ok)
}

impl TimeRange {
    fn bounds(&self) -> Result<(Option<Timestamp>, Option<Timestamp>), CommandError> {
        let parse = |text: &Option<String>| -> Result<Option<Timestamp>, CommandError> {
            let Some(text) = text else { return Ok(None) };
            let wrong = || {
                CommandError::usage(format!("`{text}` is not a valid time")).hint(
                    "Use 10m, 2h or 3d for a time in the past, or a date such as \
                        2026-01-31.",
                )
            };
            parse_time(text).map(Some).ok_or_else(wrong)
        };
        Ok((parse(&self.since)?, parse(&self.until)?))
    }
}

/// Resolves an ID, an ID prefix, or `last` among the sessions of hermes itself:
/// the latest session that is not a helper session.
fn find_stored_session(reader: &HistoryReader, id: &str) -> Result<SessionSummary, HistoryError> {
    if id != "last" {
        return reader.session(id);
    }
    let without = HELPER_SOURCES.map(str::to_owned).to_vec();
    let listing = SessionFilter { limit: 1, excluded_sources: without, ..SessionFilter::default() };
    let none = || HistoryError::NoSession(id.to_owned());
    reader.sessions(&listing)?.pop().ok_or_else(none)
}

impl SessionBrowser<'_> {
    fn print_line(&self, text: &str) -> Result<(), CommandError> {
        let text = self.redactor.redact(text);
        let person = self.app.terminal.stdout_is_person;
        let text = if person { show_control_chars(&text) } else { text };
        Ok(self.app.terminal.print_line(&text)?)
    }

    /// Prints a redacted JSON value.
    fn print_json(&self, value: &Value) -> Result<(), CommandError> {
        Ok(self.app.terminal.print_line(&self.redacted_json(value))?)
    }

    fn redacted_json(&self, value: &Value) -> String {
        let mut text = value.to_string();
        self.redactor.redact_json(&mut text);
        text
    }

    fn find(&self, id: &str) -> Result<(Arc<HistoryReader>, SessionSummary), CommandError> {
        let session = find_session(&self.history, id)?;
        let none = || HistoryError::NoSession(id.to_owned());
        Ok((self.history.reader()?.ok_or_else(none)?, session))
    }

    fn list(&self, args: &SessionListArgs) -> Result<(), CommandError> {
        let (since, until) = args.times.bounds()?;
        let here = std::env::current_dir().ok().filter(|_| args.here);
        let all = args.all || args.source.is_some();
        let listing = SessionFilter {
            limit: args.limit.max(1),
            source: args.source.clone(),
            excluded_sources: if all {
                Vec::new()
            } else {
                HELPER_SOURCES.map(str::to_owned).to_vec()
            },
            cwd: here.map(|dir| dir.to_string_lossy().into_owned()),
            since,
            until,
            ..SessionFilter::default()
        };
        let mut sessions = Vec::new();
        if let Some(reader) = self.history.reader()? {
            for session in reader.sessions(&listing)? {
                let spent = reader.total_usage(&session)?;
                sessions.push(ListedSession { session, spent, is_imported: true });
            }
        }
        sessions.extend(self.pending_sessions(&listing, args.all));
        sessions.sort_by_key(|listed| std::cmp::Reverse(listed.session.last_active));
        sessions.truncate(listing.limit);
        if self.app.json {
            let rows: Vec<Value> = sessions.iter().map(ListedSession::to_json).collect();
            return self.print_json(&json!({ "schema_version": 1, "sessions": rows }));
        }
        if sessions.is_empty() {
            self.app.terminal.note("No sessions.");
            return Ok(());
        }
        let mut table = TextTable::default();
        for ListedSession { session, spent, .. } in &sessions {
            let name = session.title.as_deref().unwrap_or(&session.preview);
            table.push_row([
                (one_line(&session.id), Some(OutputStyle::Bold)),
                (format_local(session.last_active), Some(OutputStyle::Dim)),
                (clip(&one_line(&session.source), 12), None),
                (session.messages.to_string(), Some(OutputStyle::Dim)),
                (cost_text(spent), Some(OutputStyle::Dim)),
                (one_line(&self.redactor.redact(name)), None),
            ]);
        }
        Ok(self.app.terminal.print_line(&table.render(&self.app.terminal))?)
    }

    fn show(&self, id: &str, full: bool) -> Result<(), CommandError> {
        let (reader, session) = self.find(id)?;
        let kept = reader.messages(&session, MessageRange::All)?;
        let spent = reader.total_usage(&session)?;
        if self.app.json {
            let messages: Vec<Value> = kept.iter().map(message_json).collect();
            let session = session_json(&session, &spent);
            let answer = json!({ "schema_version": 1, "session": session, "messages": messages });
            return self.print_json(&answer);
        }
        self.print_line(&heading(&session, &spent))?;
        for kept in &kept {
            let head = format!("\n[{}] {} {}", kept.id, format_local(kept.at), author(kept));
            self.print_line(&self.app.terminal.paint(OutputStyle::Bold, &head))?;
            let text = kept.message.text();
            let cut = if full { text.len() } else { truncation_point(&text, MAX_MESSAGE_CHARS) };
            let shown = text.get(..cut).unwrap_or_default();
            if !shown.is_empty() {
                self.print_line(shown)?;
            }
            if cut < text.len() {
                self.print_line(&format!(
                    "… ({} more bytes; use --full to show them)",
                    text.len() - cut
                ))?;
            }
            for (_, name, arguments) in kept.calls() {
                let cut = if full {
                    arguments.len()
                } else {
                    truncation_point(arguments, MAX_MESSAGE_CHARS / 10)
                };
                let dots = if cut < arguments.len() { "…" } else { "" };
                self.print_line(&format!(
                    "→ {name} {}{dots}",
                    arguments.get(..cut).unwrap_or_default()
                ))?;
            }
        }
        Ok(())
    }

    fn search(&self, args: &SessionSearchArgs) -> Result<(), CommandError> {
        let (since, until) = args.times.bounds()?;
        let session = match &args.session {
            Some(id) => Some(self.find(id)?.1.id),
            None => None,
        };
        let query = MessageQuery {
            text: args.query.join(" "),
            roles: args.role.clone(),
            session,
            since,
            until,
            sort: match args.sort {
                SearchOrder::Rank => HitOrder::Rank,
                SearchOrder::Newest => HitOrder::Newest,
                SearchOrder::Oldest => HitOrder::Oldest,
            },
            limit: args.limit.clamp(1, 10_000),
            ..MessageQuery::default()
        };
        let results = match self.history.reader()? {
            Some(reader) => reader.search(&query)?,
            None => Default::default(),
        };
        if self.app.json {
            let hits: Vec<Value> = results
                .hits
                .iter()
                .map(|hit| {
                    json!({
                        "session_id": hit.session,
                        "message_id": hit.message,
                        "role": hit.role,
                        "timestamp": hit.at.to_string(),
                        "snippet": hit.snippet,
                    })
                })
                .collect();
            return self.print_json(&json!({ "schema_version": 1, "hits": hits }));
        }
        if results.hits.is_empty() {
            self.app.terminal.note("No matches.");
            return Ok(());
        }
        let mut table = TextTable::default();
        for hit in &results.hits {
            table.push_row([
                (one_line(&hit.session), Some(OutputStyle::Bold)),
                (hit.message.to_string(), Some(OutputStyle::Dim)),
                (format_local(hit.at), Some(OutputStyle::Dim)),
                (hit.role.clone(), None),
                (one_line(&self.redactor.redact(&hit.snippet)), None),
            ]);
        }
        Ok(self.app.terminal.print_line(&table.render(&self.app.terminal))?)
    }

    fn export(
        &self,
        id: &str,
        format: SessionFormat,
        out: Option<PathBuf>,
    ) -> Result<(), CommandError> {
        let (reader, sessions) = match (id, self.history.reader()?) {
            ("all", None) => return Ok(()),
            ("all", Some(reader)) => {
                let sessions = reader.sessions(&SessionFilter::default())?;
                (reader, sessions)
            }
            (id, _) => {
                let (reader, session) = self.find(id)?;
                (reader, vec![session])
            }
        };
        let Some(path) = out else {
            for session in &sessions {
                for line in self.export_lines(&reader, session, format)? {
                    self.app.terminal.print_line(&line)?;
                }
            }
            return Ok(());
        };
        let cannot = |e: std::io::Error| write_error(&path, &e);
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = std::io::BufWriter::new(file.map_err(cannot)?);
        for session in &sessions {
            for line in self.export_lines(&reader, session, format)? {
                writeln!(file, "{line}").map_err(cannot)?;
            }
        }
        file.flush().map_err(cannot)?;
        self.app.terminal.note(&format!("{} sessions in {}", sessions.len(), path.display()));
        Ok(())
    }

    /// Returns the exported lines of a session.
    fn export_lines(
        &self,
        reader: &HistoryReader,
        session: &SessionSummary,
        format: SessionFormat,
    ) -> Result<Vec<String>, CommandError> {
        let kept = reader.messages(session, MessageRange::All)?;
        if format == SessionFormat::Markdown {
            let lines = markdown(session, &kept);
            return Ok(lines.iter().map(|line| self.redactor.redact(line).into_owned()).collect());
        }
        let mut head = session_json(session, &reader.total_usage(session)?);
        if let Some(fields) = head.as_object_mut() {
            fields.insert("type".into(), "session".into());
            fields.insert("system".into(), reader.system_prompt(session)?.into());
        }
        let all = std::iter::once(head).chain(kept.iter().map(message_json));
        Ok(all.map(|value| self.redacted_json(&value)).collect())
    }

    fn delete(&self, ids: &[String], yes: bool) -> Result<(), CommandError> {
        // Resolve all IDs before deleting anything.
        let mut sessions = Vec::new();
        for id in ids {
            let session = self.find_deletable(id)?;
            if !sessions.contains(&session) {
                sessions.push(session);
            }
        }
        if !yes {
            let names: Vec<String> = sessions
                .iter()
                .map(|session| format!("{} ({} messages)", session.id, session.messages))
                .collect();
            return Err(CommandError::usage(format!(
                "This would permanently delete {}",
                names.join(", ")
            ))
            .hint("Add --yes to confirm."));
        }
        let (mut gone, mut messages) = (0, 0);
        for session in &sessions {
            match self.history.store()?.delete(&session.id) {
                Ok(deleted) => {
                    gone += deleted.sessions;
                    messages += deleted.messages;
                }
                // Already deleted together with its parent session.
                Err(HistoryError::NoSession(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.app.json {
            let answer = json!({ "schema_version": 1, "sessions": gone, "messages": messages });
            return self.print_json(&answer);
        }
        let what = if gone == 1 { "session" } else { "sessions" };
        self.app.terminal.note(&format!("Deleted: {gone} {what} with {messages} messages."));
        Ok(())
    }
}

/// Returns the error for an output file that cannot be written.
fn write_error(path: &std::path::Path, error: &std::io::Error) -> CommandError {
    let kind = match error.kind() {
        std::io::ErrorKind::AlreadyExists => ErrorKind::Conflict,
        _ => ErrorKind::Unavailable,
    };
    CommandError::failed(kind, format!("Cannot write {}: {error}", path.display()))
        .hint("Use a path that does not exist yet, in a writable directory.")
}
