//! Errors of reading and changing a list.

use std::io;
use std::path::{Path, PathBuf};

use crate::memory::MemoryTarget;

/// A failure to read or change memory. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// An I/O error.
    #[error("Cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("{} is locked by another process", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// The list is disabled.
    #[error("The list '{0}' is disabled in the settings")]
    Disabled(MemoryTarget),
    /// An operation lacks an argument or has an invalid one.
    #[error("{0}")]
    Invalid(String),
    /// No entry matches.
    #[error("No entry contains '{0}'")]
    NoMatch(String),
    /// Several different entries match.
    #[error("'{wanted}' matches {} entries", matches.len())]
    Ambiguous {
        /// The text searched for.
        wanted: String,
        /// Previews of the matching entries.
        matches: Vec<String>,
    },
    /// The content looks like an attack, or contains a secret.
    #[error("The content was rejected: it looks like {rule} ('{excerpt}')")]
    Threat {
        /// The rule that it matches.
        rule: &'static str,
        /// The matching part.
        excerpt: String,
    },
    /// The content is too long, even for the archive.
    #[error("The content has {chars} characters; the limit for an entry is {most}")]
    TooLong {
        /// Its length.
        chars: usize,
        /// The limit.
        most: usize,
    },
    /// The file was edited by hand, and a change would lose part of the edit.
    #[error("{} contains text that is not a list of entries ({why}); it was left unchanged", path.display())]
    Drift {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
        /// The backup copy.
        backup: PathBuf,
    },
    /// One of several operations failed.
    #[error("Operation {index}: {cause}. No operation was applied")]
    Batch {
        /// Its position, from 1.
        index: usize,
        /// Its error.
        cause: Box<MemoryError>,
    },
    /// The version does not exist.
    #[error("No such version: {0}")]
    NoVersion(u64),
}

impl MemoryError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    /// Returns the underlying error, without the operation's position.
    pub fn cause(&self) -> &Self {
        match self {
            Self::Batch { cause, .. } => cause.cause(),
            other => other,
        }
    }
}
