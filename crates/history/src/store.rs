//! Write access: begins sessions; appends, undoes and folds messages.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_llm::{ChatMessage, TokenUsage};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{
    Connection, ErrorCode, OptionalExtension as _, Transaction, TransactionBehavior, params,
};

use crate::error::HistoryError;
use crate::index::{self, MAX_UNINDEXED_MESSAGES};
use crate::reader::HistoryReader;
use crate::record::NewSession;
use crate::rows::{INSERT_MESSAGE, MESSAGE_COLUMNS, MessageFields, message_from_row};
use crate::schema;
use crate::time_text;

/// How long a writer waits for a lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The history database, open for writing.
#[derive(Debug)]
pub struct HistoryStore {
    path: PathBuf,
    writer: Mutex<StoreWriter>,
    reader: HistoryReader,
}

#[derive(Debug)]
struct StoreWriter {
    connection: Connection,
    /// Id of the last message known to be indexed.
    indexed: i64,
}

/// Result of an undo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoReport {
    /// Number of undone messages.
    pub messages: usize,
    /// The first undone user message.
    pub user_text: Option<String>,
    /// When the first undone message was recorded.
    pub since: Option<Timestamp>,
}

/// Result of a deletion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeleteReport {
    /// Number of sessions, including those it delegated work to.
    pub sessions: usize,
    /// Number of messages.
    pub messages: usize,
}

impl HistoryStore {
    /// Opens the database, and creates it if missing, readable by its owner
    /// only.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, HistoryError> {
        let path = path.into();
        create_file(&path)
            .map_err(|e| HistoryError::Access { path: path.clone(), why: e.to_string() })?;
        let failed = |e: rusqlite::Error| HistoryError::from_sqlite(&path, &e);
        let mut connection = Connection::open(&path).map_err(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(64);
        // Checks before changing anything: the file may belong to another
        // program.
        schema::inspect(&connection, &path)?;
        enable_wal(&connection).map_err(failed)?;
        // With a WAL, a killed process loses nothing that was committed.
        connection.pragma_update(None, "synchronous", "normal").map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        schema::migrate(&mut connection, &path)?;
        let indexed = index::indexed_up_to(&connection).map_err(failed)?;
        let reader = HistoryReader::open_current(&path)?;
        Ok(Self { writer: Mutex::new(StoreWriter { connection, indexed }), reader, path })
    }

    /// Returns a reader of the same database.
    pub fn reader(&self) -> &HistoryReader {
        &self.reader
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a session and returns its id.
    pub fn begin(&self, beginning: &NewSession) -> Result<String, HistoryError> {
        loop {
            let id = beginning.id.clone().unwrap_or_else(new_session_id);
            match self.try_begin(&id, beginning) {
                // The generated id is taken; generate another.
                Err(HistoryError::SessionExists(_)) if beginning.id.is_none() => {}
                other => return other.map(|()| id),
            }
        }
    }

    fn try_begin(&self, id: &str, beginning: &NewSession) -> Result<(), HistoryError> {
        let now = time_text::now().as_millisecond();
        self.transact(|step| {
            if session_key(step, id)?.is_some() {
                return Ok(Err(HistoryError::SessionExists(id.to_owned())));
            }
            let mut family: Option<(i64, i64)> = None;
            if let Some(parent) = &beginning.parent {
                let mut find = step.prepare_cached("SELECT key, root FROM sessions WHERE id = ?1")?;
                family = find.query_row([&parent.id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
                if family.is_none() {
                    return Ok(Err(HistoryError::NoSession(parent.id.clone())));
                }
            }
            step.execute(
                "INSERT INTO sessions (id, root, parent, kinship, source, title, cwd, model, started, \
                 last_active) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)",
                params![
                    id,
                    family.map_or(0, |(_, root)| root),
                    family.map(|(key, _)| key),
                    beginning.parent.as_ref().map(|parent| parent.relation.name()),
                    beginning.source,
                    beginning.title,
                    beginning.cwd,
                    beginning.model,
                    now,
                ],
            )?;
            let key = step.last_insert_rowid();
            if family.is_none() {
                step.execute("UPDATE sessions SET root = key WHERE key = ?1", [key])?;
            }
            if let Some(system) = &beginning.system {
                step.execute("INSERT INTO prompts VALUES (?1, ?2)", params![key, system])?;
            }
            Ok(Ok(()))
        })
    }

    /// Appends a message and returns its id. The message is durable against a
    /// kill when this returns.
    pub fn append(&self, session: &str, message: &ChatMessage) -> Result<i64, HistoryError> {
        self.append_at(session, message, time_text::now())
    }

    /// Like [`Self::append`], with an explicit time.
    pub fn append_at(
        &self,
        session: &str,
        message: &ChatMessage,
        at: Timestamp,
    ) -> Result<i64, HistoryError> {
        let fields = MessageFields::from_message(message);
        let id = self.transact(|step| {
            let Some(key) = session_key(step, session)? else {
                return Ok(Err(HistoryError::NoSession(session.to_owned())));
            };
            let at = at.as_millisecond();
            step.prepare_cached(INSERT_MESSAGE)?.execute(&fields.params(&key, &at, &None)[..])?;
            let id = step.last_insert_rowid();
            add_to_totals(step, key, at, message)?;
            Ok(Ok(id))
        })?;
        self.index_if_due(id);
        Ok(id)
    }

    /// Appends a tool result in place of the stored one for the same call, and
    /// returns its id. A single transaction, so the call always has a result.
    pub fn replace_result(&self, session: &str, result: &ChatMessage) -> Result<i64, HistoryError> {
        let ChatMessage::Tool(answer) = result else { return self.append(session, result) };
        let fields = MessageFields::from_message(result);
        let at = time_text::now().as_millisecond();
        let id = self.transact(|step| {
            let Some(key) = session_key(step, session)? else {
                return Ok(Err(HistoryError::NoSession(session.to_owned())));
            };
            let mut find = step.prepare_cached(
                "SELECT id FROM messages WHERE session = ?1 AND role = 'tool' AND call_id = ?2 \
                 AND state = 0 AND echo IS NULL ORDER BY id DESC LIMIT 1",
            )?;
            let before: Option<i64> =
                find.query_row(params![key, answer.call_id], |row| row.get(0)).optional()?;
            match before {
                Some(before) => {
                    index::remove_from_index(step, &[before])?;
                    step.prepare_cached("DELETE FROM messages WHERE id = ?1")?.execute([before])?;
                }
                None => add_to_totals(step, key, at, result)?,
            }
            step.prepare_cached(INSERT_MESSAGE)?.execute(&fields.params(&key, &at, &None)[..])?;
            Ok(Ok(step.last_insert_rowid()))
        })?;
        self.index_if_due(id);
        Ok(id)
    }

    fn index_if_due(&self, id: i64) {
        // Search also finds unindexed messages, so a failure here loses
        // nothing.
        let mut writer = self.writer();
        if id - writer.indexed >= MAX_UNINDEXED_MESSAGES
            && let Ok((indexed, _)) = index::index_pending(&mut writer.connection)
        {
            writer.indexed = indexed;
        }
    }

    /// Replaces the live conversation with these messages. The old messages are
    /// kept and remain searchable. Trailing messages that are already stored
    /// are not stored twice. Returns the ids of the new ones.
    ///
    /// Replaces only messages for which `is_known` returns true: those that
    /// another process has added meanwhile follow after them.
    pub fn compress(
        &self,
        session: &str,
        messages: &[ChatMessage],
        is_known: &dyn Fn(i64) -> bool,
    ) -> Result<Vec<i64>, HistoryError> {
        let at = time_text::now().as_millisecond();
        self.transact(|step| {
            let Some(key) = session_key(step, session)? else {
                return Ok(Err(HistoryError::NoSession(session.to_owned())));
            };
            let mut live = step.prepare_cached(&format!(
                "SELECT {MESSAGE_COLUMNS} FROM messages m JOIN messages x \
                 ON x.id = coalesce(nullif(m.echo, 0), m.id) \
                 WHERE m.session = ?1 AND m.state = 0 ORDER BY m.id DESC"
            ))?;
            let mut live = live.query([key])?;
            // Matches from the end while the messages are equal.
            let (mut same, mut others) = (Vec::new(), Vec::new());
            let mut wanted = messages.iter().rev();
            let mut next = wanted.next();
            while let Some(row) = live.next()? {
                let kept = message_from_row(row)?;
                if !is_known(kept.id) {
                    others.push(kept.id);
                } else if next.is_some_and(|message| kept.message == *message) {
                    same.push(kept.id);
                    next = wanted.next();
                } else {
                    next = None;
                }
            }
            drop(live);
            step.execute("UPDATE messages SET state = 2 WHERE session = ?1 AND state = 0", [key])?;
            let count = messages.len() - same.len();
            let mut new = Vec::with_capacity(count);
            for message in messages.iter().take(count) {
                let fields = MessageFields::from_message(message);
                step.prepare_cached(INSERT_MESSAGE)?
                    .execute(&fields.params(&key, &at, &Some(0))[..])?;
                new.push(step.last_insert_rowid());
            }
            let mut again = step.prepare_cached(
                "INSERT INTO messages (session, at, echo, role) SELECT session, at, id, role \
                 FROM messages WHERE id = ?1",
            )?;
            for id in same.into_iter().rev().chain(others.into_iter().rev()) {
                again.execute([id])?;
            }
            Ok(Ok(new))
        })
    }

    /// Undoes the last turns, each starting at a user message. Undone messages
    /// are no longer sent, shown or found.
    pub fn undo(&self, session: &str, turns: usize) -> Result<UndoReport, HistoryError> {
        let from: Option<i64> = self.transact(|step| {
            let Some(key) = session_key(step, session)? else {
                return Ok(Err(HistoryError::NoSession(session.to_owned())));
            };
            let nth = i64::try_from(turns).unwrap_or(i64::MAX).saturating_sub(1);
            let mut find = step.prepare_cached(
                "SELECT id FROM messages WHERE session = ?1 AND role = 'user' AND state <> 1 \
                 AND echo IS NULL ORDER BY id DESC LIMIT 1 OFFSET ?2",
            )?;
            Ok(Ok(find.query_row([key, nth], |row| row.get(0)).optional()?))
        })?;
        match from {
            Some(from) if turns > 0 => self.undo_from(session, from),
            _ => Ok(UndoReport::default()),
        }
    }

    /// Undoes this message and all later ones.
    pub fn undo_from(&self, session: &str, from: i64) -> Result<UndoReport, HistoryError> {
        self.transact(|step| {
            let Some(key) = session_key(step, session)? else {
                return Ok(Err(HistoryError::NoSession(session.to_owned())));
            };
            undo_from(step, key, from).map(Ok)
        })
    }

    /// Adds usage to a session beyond that of its messages.
    pub fn add_usage(&self, session: &str, usage: &TokenUsage) -> Result<(), HistoryError> {
        self.update_session(
            session,
            "UPDATE sessions SET input = input + ?2, output = output + ?3, \
             cache_read = cache_read + ?4, cache_write = cache_write + ?5, thought = thought + ?6, \
             cost = CASE WHEN ?7 IS NULL THEN cost ELSE coalesce(cost, 0) + ?7 END WHERE id = ?1",
            params![
                session,
                to_i64(usage.input),
                to_i64(usage.output),
                to_i64(usage.cache_read),
                to_i64(usage.cache_write),
                to_i64(usage.reasoning),
                usage.cost,
            ],
        )
    }

    /// Ends a session.
    pub fn end(&self, session: &str, reason: &str) -> Result<(), HistoryError> {
        let now = time_text::now().as_millisecond();
        self.update_session(
            session,
            "UPDATE sessions SET ended = ?2, end_reason = ?3 WHERE id = ?1",
            params![session, now, reason],
        )?;
        // Makes an ended session searchable by index at once.
        let _ = self.index_pending();
        // Moves it from the WAL to the main file, for copies of that file
        // alone.
        let fold = "PRAGMA wal_checkpoint(PASSIVE)";
        let _ = self.writer().connection.query_row(fold, [], |_| Ok(()));
        Ok(())
    }

    /// Reopens an ended session.
    pub fn reopen(&self, session: &str) -> Result<(), HistoryError> {
        let sql = "UPDATE sessions SET ended = NULL, end_reason = NULL WHERE id = ?1";
        self.update_session(session, sql, params![session])
    }

    /// Sets the title of a session; an empty one removes it.
    pub fn rename(&self, session: &str, title: &str) -> Result<(), HistoryError> {
        let title = title.trim();
        let title = (!title.is_empty()).then_some(title);
        self.update_session(
            session,
            "UPDATE sessions SET title = ?2 WHERE id = ?1",
            params![session, title],
        )
    }

    /// Deletes a session and those it delegated work to, and erases their text
    /// from the file.
    pub fn delete(&self, session: &str) -> Result<DeleteReport, HistoryError> {
        let deleted = self.transact(|step| {
            let Some(key) = session_key(step, session)? else {
                return Ok(Err(HistoryError::NoSession(session.to_owned())));
            };
            step.pragma_update(None, "secure_delete", true)?;
            delete(step, key).map(Ok)
        })?;
        let writer = self.writer();
        let connection = &writer.connection;
        let failed = |e: rusqlite::Error| HistoryError::from_sqlite(&self.path, &e);
        // FTS5 drops deleted content only when its segments are merged.
        for table in ["words", "pieces"] {
            connection
                .execute(&format!("INSERT INTO {table}({table}) VALUES ('optimize')"), [])
                .map_err(failed)?;
        }
        connection.pragma_update(None, "secure_delete", false).map_err(failed)?;
        // Another process may be reading; the WAL then shrinks later.
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        Ok(deleted)
    }

    /// Indexes all pending messages.
    pub fn index_pending(&self) -> Result<(), HistoryError> {
        let mut writer = self.writer();
        loop {
            let (indexed, more) = index::index_pending(&mut writer.connection)
                .map_err(|e| HistoryError::from_sqlite(&self.path, &e))?;
            writer.indexed = indexed;
            if !more {
                return Ok(());
            }
        }
    }

    fn writer(&self) -> MutexGuard<'_, StoreWriter> {
        self.writer.lock()
    }

    fn update_session(
        &self,
        session: &str,
        sql: &str,
        params: &[&dyn rusqlite::ToSql],
    ) -> Result<(), HistoryError> {
        self.transact(|step| {
            let changed = step.prepare_cached(sql)?.execute(params)?;
            let none = || HistoryError::NoSession(session.to_owned());
            Ok(if changed == 0 { Err(none()) } else { Ok(()) })
        })
    }

    /// Runs `work` in an exclusive write transaction, rolled back on an error.
    pub(crate) fn transact<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<Result<T, HistoryError>>,
    ) -> Result<T, HistoryError> {
        let failed = |e: rusqlite::Error| HistoryError::from_sqlite(&self.path, &e);
        let mut writer = self.writer();
        let step = writer
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let outcome = work(&step).map_err(failed)??;
        step.commit().map_err(failed)?;
        Ok(outcome)
    }
}

/// Enables the WAL, so readers and a writer do not block each other. Where the
/// file system does not support it, SQLite keeps its journal mode.
fn enable_wal(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        let set = connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
        // The busy timeout does not apply to this pragma.
        match set {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// Creates the file and its parent directories, accessible to the owner only.
fn create_file(path: &Path) -> std::io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let mut dir = std::fs::DirBuilder::new();
    dir.recursive(true);
    let mut file = std::fs::OpenOptions::new();
    file.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        dir.mode(0o700);
        file.mode(0o600);
    }
    if let Some(parent) = path.parent() {
        dir.create(parent)?;
    }
    file.open(path).map(drop)
}

/// Generates a session id: the start time and a random suffix.
pub fn new_session_id() -> String {
    format!(
        "{}_{}",
        time_text::local_now().strftime("%Y%m%d_%H%M%S"),
        hermes_core::ids::random_hex(6)
    )
}

pub(crate) fn session_key(step: &Transaction<'_>, session: &str) -> rusqlite::Result<Option<i64>> {
    let mut find = step.prepare_cached("SELECT key FROM sessions WHERE id = ?1")?;
    find.query_row([session], |row| row.get(0)).optional()
}

/// Adds a message to the totals of its session.
pub(crate) fn add_to_totals(
    step: &Transaction<'_>,
    key: i64,
    at: i64,
    message: &ChatMessage,
) -> rusqlite::Result<()> {
    let ChatMessage::Assistant(reply) = message else {
        let sql = "UPDATE sessions SET messages = messages + 1, last_active = max(last_active, ?2) \
                   WHERE key = ?1";
        return step.prepare_cached(sql)?.execute([key, at]).map(drop);
    };
    let usage = reply.usage;
    let mut sum = step.prepare_cached(
        "UPDATE sessions SET messages = messages + 1, last_active = max(last_active, ?2), \
         calls = calls + ?3, input = input + ?4, output = output + ?5, \
         cache_read = cache_read + ?6, cache_write = cache_write + ?7, thought = thought + ?8, \
         cost = CASE WHEN ?9 IS NULL THEN cost ELSE coalesce(cost, 0) + ?9 END, \
         model = coalesce(nullif(?10, ''), model) WHERE key = ?1",
    )?;
    sum.execute(params![
        key,
        at,
        to_i64(reply.calls.len() as u64),
        to_i64(usage.input),
        to_i64(usage.output),
        to_i64(usage.cache_read),
        to_i64(usage.cache_write),
        to_i64(usage.reasoning),
        usage.cost,
        reply.model,
    ])
    .map(drop)
}

pub(crate) fn to_i64(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(crate) fn undo_from(
    step: &Transaction<'_>,
    key: i64,
    from: i64,
) -> rusqlite::Result<UndoReport> {
    let mut find = step.prepare_cached(
        "SELECT id, role, text, state, at FROM messages \
         WHERE session = ?1 AND id >= ?2 AND state <> 1 AND echo IS NULL ORDER BY id",
    )?;
    // The first message echoed after a summary: folded messages before it are
    // covered by the summary.
    let again: Option<i64> = step.query_row(
        "SELECT min(echo) FROM messages WHERE session = ?1 AND state = 0 AND echo > 0",
        [key],
        |row| row.get(0),
    )?;
    let mut rows = find.query([key, from])?;
    let (mut gone, mut said, mut reaches_back, mut since) = (Vec::new(), None, false, None);
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        if gone.is_empty() {
            since = Timestamp::from_millisecond(row.get(4)?).ok();
        }
        gone.push(id);
        if said.is_none() && row.get::<_, String>(1)? == "user" {
            said = row.get(2)?;
        }
        reaches_back |= row.get::<_, i64>(3)? == 2 && again.is_none_or(|again| id < again);
    }
    drop(rows);
    if gone.is_empty() {
        return Ok(UndoReport::default());
    }
    index::remove_from_index(step, &gone)?;
    step.execute(
        "UPDATE messages SET state = 1 WHERE session = ?1 AND id >= ?2 AND echo IS NULL",
        [key, from],
    )?;
    step.execute("UPDATE messages SET state = 1 WHERE session = ?1 AND echo >= ?2", [key, from])?;
    if reaches_back {
        // The summary covers undone messages: drop it and make the folded
        // messages before them live again.
        step.execute(
            "UPDATE messages SET state = 1 WHERE session = ?1 AND echo IS NOT NULL",
            [key],
        )?;
        step.execute("UPDATE messages SET state = 0 WHERE session = ?1 AND state = 2", [key])?;
    }
    step.execute(
        "UPDATE sessions SET messages = max(0, messages - ?2) WHERE key = ?1",
        params![key, i64::try_from(gone.len()).unwrap_or(i64::MAX)],
    )?;
    Ok(UndoReport { messages: gone.len(), user_text: said, since })
}

fn delete(step: &Transaction<'_>, key: i64) -> rusqlite::Result<DeleteReport> {
    let mut family = step.prepare(
        "WITH RECURSIVE family(key) AS (VALUES (?1) UNION \
         SELECT s.key FROM sessions s JOIN family f ON s.parent = f.key \
         WHERE s.kinship = 'delegation') SELECT key FROM family",
    )?;
    let family: Vec<i64> =
        family.query_map([key], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut deleted = DeleteReport { sessions: family.len(), messages: 0 };
    for key in family {
        let mut find = step.prepare_cached("SELECT id FROM messages WHERE session = ?1")?;
        let messages: Vec<i64> =
            find.query_map([key], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        index::remove_from_index(step, &messages)?;
        deleted.messages += messages.len();
        step.execute("DELETE FROM messages WHERE session = ?1", [key])?;
        step.execute("DELETE FROM sessions WHERE key = ?1", [key])?;
    }
    Ok(deleted)
}
