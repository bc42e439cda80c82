//! Errors of a batch.

use std::io;
use std::path::{Path, PathBuf};

/// A batch cannot be started or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// An I/O operation failed.
    #[error("Cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The directory already contains a batch.
    #[error("{} already contains a batch", .0.display())]
    AlreadyExists(PathBuf),
    /// Another process is using the directory.
    #[error("Another process is running a batch in {}", .0.display())]
    Busy(PathBuf),
    /// The batch in the directory was started with different parameters.
    #[error("The batch was started with {what} {before}, not {now}")]
    PlanMismatch {
        /// The parameter that differs.
        what: &'static str,
        /// Its value in the existing batch.
        before: String,
        /// The requested value.
        now: String,
    },
    /// No toolset of the distribution is available.
    #[error("{0}")]
    NoToolset(String),
}

impl BatchError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}
