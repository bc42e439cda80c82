//! The address of a value: `tool_output.max_bytes`, with quotes around a name that has a dot in it.

use std::fmt;
use std::str::FromStr;

/// Names from the top of the document down to one value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyPath(Vec<String>);

/// Why a text is not a [`KeyPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyPathError {
    /// Nothing, or nothing between two dots.
    #[error(
        "`{0}` has an empty name in it\nhint: write names separated by single dots, as in tool_output.max_bytes"
    )]
    EmptyName(String),
    /// A quote that is not closed, or followed by something else than a dot.
    #[error(
        "`{0}` has a quote in the wrong place\nhint: quote whole names, as in mcp_servers.\"my.server\".command"
    )]
    BadQuote(String),
}

impl KeyPath {
    /// A path of the given names; `None` when there are none.
    pub fn from_names<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Option<Self> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        (!names.is_empty()).then_some(Self(names))
    }

    /// The names, from the top; never empty.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The path of the first `count` names, to speak of a part of the way.
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
