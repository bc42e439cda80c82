//! A value that is never printed.

use std::fmt;

/// A secret. Formatting it prints a placeholder; only [`Secret::expose`]
/// returns the value.
#[derive(Clone)]
pub struct Secret(Box<str>);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into().into_boxed_str())
    }

    /// Returns the value. The caller is responsible for where it goes.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the length of the value in characters.
    pub fn chars(&self) -> usize {
        self.0.chars().count()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([hidden])")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}
