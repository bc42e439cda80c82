//! Errors of the history database and hints for fixing them.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_CORRUPT_VTAB;

/// Why the history cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The database is damaged.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// Path of the database.
        path: PathBuf,
        /// The SQLite error.
        why: String,
    },
    /// The database belongs to another program.
    #[error("{} is a database of another program", path.display())]
    Foreign {
        /// Path of the database.
        path: PathBuf,
    },
    /// A newer version of hermes wrote the database.
    #[error("{} was written by a newer hermes (schema version {found}; this version supports \
        {known})", path.display())]
    Newer {
        /// Path of the database.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The latest supported schema version.
        known: i64,
    },
    /// Another process holds a lock on the database.
    #[error("{} is locked by another process", path.display())]
    Busy {
        /// Path of the database.
        path: PathBuf,
    },
    /// The database cannot be read or written.
    #[error("cannot access {}: {why}", path.display())]
    Access {
        /// Path of the database.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The database of Hermes Agent cannot be read.
    #[error("cannot read the conversations of Hermes Agent in {}: {why}", path.display())]
    AgentState {
        /// Path of the database.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// No session has this id.
    #[error("There is no session '{0}'")]
    NoSession(String),
    /// Several sessions match this id prefix.
    #[error("Several session ids start with '{0}'")]
    Ambiguous(String),
    /// A session with this id already exists.
    #[error("Session '{0}' already exists")]
    SessionExists(String),
    /// The session has no such message.
    #[error("Session '{session}' has no message {message}")]
    NoMessage {
        /// The session.
        session: String,
        /// The message.
        message: i64,
    },
}

impl HistoryError {
    /// Converts an SQLite error on this database.
    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        let why = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, why }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            _ => Self::Access { path, why },
        }
    }

    /// Returns how to fix the problem.
    pub fn hint(&self) -> String {
        match self {
            Self::Damaged { path, .. } => format!(
                "Move {0} and the files {0}-wal and {0}-shm away; hermes creates a new one. \
                 `sqlite3 FILE .recover` recovers what is readable.",
                path.display()
            ),
            Self::Foreign { path } => {
                format!("Move {} away, or set HERMES_HOME to another directory.", path.display())
            }
            Self::Newer { .. } => "Update hermes, or set HERMES_HOME to another directory.".into(),
            Self::Busy { .. } => "Retry in a moment.".into(),
            Self::Access { .. } => {
                "Check that the disk has free space and that your user owns the directory.".into()
            }
            Self::AgentState { path, .. } => format!(
                "Only these conversations are affected. hermes leaves the file as it is; \
                 `sqlite3 {} 'PRAGMA integrity_check'` checks it.",
                path.display()
            ),
            Self::NoSession(_) => "`hermes sessions list` lists the sessions.".into(),
            Self::Ambiguous(_) => "Use a longer prefix of the id.".into(),
            Self::SessionExists(_) => "Choose another id, or continue that session.".into(),
            Self::NoMessage { .. } => {
                "`hermes sessions show` lists the messages with their numbers.".into()
            }
        }
    }
}

/// Whether only a full-text index is damaged, which can be rebuilt.
pub(crate) fn is_index_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|e| e.extended_code == SQLITE_CORRUPT_VTAB)
}
