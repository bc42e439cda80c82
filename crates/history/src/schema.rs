//! The database schema and its migrations.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::HistoryError;

/// SQLite application id that marks the file as a hermes history.
const APPLICATION_ID: i32 = 0x4872_6d73;

/// Migrations, each from the schema version of its index to the next. Steps are
/// only ever appended.
const MIGRATION_STEPS: [&str; 2] = ["
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    root INTEGER NOT NULL,
    parent INTEGER REFERENCES sessions(key) ON DELETE SET NULL,
    kinship TEXT,
    source TEXT NOT NULL,
    title TEXT,
    cwd TEXT,
    model TEXT,
    started INTEGER NOT NULL,
    ended INTEGER,
    end_reason TEXT,
    last_active INTEGER NOT NULL,
    messages INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    input INTEGER NOT NULL DEFAULT 0,
    output INTEGER NOT NULL DEFAULT 0,
    cache_read INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0,
    thought INTEGER NOT NULL DEFAULT 0,
    cost REAL
) STRICT;
CREATE INDEX sessions_by_parent ON sessions(parent) WHERE parent IS NOT NULL;
CREATE TABLE prompts (
    session INTEGER PRIMARY KEY REFERENCES sessions(key) ON DELETE CASCADE,
    text TEXT NOT NULL
) STRICT;
-- echo: null for what was said; 0 for a summary of what came before; else the
-- message that is sent again after a summary. state: 0 sent, 1 undone,
-- 2 folded into a summary. is_error: 0 no, 1 yes, 2 it was stopped. What filters look at comes before the long columns.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
    at INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    echo INTEGER,
    role TEXT NOT NULL,
    tool TEXT,
    call_id TEXT,
    is_error INTEGER,
    finish TEXT,
    model TEXT,
    input INTEGER,
    output INTEGER,
    cache_read INTEGER,
    cache_write INTEGER,
    thought INTEGER,
    cost REAL,
    text TEXT,
    calls TEXT,
    reasoning TEXT,
    parts TEXT
) STRICT;
CREATE INDEX messages_by_session ON messages(session);
CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO marks VALUES ('indexed', 0);
", "
CREATE TABLE imports (
    id TEXT PRIMARY KEY,
    last_origin INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    last_message INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"];

/// The indexes store no text: it is in `messages`. `pieces` only yields
/// candidate messages.
pub(crate) const INDEX_TABLES_SQL: &str = "
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE pieces USING fts5(
    text, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1');
";

/// The latest schema version.
pub(crate) const SCHEMA_VERSION: i64 = MIGRATION_STEPS.len() as i64;

/// State of the file's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaState {
    /// The file is empty.
    Empty,
    /// The current version.
    Current,
    /// An older version.
    Outdated,
}

/// Returns the schema state; an error if the file is foreign or newer.
pub(crate) fn inspect(connection: &Connection, path: &Path) -> Result<SchemaState, HistoryError> {
    let failed = |e: rusqlite::Error| HistoryError::from_sqlite(path, &e);
    // Reads everything in one transaction: another process may be creating the
    // file.
    let _moment = connection
        .is_autocommit()
        .then(|| connection.unchecked_transaction())
        .transpose()
        .map_err(failed)?;
    let number = |pragma: &str| -> Result<i64, HistoryError> {
        connection.pragma_query_value(None, pragma, |row| row.get(0)).map_err(failed)
    };
    let found = number("user_version")?;
    if number("application_id")? != i64::from(APPLICATION_ID) {
        let things: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        return if things == 0 && found == 0 {
            Ok(SchemaState::Empty)
        } else {
            Err(HistoryError::Foreign { path: path.to_owned() })
        };
    }
    match found {
        SCHEMA_VERSION => Ok(SchemaState::Current),
        newer if newer > SCHEMA_VERSION => {
            Err(HistoryError::Newer { path: path.to_owned(), found, known: SCHEMA_VERSION })
        }
        _ => Ok(SchemaState::Outdated),
    }
}

/// Migrates the file to the current schema under an exclusive write lock.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), HistoryError> {
    if inspect(connection, path)? == SchemaState::Current {
        return Ok(());
    }
    let failed = |e: rusqlite::Error| HistoryError::from_sqlite(path, &e);
    let step =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have migrated it meanwhile.
    let layout = inspect(&step, path)?;
    if layout == SchemaState::Current {
        return Ok(());
    }
    let from: i64 = match layout {
        SchemaState::Empty => 0,
        _ => step.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?,
    };
    for sql in MIGRATION_STEPS.iter().skip(usize::try_from(from).unwrap_or_default()) {
        step.execute_batch(sql).map_err(failed)?;
    }
    if layout == SchemaState::Empty {
        step.execute_batch(INDEX_TABLES_SQL).map_err(failed)?;
        step.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    }
    step.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(failed)?;
    step.commit().map_err(failed)
}
