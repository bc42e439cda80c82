//! What can go wrong, in words a person can act on: where, what, and what to do next.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::edit::EditError;

/// A position in a file; line and column count from 1, the column in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePosition {
    /// The file as it was named when it was read.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// One fault with its place, the offending line and a way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigDiagnostic {
    /// What is wrong.
    pub message: String,
    /// Where; absent for values that came from the environment.
    pub position: Option<FilePosition>,
    /// The line with a caret under the fault, ready to print; empty without a place.
    pub excerpt: String,
    /// The other place involved, as with a key given twice.
    pub related: Option<FilePosition>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for ConfigDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.position {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        if !self.excerpt.is_empty() {
            write!(f, "\n{}", self.excerpt)?;
        }
        if let Some(first) = &self.related {
            write!(f, "\nfirst given at {first}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// Why the configuration could not be found, read, understood or written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Neither `HERMES_HOME` nor the user's home folder is known.
    #[error(
        "there is no home folder: neither HERMES_HOME nor {variable} is set\nhint: set HERMES_HOME to the folder that holds config.yaml"
    )]
    NoHome {
        /// The variable that usually names the user's home folder.
        variable: &'static str,
    },
    /// The file exists but cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is larger than any configuration should be.
    #[error(
        "{} is larger than {} bytes, the most a configuration may have\nhint: is this the right file?", path.display(), crate::MAX_CONFIG_BYTES
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not UTF-8.
    #[error(
        "{}:{line}: byte {byte:#04x} at offset {offset} is not UTF-8\nhint: save the file as UTF-8", path.display()
    )]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Offset of the first byte that is not UTF-8.
        offset: usize,
        /// That byte.
        byte: u8,
        /// The line it is on, from 1.
        line: usize,
    },
    /// The text is not a configuration document.
    #[error("{0}")]
    Syntax(Box<ConfigDiagnostic>),
    /// Settings have values they cannot have; every one of them is listed.
    #[error("{}", join(.0))]
    Settings(Vec<ConfigDiagnostic>),
    /// An edit could not be made.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The file could not be replaced; the old one is as it was.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Another process has held the lock for too long.
    #[error(
        "{} is locked by another process\nhint: wait until it has finished, then try again", path.display()
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// Somebody changed the file between reading and writing it.
    #[error(
        "{} was changed by somebody else while it was being edited; nothing was written\nhint: try again", path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

fn join(diagnostics: &[ConfigDiagnostic]) -> String {
    let texts: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    texts.join("\n\n")
}
