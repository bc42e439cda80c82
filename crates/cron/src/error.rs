//! Errors of scheduled jobs.

use std::io;
use std::path::{Path, PathBuf};

/// Why an operation on scheduled jobs failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CronError {
    /// An I/O error.
    #[error("Cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("{} is held by another process", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// The jobs file cannot be parsed.
    #[error("{} is damaged ({reason}); it was left unchanged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The schedule is invalid.
    #[error("{0}")]
    Schedule(String),
    /// Another argument is invalid.
    #[error("{0}")]
    Invalid(String),
    /// No job has this id or name.
    #[error("No such job: '{0}'")]
    NotFound(String),
    /// Several jobs have this name.
    #[error("{} jobs are named '{wanted}'", matches.len())]
    Ambiguous {
        /// The requested name.
        wanted: String,
        /// Their ids.
        matches: Vec<String>,
    },
    /// Another unfinished job has this name.
    #[error("A job named '{name}' already exists: {id}")]
    NameTaken {
        /// The name.
        name: String,
        /// Its id.
        id: String,
    },
    /// The prompt looks like an attack, or contains a secret.
    #[error("The prompt is rejected: it matches {rule} ('{excerpt}')")]
    Threat {
        /// The rule that matched.
        rule: &'static str,
        /// The matching text.
        excerpt: String,
    },
    /// The state of the job does not allow this.
    #[error("{0}")]
    State(String),
    /// A scheduled run tried to change the schedule.
    #[error("A scheduled run may read the schedule, not change it")]
    ReadOnlyInRun,
}

impl CronError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}
