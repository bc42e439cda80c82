//! Errors that prevent or end a search.

use hermes_core::ToolError;
use thiserror::Error;

/// A pattern that is not a valid regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternSyntaxError {
    /// The parser's message.
    pub reason: String,
    /// The character of the pattern at which it is invalid, from 1.
    pub position: Option<usize>,
    /// The pattern with a marker below that character.
    pub picture: Option<String>,
}

/// An error that prevents or ends a search.
#[derive(Debug, Clone, Error)]
pub enum SearchError {
    /// The pattern is not a valid regular expression.
    #[error("The pattern is not a valid regular expression: {}", .0.reason)]
    Pattern(PatternSyntaxError),
    /// A glob is invalid.
    #[error("'{glob}' is not a glob: {reason}")]
    Glob {
        /// The glob, as written.
        glob: String,
        /// Why it is invalid.
        reason: String,
    },
    /// Unknown file type.
    #[error("There is no file type '{0}'")]
    Type(String),
    /// Unknown encoding.
    #[error("There is no encoding '{0}'")]
    Encoding(String),
    /// The caller cancelled the search.
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
                .with_hint("Fix the pattern, or set literal=true to search for the exact text.")
            }
            SearchError::Glob { .. } => ToolError::invalid(message)
                .with_hint("Examples: *.rs, src/**/*.py, {a,b}.txt, !*.min.js."),
            SearchError::Type(name) => {
                let near = crate::nearest_type(&name);
                let hint = match near {
                    Some(near) => format!("Did you mean {near}? You can also use a glob."),
                    None => "Examples: rust, py, js, md. You can also use a glob.".to_owned(),
                };
                ToolError::invalid(message).with_hint(hint)
            }
            SearchError::Encoding(_) => ToolError::invalid(message)
                .with_hint("Examples: latin1, windows-1252, shift_jis, utf-16le."),
        }
    }
}
