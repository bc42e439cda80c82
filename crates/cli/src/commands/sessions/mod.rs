//! `hermes sessions`: conversations that were kept.

mod shape;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use hermes::core::ErrorKind;
use hermes::engine::SecretSource as _;
use hermes::secrets::Redactor;
use hermes_history::{
    HomeHistory, HistoryError, SessionFilter, MessageQuery, HistoryReader, SessionSummary, HitOrder, MessageRange, Timestamp, format_local,
    moment,
};
use serde_json::{Value, json};

use self::shape::{cost, end_of, heading, markdown, message, row, who};
use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};
use crate::guarding::Keeper;
use crate::table::{Table, clip};
use crate::terminal::{Style, one_line, visible};

/// The most characters of a message that `show` prints.
const SHOWN: usize = 2_000;
/// Sessions that are parts of others' work.
pub(crate) const HELPERS: [&str; 2] = ["subagent", "tool"];

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Sessions {
    /// List sessions, the one with the latest word first
    List(ListArgs),
    /// Show what was said in a session
    Show {
        /// Its id, the beginning of it, or `last`
        id: String,
        /// Long messages in full
        #[arg(long)]
        full: bool,
    },
    /// Find what was said, in any script: words, "phrases", OR, NOT, begin*
    Search(Box<SearchArgs>),
    /// Write a session as JSON lines, or as Markdown for people
    Export {
        /// Its id, the beginning of it, or `last`; `all` for all sessions
        id: String,
        /// How
        #[arg(long, value_enum, default_value_t = Format::Jsonl)]
        format: Format,
        /// The file to write, which must not be there yet; standard output if none is named
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Open a session again and print its id
    Resume {
        /// Its id, the beginning of it, or `last`
        #[arg(default_value = "last")]
        id: String,
    },
    /// Give a session a title
    Rename {
        /// Its id, the beginning of it, or `last`
        id: String,
        /// The title; an empty one takes it away
        title: String,
    },
    /// Delete sessions for good, and those that did parts of their work
    Delete {
        /// Their ids
        #[arg(required = true)]
        ids: Vec<String>,
        /// Do it; without this it is only told what would go
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// How many to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only those from here: cli, run, cron, subagent, batch
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only those that worked in this folder
    #[arg(long)]
    here: bool,
    /// With those that did parts of others' work
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    times: Times,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// What to look for
    #[arg(required = true)]
    query: Vec<String>,
    /// How many to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only said by these
    #[arg(long, value_name = "ROLES", value_delimiter = ',',
          value_parser = ["user", "assistant", "tool", "system"])]
    role: Vec<String>,
    /// Only in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Which come first
    #[arg(long, value_enum, default_value_t = Order::Rank)]
    sort: Order,
    #[command(flatten)]
    times: Times,
}

#[derive(Debug, clap::Args)]
struct Times {
    /// Not older than this: 10m, 2h, 3d, a date, or a date and time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Older than this
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Order {
    /// Those that fit best
    Rank,
    /// The latest
    Newest,
    /// The earliest
    Oldest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A line for the session, then one for each message
    Jsonl,
    /// For people
    Markdown,
}

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Self {
        let kind = match &error {
            HistoryError::NoSession(_) | HistoryError::NoMessage { .. } => ErrorKind::NotFound,
            HistoryError::Ambiguous(_) => ErrorKind::InvalidArguments,
            HistoryError::SessionExists(_) | HistoryError::Busy { .. } => ErrorKind::Conflict,
            _ => ErrorKind::Unavailable,
        };
        Failure::failed(kind, error.to_string()).hint(error.hint())
    }
}

/// The command at work.
struct Desk<'a> {
    app: &'a App,
    history: HomeHistory,
    /// Secrets that were set after something was said are not shown either.
    redactor: Arc<Redactor>,
}

pub(crate) fn run(app: &App, command: Sessions) -> Outcome {
    let home = app.home()?;
    let desk =
        Desk { app, redactor: Keeper::new(&home).redactor(), history: HomeHistory::for_home(home.root()) };
    match command {
        Sessions::List(args) => desk.list(&args)?,
        Sessions::Show { id, full } => desk.show(&id, full)?,
        Sessions::Search(args) => desk.search(&args)?,
        Sessions::Export { id, format, out } => desk.export(&id, format, out)?,
        Sessions::Resume { id } => {
            let (reader, session) = desk.find(&id)?;
            desk.history.store()?.reopen(&session.id)?;
            if app.json {
                let row = row(&session, &reader.total_usage(&session)?);
                desk.data(&json!({ "schema_version": 1, "session": row }))?;
            } else {
                desk.line(&session.id)?;
            }
        }
        Sessions::Rename { id, title } => {
            let (_, session) = desk.find(&id)?;
            desk.history.store()?.rename(&session.id, &title)?;
            let (reader, session) = desk.find(&session.id)?;
            if app.json {
                let row = row(&session, &reader.total_usage(&session)?);
                desk.data(&json!({ "schema_version": 1, "session": row }))?;
            }
        }
        Sessions::Delete { ids, yes } => desk.delete(&ids, yes)?,
    }
    Ok(Exit::Ok)
}

impl Times {
    fn moments(&self) -> Result<(Option<Timestamp>, Option<Timestamp>), Failure> {
        let parse = |text: &Option<String>| -> Result<Option<Timestamp>, Failure> {
            let Some(text) = text else { return Ok(None) };
            let wrong = || {
                Failure::usage(format!("`{text}` is no point in time"))
                    .hint("Write 10m, 2h or 3d for so long ago, or a date such as 2026-01-31.")
            };
            parse_time(text).map(Some).ok_or_else(wrong)
        };
        Ok((parse(&self.since)?, parse(&self.until)?))
    }
}

/// The session of an id or the beginning of one; `last` is the latest that is
/// no helper's.
pub(crate) fn find(reader: &HistoryReader, id: &str) -> Result<SessionSummary, HistoryError> {
    if id != "last" {
        return reader.session(id);
    }
    let without = HELPERS.map(str::to_owned).to_vec();
    let listing = SessionFilter { limit: 1, excluded_sources: without, ..SessionFilter::default() };
    let none = || HistoryError::NoSession(id.to_owned());
    reader.sessions(&listing)?.pop().ok_or_else(none)
}

impl Desk<'_> {
    fn line(&self, text: &str) -> Result<(), Failure> {
        let text = self.redactor.redact(text);
        let person = self.app.terminal.stdout_is_person;
        let text = if person { visible(&text) } else { text };
        Ok(self.app.terminal.line(&text)?)
    }

    /// An answer for programs.
    fn data(&self, value: &Value) -> Result<(), Failure> {
        Ok(self.app.terminal.line(&self.json(value))?)
    }

    fn json(&self, value: &Value) -> String {
        let mut text = value.to_string();
        self.redactor.redact_json(&mut text);
        text
    }

    fn find(&self, id: &str) -> Result<(Arc<HistoryReader>, SessionSummary), Failure> {
        let none = || HistoryError::NoSession(id.to_owned());
        let reader = self.history.reader()?.ok_or_else(none)?;
        let session = find(&reader, id)?;
        Ok((reader, session))
    }

    fn list(&self, args: &ListArgs) -> Result<(), Failure> {
        let (since, until) = args.times.moments()?;
        let here = std::env::current_dir().ok().filter(|_| args.here);
        let all = args.all || args.source.is_some();
        let listing = SessionFilter {
            limit: args.limit.max(1),
            source: args.source.clone(),
            excluded_sources: if all { Vec::new() } else { HELPERS.map(str::to_owned).to_vec() },
            cwd: here.map(|folder| folder.to_string_lossy().into_owned()),
            since,
            until,
            ..SessionFilter::default()
        };
        let mut sessions = Vec::new();
        if let Some(reader) = self.history.reader()? {
            for session in reader.sessions(&listing)? {
                let spent = reader.total_usage(&session)?;
                sessions.push((session, spent));
            }
        }
        if self.app.json {
            let rows: Vec<Value> =
                sessions.iter().map(|(session, spent)| row(session, spent)).collect();
            return self.data(&json!({ "schema_version": 1, "sessions": rows }));
        }
        if sessions.is_empty() {
            self.app.terminal.note("No sessions.");
            return Ok(());
        }
        let mut table = Table::default();
        for (session, spent) in &sessions {
            let name = session.title.as_deref().unwrap_or(&session.preview);
            table.row([
                (one_line(&session.id), Some(Style::Bold)),
                (format_local(session.last_active), Some(Style::Dim)),
                (clip(&one_line(&session.source), 10), None),
                (session.messages.to_string(), Some(Style::Dim)),
                (cost(spent), Some(Style::Dim)),
                (one_line(&self.redactor.redact(name)), None),
            ]);
        }
        Ok(self.app.terminal.line(&table.render(&self.app.terminal))?)
    }

    fn show(&self, id: &str, full: bool) -> Result<(), Failure> {
        let (reader, session) = self.find(id)?;
        let kept = reader.messages(&session, MessageRange::All)?;
        let spent = reader.total_usage(&session)?;
        if self.app.json {
            let messages: Vec<Value> = kept.iter().map(message).collect();
            let session = row(&session, &spent);
            let answer = json!({ "schema_version": 1, "session": session, "messages": messages });
            return self.data(&answer);
        }
        self.line(&heading(&session, &spent))?;
        for kept in &kept {
            let head = format!("\n[{}] {} {}", kept.id, format_local(kept.at), who(kept));
            self.line(&self.app.terminal.paint(Style::Bold, &head))?;
            let text = kept.message.text();
            let cut = if full { text.len() } else { end_of(&text, SHOWN) };
            let shown = text.get(..cut).unwrap_or_default();
            if !shown.is_empty() {
                self.line(shown)?;
            }
            if cut < text.len() {
                self.line(&format!("… ({} more bytes; --full shows them)", text.len() - cut))?;
            }
            for (_, name, arguments) in kept.calls() {
                let cut = if full { arguments.len() } else { end_of(arguments, SHOWN / 10) };
                let dots = if cut < arguments.len() { "…" } else { "" };
                self.line(&format!("→ {name} {}{dots}", arguments.get(..cut).unwrap_or_default()))?;
            }
        }
        Ok(())
    }

    fn search(&self, args: &SearchArgs) -> Result<(), Failure> {
        let (since, until) = args.times.moments()?;
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
                Order::Rank => HitOrder::Rank,
                Order::Newest => HitOrder::Newest,
                Order::Oldest => HitOrder::Oldest,
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
            return self.data(&json!({ "schema_version": 1, "hits": hits }));
        }
        if results.hits.is_empty() {
            self.app.terminal.note("Nothing was found.");
            return Ok(());
        }
        let mut table = Table::default();
        for hit in &results.hits {
            table.row([
                (one_line(&hit.session), Some(Style::Bold)),
                (hit.message.to_string(), Some(Style::Dim)),
                (format_local(hit.at), Some(Style::Dim)),
                (hit.role.clone(), None),
                (one_line(&self.redactor.redact(&hit.snippet)), None),
            ]);
        }
        Ok(self.app.terminal.line(&table.render(&self.app.terminal))?)
    }

    fn export(&self, id: &str, format: Format, out: Option<PathBuf>) -> Result<(), Failure> {
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
                for line in self.lines(&reader, session, format)? {
                    self.app.terminal.line(&line)?;
                }
            }
            return Ok(());
        };
        let cannot = |e: std::io::Error| unwritable(&path, &e);
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = std::io::BufWriter::new(file.map_err(cannot)?);
        for session in &sessions {
            for line in self.lines(&reader, session, format)? {
                writeln!(file, "{line}").map_err(cannot)?;
            }
        }
        file.flush().map_err(cannot)?;
        self.app.terminal.note(&format!("{} sessions in {}", sessions.len(), path.display()));
        Ok(())
    }

    /// A session as it is exported.
    fn lines(
        &self,
        reader: &HistoryReader,
        session: &SessionSummary,
        format: Format,
    ) -> Result<Vec<String>, Failure> {
        let kept = reader.messages(session, MessageRange::All)?;
        if format == Format::Markdown {
            let lines = markdown(session, &kept);
            return Ok(lines.iter().map(|line| self.redactor.redact(line).into_owned()).collect());
        }
        let mut head = row(session, &reader.total_usage(session)?);
        if let Some(fields) = head.as_object_mut() {
            fields.insert("type".into(), "session".into());
            fields.insert("system".into(), reader.system_prompt(session)?.into());
        }
        let all = std::iter::once(head).chain(kept.iter().map(message));
        Ok(all.map(|value| self.json(&value)).collect())
    }

    fn delete(&self, ids: &[String], yes: bool) -> Result<(), Failure> {
        // All are looked up before one goes.
        let mut sessions = Vec::new();
        for id in ids {
            let (_, session) = self.find(id)?;
            if !sessions.contains(&session) {
                sessions.push(session);
            }
        }
        if !yes {
            let names: Vec<String> = sessions
                .iter()
                .map(|session| format!("{} ({} messages)", session.id, session.messages))
                .collect();
            return Err(Failure::usage(format!("This would delete {} for good", names.join(", ")))
                .hint("Add --yes to do it."));
        }
        let (mut gone, mut messages) = (0, 0);
        for session in &sessions {
            match self.history.store()?.delete(&session.id) {
                Ok(deleted) => {
                    gone += deleted.sessions;
                    messages += deleted.messages;
                }
                // It did a part of the work of one before it.
                Err(HistoryError::NoSession(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.app.json {
            let answer = json!({ "schema_version": 1, "sessions": gone, "messages": messages });
            return self.data(&answer);
        }
        let what = if gone == 1 { "session" } else { "sessions" };
        self.app.terminal.note(&format!("Deleted: {gone} {what} with {messages} messages."));
        Ok(())
    }
}

/// A file that cannot be written.
fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::AlreadyExists => ErrorKind::Conflict,
        _ => ErrorKind::Unavailable,
    };
    Failure::failed(kind, format!("{} cannot be written: {error}", path.display()))
        .hint("Name a file that is not there yet, in a folder of yours.")
}
