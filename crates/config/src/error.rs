//! Errors and diagnostics: where, what, and what to do next.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::edit::EditError;

/// A position in a file; line and column count from 1, the column in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePosition {
    /// The file, as named when it was read.
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

/// One problem with its position, the source line and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigDiagnostic {
    /// What is wrong.
    pub message: String,
    /// Position; `None` for values from the environment.
    pub position: Option<FilePosition>,
    /// The line with a caret under the problem, ready to print; empty without a
    /// position.
    pub excerpt: String,
    /// The other position involved, for example of a duplicate key.
    pub related: Option<FilePosition>,
    /// How to fix it.
    pub hint: Option<String>,
}

impl ConfigDiagnostic {
    /// Creates a diagnostic that no line of a file explains.
    pub(crate) fn without_position(message: String, hint: impl Into<String>) -> Self {
        Self {
            message,
            position: None,
            excerpt: String::new(),
            related: None,
            hint: Some(hint.into()),
        }
    }
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
            write!(f, "\nfirst defined at {first}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// Reason why the configuration could not be found, read, parsed or written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Neither `HERMES_HOME` nor the user's home directory is known.
    #[error(
        "no home directory: neither HERMES_HOME nor {variable} is set\nhint: set HERMES_HOME \
         to the directory that holds config.yaml"
    )]
    NoHome {
        /// The variable that usually holds the user's home directory.
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
    /// The file exceeds the maximum size of a configuration.
    #[error(
        "{} is larger than {} bytes, the maximum for a configuration\nhint: check that this is \
         the right file", path.display(), crate::MAX_CONFIG_BYTES
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
    /// Settings with invalid values, all of them.
    #[error("{}", join(.0))]
    Settings(Vec<ConfigDiagnostic>),
    /// An edit failed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The file could not be replaced; the old one is unchanged.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Another process held the lock past the timeout.
    #[error(
        "{} is locked by another process\nhint: wait until it has finished, then retry", path.display()
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// Another process changed the file between reading and writing it.
    #[error(
        "{} was changed by another process while it was being edited; nothing was \
         written\nhint: retry", path.display()
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
