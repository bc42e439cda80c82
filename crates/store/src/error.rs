//! Errors of state on disk.

use std::io;
use std::path::{Path, PathBuf};

use hermes_core::SessionError;

/// An error while reading or writing state on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An I/O error.
    #[error("Cannot {action} {}: {source}", .path.display())]
    Io {
        /// The failed action: `read`, `write`, `lock` …
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The file exists but its content is invalid.
    #[error(
        "Session file {} is damaged ({reason}). It was not changed: move it away to start the \
         session afresh, or restore it from a copy.",
        .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A newer version of this program wrote the file.
    #[error(
        "Session file {} has format version {version}, but this program supports only versions \
         up to {known}. Update the program, or use another session.",
        .path.display()
    )]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        version: u32,
        /// The latest supported version.
        known: u32,
    },
    /// The document cannot be stored.
    #[error("Session document '{key}' cannot be stored: {reason}")]
    InvalidDocument {
        /// The document's key.
        key: String,
        /// Why it cannot be stored.
        reason: String,
    },
    /// The caller's change function failed.
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
