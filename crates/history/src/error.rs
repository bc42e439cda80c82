//! What can go wrong with the file of conversations, and what to do about it.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_CORRUPT_VTAB;

/// Conversations cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file is not what it should be.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        why: String,
    },
    /// The file belongs to another program.
    #[error("{} is a database of another program", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version of this program.
    #[error("{} was written by a newer hermes (layout {found}, this one knows {known})", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its layout.
        found: i64,
        /// The latest that is known here.
        known: i64,
    },
    /// Another process holds the file.
    #[error("{} is held by another process", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("{} cannot be used: {why}", path.display())]
    Access {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// There is no session of that id.
    #[error("There is no session '{0}'")]
    NoSession(String),
    /// The beginning of an id that several sessions have.
    #[error("Several sessions begin with '{0}'")]
    Ambiguous(String),
    /// There is already a session of that id.
    #[error("There is already a session '{0}'")]
    SessionExists(String),
    /// There is no such message in the session.
    #[error("Session '{session}' has no message {message}")]
    NoMessage {
        /// The session.
        session: String,
        /// The message.
        message: i64,
    },
}

impl HistoryError {
    /// What SQLite could not do with this file.
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

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Damaged { path, .. } => format!(
                "Move {0} and the files {0}-wal and {0}-shm away; a new one is made. `sqlite3 FILE .recover` \
                 saves what can be saved.",
                path.display()
            ),
            Self::Foreign { path } => {
                format!("Move {} away, or set HERMES_HOME to another folder.", path.display())
            }
            Self::Newer { .. } => "Update hermes, or set HERMES_HOME to another folder.".into(),
            Self::Busy { .. } => "Try again in a moment.".into(),
            Self::Access { .. } => {
                "Check that the disk has room and that the folder belongs to your user.".into()
            }
            Self::NoSession(_) => "`hermes sessions list` shows the sessions.".into(),
            Self::Ambiguous(_) => "Give more of the id.".into(),
            Self::SessionExists(_) => "Choose another id, or go on with that session.".into(),
            Self::NoMessage { .. } => {
                "`hermes sessions show` gives the messages with their numbers.".into()
            }
        }
    }
}

/// Whether only an index is damaged, which can be made again.
pub(crate) fn is_index_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|e| e.extended_code == SQLITE_CORRUPT_VTAB)
}
