//! Why the log could not be written or read.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What can go wrong with the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
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
    /// The entries are still in memory.
    #[error("The audit log cannot be written: {why}")]
    NotWritten {
        /// What stands in the way.
        why: String,
    },
    /// The entries may still be written, but not in the time that was given.
    #[error("The audit log was not written within {} ms", .0.as_millis())]
    Timeout(Duration),
}

impl LogError {
    /// For `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
