//! Why something on disk could not be read or written.

use std::io;
use std::path::{Path, PathBuf};

use hermes_core::SessionError;

/// What can go wrong with state on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("Cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried: `read`, `write`, `lock` …
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
    /// The file is there but does not hold what it must.
    #[error(
        "Session file {} is damaged ({reason}). It was left as it is: \
         move it away to start the session afresh, or restore it from a copy.",
        .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file was written by a later version of this program.
    #[error(
        "Session file {} has format version {version}, and this program knows up to {known}. \
         Update the program, or use another session.",
        .path.display()
    )]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The version that it names.
        version: u32,
        /// The latest version that can be read.
        known: u32,
    },
    /// The document may not be kept in a file.
    #[error("Session document '{key}' cannot be kept: {reason}")]
    InvalidDocument {
        /// The document's key.
        key: String,
        /// Why not.
        reason: String,
    },
    /// Whoever was changing the document gave up.
    #[error("{0}")]
    ChangeFailed(SessionError),
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.into() }
    }
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::ChangeFailed(inner) => inner,
            other => SessionError::Failed(other.to_string()),
        }
    }
}
