//! Errors in permission files, with hints for fixing them.

use std::fmt;

use hermes_config::{ConfigError, FilePosition};

/// A permission file that cannot be used. Nothing that it might have restricted
/// may run until it is fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub place: Option<FilePosition>,
    /// How to fix it.
    pub hint: Option<String>,
}

impl PolicyError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, hint: None }
    }

    pub(crate) fn at(mut self, place: Option<FilePosition>) -> Self {
        self.place = self.place.or(place);
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for PolicyError {}

impl From<ConfigError> for PolicyError {
    fn from(error: ConfigError) -> Self {
        let text = error.to_string();
        let Some((message, hint)) = text.rsplit_once("\nhint: ") else { return Self::new(text) };
        if message.contains("anchor or alias") {
            return Self::new(message)
                .hint("A star begins an alias in YAML; write \"*\" in quotes.");
        }
        Self::new(message).hint(hint)
    }
}
