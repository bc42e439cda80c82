//! The conversations of Hermes Agent in its `state.db`, read and never written.
//!
//! Its tables gain columns from version to version: a missing column counts as
//! empty, an unknown one is ignored.

use std::collections::HashSet;
use std::fs::Metadata;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_llm::TokenUsage;
use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, types::ValueRef};
use serde_json::Value;

use crate::agent_message::{AgentStateMessage, MessageColumns, without_review_turns};
use crate::error::HistoryError;
use crate::reader::{PREVIEW_CHARS, immutable_uri};
use crate::record::{ParentLink, SessionRelation, SessionSummary};

/// Source of the sessions of Hermes Agent.
pub const AGENT_STATE_SOURCE: &str = "hermes-agent";
/// Sources that keep their name: helper sessions and those without a user.
const KEPT_SOURCES: [&str; 3] = ["subagent", "tool", "cron"];
/// How long to wait for a lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How often to read a file again that changed meanwhile.
const MAX_LOCKLESS_READS: usize = 3;

/// The database of Hermes Agent.
#[derive(Debug, Clone)]
pub struct AgentStateDb {
    path: PathBuf,
}

/// A conversation of Hermes Agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentStateSession {
    /// Its metadata.
    pub summary: SessionSummary,
    /// Whether the user has archived it, which hides it from lists.
    pub is_archived: bool,
}

/// How to open the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenMode {
    /// With locks, next to the writer's WAL.
    Shared,
    /// Without locks: SQLite would create files for a WAL that does not exist.
    Lockless,
}

/// The columns of the two tables.
struct StateColumns {
    sessions: HashSet<String>,
    messages: HashSet<String>,
}

impl AgentStateDb {
    /// Creates the handle without opening the file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lists its conversations, the most recently active first.
    pub fn sessions(&self) -> Result<Vec<AgentStateSession>, HistoryError> {
        let sessions = self.read(|connection, columns| {
            let mut list = connection.prepare(&columns.select_sessions())?;
            list.query_map([], session_from_row)?.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let mut sessions = sessions.unwrap_or_default();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.summary.last_active));
        Ok(sessions)
    }

    /// Returns the messages that Hermes Agent would send when it resumes the
    /// conversation: without those that the user took back and those that a
    /// summary replaced.
    pub fn messages(&self, session: &str) -> Result<Vec<AgentStateMessage>, HistoryError> {
        let messages = self.read(|connection, columns| {
            let mut list = connection.prepare(&columns.select_messages())?;
            let rows = list.query_map([session], MessageColumns::from_row)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let messages = messages.unwrap_or_default();
        let messages = messages.into_iter().filter_map(MessageColumns::into_message).collect();
        Ok(without_review_turns(messages))
    }

    /// Reads from one state of the file; none if it does not exist or is empty.
    fn read<T>(
        &self,
        work: impl Fn(&Connection, &StateColumns) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, HistoryError> {
        for _ in 0..MAX_LOCKLESS_READS {
            let Some(before) = self.file_state()? else { return Ok(None) };
            if self.open_mode()? == OpenMode::Shared {
                break;
            }
            let outcome = self.read_once(OpenMode::Lockless, &work);
            // Without locks, only a file that nobody has changed was read
            // whole.
            if self.file_state()? == Some(before) && self.open_mode()? == OpenMode::Lockless {
                return outcome;
            }
        }
        self.read_once(OpenMode::Shared, &work)
    }

    fn read_once<T>(
        &self,
        mode: OpenMode,
        work: &impl Fn(&Connection, &StateColumns) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, HistoryError> {
        let failed = |e: rusqlite::Error| self.sqlite_error(&e);
        let connection = self.connect(mode).map_err(failed)?;
        let moment = connection.unchecked_transaction().map_err(failed)?;
        let Some(columns) = self.columns(&moment)? else { return Ok(None) };
        work(&moment, &columns).map(Some).map_err(failed)
    }

    fn connect(&self, mode: OpenMode) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match immutable_uri(&self.path).filter(|_| mode == OpenMode::Lockless) {
            Some(uri) => Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?,
            None => Connection::open_with_flags(&self.path, flags)?,
        };
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(connection)
    }

    /// Returns the columns of the tables; none if the database has no tables.
    fn columns(&self, connection: &Connection) -> Result<Option<StateColumns>, HistoryError> {
        let names = |sql: &str| -> Result<HashSet<String>, HistoryError> {
            let read = || -> rusqlite::Result<HashSet<String>> {
                connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
            };
            read().map_err(|e| self.sqlite_error(&e))
        };
        let tables = names("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
        if tables.is_empty() {
            return Ok(None);
        }
        let columns = StateColumns {
            sessions: names("SELECT name FROM pragma_table_info('sessions')")?,
            messages: names("SELECT name FROM pragma_table_info('messages')")?,
        };
        let needed = [
            ("sessions", &columns.sessions, ["id", "source", "started_at"].as_slice()),
            ("messages", &columns.messages, &["id", "session_id", "role", "content", "timestamp"]),
        ];
        for (table, present, needed) in needed {
            for column in needed {
                if !present.contains(*column) {
                    let why = format!("its table '{table}' has no column '{column}'");
                    return Err(self.error(why));
                }
            }
        }
        Ok(Some(columns))
    }

    /// Returns what changes when the file is written; none if it does not exist
    /// or is empty.
    fn file_state(&self) -> Result<Option<(u64, Option<SystemTime>)>, HistoryError> {
        match std::fs::metadata(&self.path) {
            Ok(file) if !file.is_file() => Err(self.error("it is not a regular file")),
            Ok(file) if file.len() == 0 => Ok(None),
            Ok(file) => Ok(Some((file.len(), file.modified().ok()))),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.error(e)),
        }
    }

    fn open_mode(&self) -> Result<OpenMode, HistoryError> {
        let mut header = Vec::new();
        let file = std::fs::File::open(&self.path).map_err(|e| self.error(e))?;
        file.take(20).read_to_end(&mut header).map_err(|e| self.error(e))?;
        let has_wal_mode = header.get(18) == Some(&2);
        let beside = |suffix: &str| {
            let mut name = self.path.as_os_str().to_owned();
            name.push(suffix);
            std::fs::metadata(name).ok()
        };
        let is_written = |log: Metadata| log.len() > 0 || beside("-shm").is_some();
        let has_log = beside("-wal").is_some_and(is_written);
        Ok(if has_wal_mode && !has_log { OpenMode::Lockless } else { OpenMode::Shared })
    }

    fn error(&self, why: impl ToString) -> HistoryError {
        HistoryError::AgentState { path: self.path.clone(), why: why.to_string() }
    }

    fn sqlite_error(&self, error: &rusqlite::Error) -> HistoryError {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                HistoryError::Busy { path: self.path.clone() }
            }
            _ => self.error(error),
        }
    }
}

impl StateColumns {
    /// Returns the query for [`session_from_row`].
    fn select_sessions(&self) -> String {
        let optional = |name: &str| optional_column(&self.sessions, "s", name);
        let columns = [
            "title",
            "cwd",
            "model",
            "model_config",
            "parent_session_id",
            "ended_at",
            "end_reason",
            "tool_call_count",
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
            "reasoning_tokens",
            "actual_cost_usd",
            "estimated_cost_usd",
            "archived",
        ]
        .map(optional)
        .join(", ");
        let active = self.active_messages();
        let parent_end = match ["parent_session_id", "end_reason"]
            .iter()
            .all(|name| self.sessions.contains(*name))
        {
            true => "(SELECT p.end_reason FROM sessions p WHERE p.id = s.parent_session_id)",
            false => "NULL",
        };
        // SQL functions on text stop at a NUL, which starts content in JSON.
        format!(
            "SELECT s.id, s.source, s.started_at, {columns}, {parent_end} AS parent_end, \
             (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND {active}) AS live, \
             (SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id AND {active}) \
             AS last_message, \
             (SELECT CASE substr(CAST(m.content AS BLOB), 1, 1) WHEN x'00' THEN m.content \
             ELSE substr(m.content, 1, 2000) END FROM messages m WHERE m.session_id = s.id \
             AND m.role = 'user' AND {active} ORDER BY m.id LIMIT 1) AS preview FROM sessions s"
        )
    }

    /// Returns the query for [`MessageColumns::from_row`].
    fn select_messages(&self) -> String {
        let optional = |name: &str| optional_column(&self.messages, "m", name);
        let columns = [
            "tool_call_id",
            "tool_calls",
            "tool_name",
            "finish_reason",
            "reasoning",
            "reasoning_content",
        ]
        .map(optional)
        .join(", ");
        let active = self.active_messages();
        format!(
            "SELECT m.id, m.role, m.content, m.timestamp, {columns} FROM messages m \
             WHERE m.session_id = ?1 AND {active} ORDER BY m.id"
        )
    }

    /// Returns the condition for the messages of the conversation. The role
    /// `session_meta` marks log entries.
    fn active_messages(&self) -> &'static str {
        match self.messages.contains("active") {
            true => "m.active = 1 AND m.role <> 'session_meta'",
            false => "m.role <> 'session_meta'",
        }
    }
}

fn optional_column(present: &HashSet<String>, table: &str, name: &str) -> String {
    match present.contains(name) {
        true => format!("{table}.{name} AS {name}"),
        false => format!("NULL AS {name}"),
    }
}

fn session_from_row(row: &Row<'_>) -> rusqlite::Result<AgentStateSession> {
    let id = text_column(row, "id")?.unwrap_or_default();
    let started = time_column(row, "started_at")?.unwrap_or_default();
    let config = text_column(row, "model_config")?;
    let config: Value =
        config.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let parent = text_column(row, "parent_session_id")?.filter(|parent| *parent != id);
    let parent_end = text_column(row, "parent_end")?;
    let is_marked = |marker: &str| config.get(marker).is_some_and(|value| !value.is_null());
    let relation = match parent_end.as_deref() {
        _ if is_marked("_delegate_from") => SessionRelation::Delegation,
        _ if is_marked("_branched_from") => SessionRelation::Branch,
        Some("branched") => SessionRelation::Branch,
        Some("compression") => SessionRelation::Compression,
        _ => SessionRelation::Delegation,
    };
    let is_helper = relation == SessionRelation::Delegation
        && (parent.is_some() || is_marked("_delegate_from"));
    let source = text_column(row, "source")?.unwrap_or_default();
    let source = match KEPT_SOURCES.iter().find(|kept| **kept == source) {
        Some(kept) => *kept,
        None if is_helper => "subagent",
        None => AGENT_STATE_SOURCE,
    };
    let not_empty = |text: &String| !text.trim().is_empty();
    let cache_read = count_column(row, "cache_read_tokens")?;
    let cache_write = count_column(row, "cache_write_tokens")?;
    let cost = number_column(row, "actual_cost_usd")?.filter(|cost| *cost > 0.0);
    let estimate = number_column(row, "estimated_cost_usd")?.filter(|cost| *cost > 0.0);
    let preview = crate::agent_message::preview(text_column(row, "preview")?);
    let summary = SessionSummary {
        source: source.to_owned(),
        title: text_column(row, "title")?.filter(not_empty),
        cwd: text_column(row, "cwd")?.filter(not_empty),
        model: text_column(row, "model")?.filter(not_empty),
        parent: parent.map(|id| ParentLink { id, relation }),
        started,
        ended: time_column(row, "ended_at")?,
        end_reason: text_column(row, "end_reason")?,
        last_active: time_column(row, "last_message")?.unwrap_or(started).max(started),
        messages: count_column(row, "live")?,
        calls: count_column(row, "tool_call_count")?,
        usage: TokenUsage {
            // Hermes Agent counts cached tokens separately.
            input: count_column(row, "input_tokens")?
                .saturating_add(cache_read)
                .saturating_add(cache_write),
            output: count_column(row, "output_tokens")?,
            cache_read,
            cache_write,
            reasoning: count_column(row, "reasoning_tokens")?,
            cost: cost.or(estimate),
        },
        preview: preview.chars().take(PREVIEW_CHARS).collect(),
        key: 0,
        root: 0,
        id,
    };
    Ok(AgentStateSession { summary, is_archived: count_column(row, "archived")? > 0 })
}

/// Reads a column as text, whatever its type: SQLite stores any value in any
/// column.
pub(crate) fn text_column(row: &Row<'_>, name: &str) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(name)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    })
}

fn number_column(row: &Row<'_>, name: &str) -> rusqlite::Result<Option<f64>> {
    Ok(text_column(row, name)?.and_then(|text| text.parse().ok()))
}

fn count_column(row: &Row<'_>, name: &str) -> rusqlite::Result<u64> {
    Ok(match row.get_ref(name)? {
        ValueRef::Integer(number) => number.max(0).unsigned_abs(),
        _ => 0,
    })
}

/// Reads seconds since the epoch.
pub(crate) fn time_column(row: &Row<'_>, name: &str) -> rusqlite::Result<Option<Timestamp>> {
    let seconds = number_column(row, name)?.filter(|seconds| seconds.is_finite());
    Ok(seconds.and_then(|seconds| {
        let milliseconds = Duration::try_from_secs_f64(seconds).ok()?.as_millis();
        Timestamp::from_millisecond(i64::try_from(milliseconds).ok()?).ok()
    }))
}
