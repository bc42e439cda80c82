//! Why a search cannot begin, or cannot go on.

use hermes_core::ToolError;
use thiserror::Error;

/// A pattern that is no regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternSyntaxError {
    /// What is wrong.
    pub reason: String,
    /// The character of the pattern where it is wrong, from 1.
    pub position: Option<usize>,
    /// The pattern with a mark below that character.
    pub picture: Option<String>,
}

/// Why a search cannot begin, or cannot go on.
#[derive(Debug, Clone, Error)]
pub enum SearchError {
    /// The pattern is no regular expression.
    #[error("The pattern is not a regular expression: {}", .0.reason)]
    Pattern(PatternSyntaxError),
    /// A glob is none.
    #[error("'{glob}' is not a glob: {reason}")]
    Glob {
        /// The glob, as it was written.
        glob: String,
        /// What is wrong.
        reason: String,
    },
    /// There is no file type of that name.
    #[error("There is no file type '{0}'")]
    Type(String),
    /// There is no encoding of that name.
    #[error("There is no encoding '{0}'")]
    Encoding(String),
    /// The caller has stopped the search.
    #[error("The call was cancelled")]
    Cancelled,
}

impl From<SearchError> for ToolError {
    fn from(error: SearchError) -> Self {
        let message = error.to_string();
        match error {
            SearchError::Cancelled => ToolError::cancelled(),
            SearchError::Pattern(syntax) => {
                let error = match &syntax.picture {
                    Some(picture) => ToolError::invalid(format!("{message}\n{picture}")),
                    None => ToolError::invalid(message),
                };
                match syntax.position {
                    Some(position) => error.with("position", position),
                    None => error,
                }
                .with_hint("Mend the pattern, or set literal=true to search for it as it stands.")
            }
            SearchError::Glob { .. } => ToolError::invalid(message)
                .with_hint("Globs are such as *.rs, src/**/*.py, {a,b}.txt or !*.min.js."),
            SearchError::Type(name) => {
                let near = crate::nearest_type(&name);
                let hint = match near {
                    Some(near) => format!("Did you mean {near}? A glob does it, too."),
                    None => "Types are such as rust, py, js, md; a glob does it, too.".to_owned(),
                };
                ToolError::invalid(message).with_hint(hint)
            }
            SearchError::Encoding(_) => ToolError::invalid(message)
                .with_hint("Encodings are such as latin1, windows-1252, shift_jis or utf-16le."),
        }
    }
}
