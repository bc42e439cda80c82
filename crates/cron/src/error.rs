//! Why a task could not be kept, found or run.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong with scheduled tasks. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CronError {
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
    /// Another process keeps the lock.
    #[error("{} is held by another process", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// The file of the jobs cannot be read.
    #[error("{} is damaged ({reason}); it was left as it is", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The schedule makes no sense.
    #[error("{0}")]
    Schedule(String),
    /// Something else that was given makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// There is no such job.
    #[error("There is no job '{0}'")]
    NotFound(String),
    /// Several jobs have that name.
    #[error("{} jobs are called '{wanted}'", matches.len())]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// Their ids.
        matches: Vec<String>,
    },
    /// Another job that is not over has that name.
    #[error("There is a job '{name}' already: {id}")]
    NameTaken {
        /// The name.
        name: String,
        /// Its id.
        id: String,
    },
    /// The prompt looks like an attack, or holds a secret.
    #[error("The prompt is refused: it looks like {rule} ('{excerpt}')")]
    Threat {
        /// The rule that it meets.
        rule: &'static str,
        /// The place in it.
        excerpt: String,
    },
    /// The job is not in a state for this.
    #[error("{0}")]
    State(String),
    /// A scheduled run wants to change the schedule.
    #[error("A scheduled run may look at the schedule, not change it")]
    ReadOnlyInRun,
}

impl CronError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}
