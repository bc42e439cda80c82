//! Paths of values, such as `tool_output.max_bytes`; a name that contains a dot
//! is quoted.

use std::fmt;
use std::str::FromStr;

/// The names from the top of the document to one value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyPath(Vec<String>);

/// Why a string is not a [`KeyPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyPathError {
    /// An empty path, or an empty name between two dots.
    #[error(
        "`{0}` contains an empty name\nhint: separate names with single dots, as in \
         tool_output.max_bytes"
    )]
    EmptyName(String),
    /// A quote that is not closed, or is followed by something other than a
    /// dot.
    #[error(
        "`{0}` has a misplaced quote\nhint: quote whole names, as in \
         mcp_servers.\"my.server\".command"
    )]
    BadQuote(String),
}

impl KeyPath {
    /// Creates a path from names; `None` if there are none.
    pub fn from_names<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Option<Self> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        (!names.is_empty()).then_some(Self(names))
    }

    /// Returns the names, top level first; never empty.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns the path of the first `count` names.
    pub(crate) fn prefix(&self, count: usize) -> Self {
        Self(self.0.iter().take(count.max(1)).cloned().collect())
    }
}

impl FromStr for KeyPath {
    type Err = KeyPathError;

    fn from_str(text: &str) -> Result<Self, KeyPathError> {
        let mut names = Vec::new();
        let mut rest = text;
        loop {
            let (name, after) = if let Some(quoted) = rest.strip_prefix('"') {
                let (name, after) = quoted
                    .split_once('"')
                    .ok_or_else(|| KeyPathError::BadQuote(text.to_owned()))?;
                if !after.is_empty() && !after.starts_with('.') {
                    return Err(KeyPathError::BadQuote(text.to_owned()));
                }
                (name, after)
            } else {
                let end = rest.find('.').unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                if name.is_empty() {
                    return Err(KeyPathError::EmptyName(text.to_owned()));
                }
                (name, after)
            };
            names.push(name.to_owned());
            match after.strip_prefix('.') {
                Some(next) => rest = next,
                None => return Ok(Self(names)),
            }
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            if name.is_empty() || name.contains('.') || name.starts_with('"') {
                write!(f, "\"{name}\"")?;
            } else {
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
