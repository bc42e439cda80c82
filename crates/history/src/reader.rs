//! Read-only access: lists and reads sessions. Writes only to migrate an
//! outdated database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_llm::{ChatMessage, TokenUsage};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row, params};

use crate::error::HistoryError;
use crate::record::{ParentLink, SessionRelation, SessionSummary, StoredMessage};
use crate::rows::{MESSAGE_COLUMNS, message_from_row, timestamp_from_ms, usage_from_row};
use crate::schema::{self, SchemaState};

/// How long a reader waits for a lock on a database without a WAL.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of characters of a session preview.
pub(crate) const PREVIEW_CHARS: usize = 200;
/// Minimum number of characters of an id prefix.
const MIN_ID_PREFIX_CHARS: usize = 4;

/// Columns of a session aliased `s`, including its first user message.
const SESSION_COLUMNS: &str = "s.id, s.source, s.title, s.cwd, s.model, p.id, s.kinship, s.started, \
    s.ended, s.end_reason, s.last_active, s.messages, s.calls, s.input, s.output, s.cache_read, \
    s.cache_write, s.thought, s.cost, s.key, s.root, \
    (SELECT substr(text, 1, 1000) FROM messages WHERE session = s.key AND role = 'user' \
     AND state <> 1 AND echo IS NULL ORDER BY id LIMIT 1) \
    FROM sessions s LEFT JOIN sessions p ON p.key = s.parent";

/// The history database, open for reading.
#[derive(Debug)]
pub struct HistoryReader {
    path: PathBuf,
    connection: Mutex<Connection>,
}

/// Which sessions to list, the most recently active first.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Maximum number of sessions; 0 for all.
    pub limit: usize,
    /// Number of sessions to skip.
    pub offset: usize,
    /// Only sessions from this source.
    pub source: Option<String>,
    /// No sessions from these sources.
    pub excluded_sources: Vec<String>,
    /// Only sessions with this working directory.
    pub cwd: Option<String>,
    /// Only sessions active since then.
    pub since: Option<Timestamp>,
    /// Only sessions started before then.
    pub until: Option<Timestamp>,
}

/// Which messages of a session to read. Undone messages are never read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRange {
    /// All.
    All,
    /// The first n.
    First(usize),
    /// The last n.
    Last(usize),
    /// The n closest before this message.
    Before(i64, usize),
    /// The n closest after this message.
    After(i64, usize),
}

impl SessionFilter {
    /// Whether the filter admits a session; ignores limit and offset.
    pub fn matches(&self, session: &SessionSummary) -> bool {
        self.source.as_ref().is_none_or(|source| *source == session.source)
            && !self.excluded_sources.contains(&session.source)
            && self.cwd.as_ref().is_none_or(|cwd| session.cwd.as_ref() == Some(cwd))
            && self.since.is_none_or(|since| session.last_active >= since)
            && self.until.is_none_or(|until| session.started < until)
    }
}

impl HistoryReader {
    /// Opens the database; none if it does not exist or is empty.
    pub fn open(path: impl AsRef<Path>) -> Result<Option<Self>, HistoryError> {
        let path = path.as_ref();
        match std::fs::metadata(path) {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => {
                return Err(HistoryError::Access { path: path.to_owned(), why: e.to_string() });
            }
        }
        let connection = connect(path)?;
        match schema::inspect(&connection, path)? {
            SchemaState::Empty => Ok(None),
            SchemaState::Current => {
                Ok(Some(Self { path: path.to_owned(), connection: Mutex::new(connection) }))
            }
            SchemaState::Outdated => {
                drop(connection);
                drop(crate::HistoryStore::open(path)?);
                Self::open_current(path).map(Some)
            }
        }
    }

    /// Opens an existing database of the current schema.
    pub(crate) fn open_current(path: &Path) -> Result<Self, HistoryError> {
        Ok(Self { path: path.to_owned(), connection: Mutex::new(connect(path)?) })
    }

    /// Lists the sessions that match the filter.
    pub fn sessions(&self, listing: &SessionFilter) -> Result<Vec<SessionSummary>, HistoryError> {
        let without = format!(",{},", listing.excluded_sources.join(","));
        let limit = if listing.limit == 0 { -1 } else { to_i64(listing.limit) };
        self.with_connection(|connection| {
            let mut list = connection.prepare_cached(&format!(
                "SELECT {SESSION_COLUMNS} WHERE (?1 IS NULL OR s.source = ?1) \
                 AND instr(?2, ',' || s.source || ',') = 0 AND (?3 IS NULL OR s.cwd = ?3) \
                 AND (?4 IS NULL OR s.last_active >= ?4) AND (?5 IS NULL OR s.started < ?5) \
                 ORDER BY s.last_active DESC, s.key DESC LIMIT ?6 OFFSET ?7"
            ))?;
            let rows = list.query_map(
                params![
                    listing.source,
                    without,
                    listing.cwd,
                    listing.since.map(Timestamp::as_millisecond),
                    listing.until.map(Timestamp::as_millisecond),
                    limit,
                    to_i64(listing.offset),
                ],
                session_from_row,
            )?;
            rows.collect()
        })
    }

    /// Returns the session with this id, or the only one whose id starts with
    /// it.
    pub fn session(&self, id: &str) -> Result<SessionSummary, HistoryError> {
        let exact = self.with_connection(|connection| {
            let mut find =
                connection.prepare_cached(&format!("SELECT {SESSION_COLUMNS} WHERE s.id = ?1"))?;
            find.query_row([id], session_from_row).optional()
        })?;
        if let Some(found) = exact {
            return Ok(found);
        }
        let none = || HistoryError::NoSession(id.to_owned());
        if id.chars().count() < MIN_ID_PREFIX_CHARS {
            return Err(none());
        }
        let mut found: Vec<SessionSummary> = self.with_connection(|connection| {
            let mut find = connection.prepare_cached(&format!(
                "SELECT {SESSION_COLUMNS} WHERE substr(s.id, 1, length(?1)) = ?1 LIMIT 2"
            ))?;
            find.query_map([id], session_from_row)?.collect()
        })?;
        match (found.pop(), found.pop()) {
            (Some(one), None) => Ok(one),
            (Some(_), Some(_)) => Err(HistoryError::Ambiguous(id.to_owned())),
            _ => Err(none()),
        }
    }

    /// Returns a session by its row key.
    pub(crate) fn session_by_key(&self, key: i64) -> Result<Option<SessionSummary>, HistoryError> {
        self.with_connection(|connection| {
            let mut find =
                connection.prepare_cached(&format!("SELECT {SESSION_COLUMNS} WHERE s.key = ?1"))?;
            find.query_row([key], session_from_row).optional()
        })
    }

    /// Returns the sessions with this title, ignoring case.
    pub(crate) fn sessions_by_title(
        &self,
        title: &str,
    ) -> Result<Vec<SessionSummary>, HistoryError> {
        self.with_connection(|connection| {
            let mut find = connection.prepare_cached(&format!(
                "SELECT {SESSION_COLUMNS} WHERE lower(s.title) = lower(?1) ORDER BY s.last_active DESC LIMIT 10"
            ))?;
            find.query_map([title.trim()], session_from_row)?.collect()
        })
    }

    /// Returns the sessions of one family, the oldest first.
    pub fn family(&self, session: &SessionSummary) -> Result<Vec<SessionSummary>, HistoryError> {
        self.with_connection(|connection| {
            let mut find = connection.prepare_cached(&format!(
                "SELECT {SESSION_COLUMNS} WHERE s.root = ?1 ORDER BY s.key"
            ))?;
            find.query_map([session.root], session_from_row)?.collect()
        })
    }

    /// Returns the usage of a session and of the sessions it delegated work to.
    pub fn total_usage(&self, session: &SessionSummary) -> Result<TokenUsage, HistoryError> {
        self.with_connection(|connection| {
            let mut sum = connection.prepare_cached(
                "WITH RECURSIVE family(key) AS (VALUES (?1) UNION \
                 SELECT s.key FROM sessions s JOIN family f ON s.parent = f.key \
                 WHERE s.kinship = 'delegation') \
                 SELECT sum(input), sum(output), sum(cache_read), sum(cache_write), \
                 sum(thought), sum(cost) FROM sessions JOIN family USING (key)",
            )?;
            sum.query_row([session.key], |row| usage_from_row(row, 0))
        })
    }

    /// Returns messages of a session, the oldest first.
    pub fn messages(
        &self,
        session: &SessionSummary,
        span: MessageRange,
    ) -> Result<Vec<StoredMessage>, HistoryError> {
        let (from, before, order, limit) = match span {
            MessageRange::All => (None, None, "ASC", -1),
            MessageRange::First(n) => (None, None, "ASC", to_i64(n)),
            MessageRange::Last(n) => (None, None, "DESC", to_i64(n)),
            MessageRange::Before(id, n) => (None, Some(id), "DESC", to_i64(n)),
            MessageRange::After(id, n) => (Some(id), None, "ASC", to_i64(n)),
        };
        let mut messages: Vec<StoredMessage> = self.with_connection(|connection| {
            let mut find = connection.prepare_cached(&format!(
                "SELECT {MESSAGE_COLUMNS} FROM messages x WHERE x.session = ?1 AND x.state <> 1 \
                 AND coalesce(x.echo, 0) = 0 AND x.id > coalesce(?2, 0) \
                 AND x.id < coalesce(?3, 9223372036854775807) ORDER BY x.id {order} LIMIT ?4"
            ))?;
            find.query_map(params![session.key, from, before, limit], message_from_row)?.collect()
        })?;
        if order == "DESC" {
            messages.reverse();
        }
        Ok(messages)
    }

    /// Counts the messages of a session before and after this one.
    pub fn count_around(
        &self,
        session: &SessionSummary,
        message: i64,
    ) -> Result<(usize, usize), HistoryError> {
        self.with_connection(|connection| {
            let mut count = connection.prepare_cached(
                "SELECT count(*) FILTER (WHERE id < ?2), count(*) FILTER (WHERE id > ?2) \
                 FROM messages WHERE session = ?1 AND state <> 1 AND coalesce(echo, 0) = 0",
            )?;
            count.query_row([session.key, message], |row| {
                Ok((to_usize(row.get(0)?), to_usize(row.get(1)?)))
            })
        })
    }

    /// Returns a message and its session; none if it was undone.
    pub fn message(
        &self,
        id: i64,
    ) -> Result<Option<(SessionSummary, StoredMessage)>, HistoryError> {
        let found = self.with_connection(|connection| {
            let mut find = connection.prepare_cached(&format!(
                "SELECT {MESSAGE_COLUMNS}, x.session FROM messages x WHERE x.id = ?1 AND x.state <> 1 \
                 AND coalesce(x.echo, 0) = 0"
            ))?;
            find.query_row([id], |row| Ok((row.get::<_, i64>(20)?, message_from_row(row)?))).optional()
        })?;
        let Some((key, kept)) = found else { return Ok(None) };
        Ok(self.session_by_key(key)?.map(|session| (session, kept)))
    }

    /// Returns the messages to send when the session continues.
    pub fn conversation(&self, session: &SessionSummary) -> Result<Vec<ChatMessage>, HistoryError> {
        self.with_connection(|connection| {
            let mut find = connection.prepare_cached(&format!(
                "SELECT {MESSAGE_COLUMNS} FROM messages m JOIN messages x \
                 ON x.id = coalesce(nullif(m.echo, 0), m.id) \
                 WHERE m.session = ?1 AND m.state = 0 ORDER BY m.id"
            ))?;
            find.query_map([session.key], |row| Ok(message_from_row(row)?.message))?.collect()
        })
    }

    /// Returns the highest message id of all sessions; zero if there are no
    /// messages.
    pub fn last_message(&self) -> Result<i64, HistoryError> {
        self.with_connection(|connection| {
            connection.query_row("SELECT coalesce(max(id), 0) FROM messages", [], |row| row.get(0))
        })
    }

    /// Returns the session's system prompt.
    pub fn system_prompt(&self, session: &SessionSummary) -> Result<Option<String>, HistoryError> {
        self.with_connection(|connection| {
            let mut find =
                connection.prepare_cached("SELECT text FROM prompts WHERE session = ?1")?;
            find.query_row([session.key], |row| row.get(0)).optional()
        })
    }

    pub(crate) fn with_connection<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        work(&self.lock()).map_err(|e| HistoryError::from_sqlite(&self.path, &e))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock()
    }
}

fn connect(path: &Path) -> Result<Connection, HistoryError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(64);
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    let failed = |e: &rusqlite::Error| HistoryError::from_sqlite(path, e);
    match open() {
        // The directory is not writable and there is no WAL: no process writes
        // there, so the file can be opened as immutable.
        Err(error)
            if matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
            ) =>
        {
            let Some(uri) = immutable_uri(path) else { return Err(failed(&error)) };
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(uri, flags).map_err(|_| failed(&error))
        }
        other => other.map_err(|e| failed(&e)),
    }
}

/// Returns the SQLite URI of an immutable file, if its WAL is empty.
pub(crate) fn immutable_uri(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let log = std::fs::metadata(format!("{text}-wal"));
    if log.is_ok_and(|log| log.len() > 0) {
        return None;
    }
    let text = text.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Some(format!("file:{text}?immutable=1"))
}

fn session_from_row(row: &Row<'_>) -> rusqlite::Result<SessionSummary> {
    let parent: Option<String> = row.get(5)?;
    let kinship: Option<String> = row.get(6)?;
    let preview: Option<String> = row.get(21)?;
    let preview: String =
        preview.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(SessionSummary {
        id: row.get(0)?,
        source: row.get(1)?,
        title: row.get(2)?,
        cwd: row.get(3)?,
        model: row.get(4)?,
        parent: parent.map(|id| ParentLink {
            id,
            relation: kinship
                .as_deref()
                .and_then(SessionRelation::parse)
                .unwrap_or(SessionRelation::Branch),
        }),
        started: timestamp_from_ms(row.get(7)?),
        ended: row.get::<_, Option<i64>>(8)?.map(timestamp_from_ms),
        end_reason: row.get(9)?,
        last_active: timestamp_from_ms(row.get(10)?),
        messages: row.get::<_, i64>(11)?.max(0).unsigned_abs(),
        calls: row.get::<_, i64>(12)?.max(0).unsigned_abs(),
        usage: usage_from_row(row, 13)?,
        key: row.get(19)?,
        root: row.get(20)?,
        preview: preview.chars().take(PREVIEW_CHARS).collect(),
    })
}

fn to_i64(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn to_usize(n: i64) -> usize {
    usize::try_from(n).unwrap_or_default()
}
