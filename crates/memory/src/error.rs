//! Why a list could not be read or changed.

use std::io;
use std::path::{Path, PathBuf};

use crate::memory::MemoryTarget;

/// Memory cannot be read or changed. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
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
    /// The list is switched off.
    #[error("The list '{0}' is switched off in the settings")]
    Disabled(MemoryTarget),
    /// An operation says too little or too much.
    #[error("{0}")]
    Invalid(String),
    /// Nothing matches.
    #[error("No entry contains '{0}'")]
    NoMatch(String),
    /// Several entries match that are not the same.
    #[error("'{wanted}' is in {} entries", matches.len())]
    Ambiguous {
        /// What was looked for.
        wanted: String,
        /// How the entries begin.
        matches: Vec<String>,
    },
    /// The content looks like an attack, or holds a secret.
    #[error("The content is refused: it looks like {rule} ('{excerpt}')")]
    Threat {
        /// The rule that it meets.
        rule: &'static str,
        /// The place in it.
        excerpt: String,
    },
    /// The content is too long even for the archive.
    #[error("The content has {chars} characters, and an entry may have {most}")]
    TooLong {
        /// Its length.
        chars: usize,
        /// The most.
        most: usize,
    },
    /// The file was changed by hand in a way that a change would lose.
    #[error("{} holds text that is not a list of entries ({why}); it was left as it is", path.display())]
    Drift {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
        /// Where a copy was put.
        backup: PathBuf,
    },
    /// One operation of several is wrong.
    #[error("Operation {index}: {cause}. No operation was carried out")]
    Batch {
        /// Its place, from 1.
        index: usize,
        /// What is wrong.
        cause: Box<MemoryError>,
    },
    /// There is no such version.
    #[error("There is no version {0}")]
    NoVersion(u64),
}

impl MemoryError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    /// The error itself, without the operation that met it.
    pub fn cause(&self) -> &Self {
        match self {
            Self::Batch { cause, .. } => cause.cause(),
            other => other,
        }
    }
}
