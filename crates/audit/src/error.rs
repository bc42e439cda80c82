//! Errors of the audit log.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An error of the audit log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// An I/O operation failed.
    #[error("Cannot {action} {}: {source}", .path.display())]
    Io {
        /// The operation: `read`, `write`, `lock` …
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The entries could not be written; they are still in memory.
    #[error("The audit log cannot be written: {why}")]
    NotWritten {
        /// The reason.
        why: String,
    },
    /// The entries were not written in time; they may still be written later.
    #[error("The audit log was not written within {} ms", .0.as_millis())]
    Timeout(Duration),
}

impl LogError {
    /// Returns a closure for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
