//! Why a batch cannot be run.

use std::io;
use std::path::{Path, PathBuf};

/// A batch cannot be run, or not on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The operating system refused.
    #[error("Cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
    /// There is a batch in the folder already.
    #[error("{} holds a batch already", .0.display())]
    AlreadyExists(PathBuf),
    /// Another process works in the folder.
    #[error("Another process is running a batch in {}", .0.display())]
    Busy(PathBuf),
    /// The batch in the folder was begun differently.
    #[error("The batch was begun with {what} {before}, not {now}")]
    PlanMismatch {
        /// What is different.
        what: &'static str,
        /// What it was.
        before: String,
        /// What it is.
        now: String,
    },
    /// No toolset of the distribution is there.
    #[error("{0}")]
    NoToolset(String),
}

impl BatchError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}
