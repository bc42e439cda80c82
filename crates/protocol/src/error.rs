//! Why a request could not be read.

use hermes_core::{ErrorKind, ToolError};

use crate::CallDialect;

/// A request that could not be read. Every variant knows its next step; see
/// [`ProtocolError::hint`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// Nothing but white space.
    #[error("The request is empty")]
    Empty,
    /// Bytes that are not text.
    #[error("The request is not UTF-8: byte {offset} (line {line}) begins no valid character")]
    NotUtf8 {
        /// The first bad byte, counted from 0.
        offset: usize,
        /// The line that it is on, counted from 1.
        line: usize,
    },
    /// JSON that cannot be read.
    #[error(
        "The request is not valid JSON: {problem} at line {line}, column {column}, near `{excerpt}`"
    )]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The character in the line, counted from 1.
        column: usize,
        /// What is wrong.
        problem: String,
        /// What stands there.
        excerpt: String,
        /// What would mend it.
        suggestion: String,
    },
    /// A document that was begun on `line` and never finished.
    #[error("The document that begins on line {line} is not finished: `{missing}` is missing")]
    Unfinished {
        /// Where it begins, counted from 1.
        line: usize,
        /// What would close it.
        missing: String,
    },
    /// Valid, but no request in any dialect.
    #[error("This is not a tool-call request: found {seen}")]
    Unrecognised {
        /// What was found instead.
        seen: String,
    },
    /// A model's reply that calls no tool.
    #[error("The reply calls no tool: found {seen}")]
    NoCalls {
        /// What was found instead.
        seen: String,
    },
    /// Another dialect than the one that was asked for.
    #[error("The request is in the dialect '{found}', not '{wanted}'")]
    WrongDialect {
        /// What was asked for.
        wanted: CallDialect,
        /// What it is.
        found: CallDialect,
    },
    /// No dialect has that name.
    #[error(
        "Unknown dialect '{name}'; the dialects are {}",
        CallDialect::ALL.map(CallDialect::name).join(", ")
    )]
    UnknownDialect {
        /// The name.
        name: String,
    },
    /// More calls than one request may hold.
    #[error("The request holds more than {limit} calls")]
    TooManyCalls {
        /// The most that are read.
        limit: usize,
    },
    /// Deeper than JSON is read.
    #[error("The request nests deeper than {limit} levels at line {line}, column {column}")]
    TooDeep {
        /// The deepest level that is read.
        limit: usize,
        /// The line, counted from 1.
        line: usize,
        /// The character in the line, counted from 1.
        column: usize,
    },
    /// Longer than one request may be.
    #[error("The request that begins on line {line} is longer than {limit} bytes")]
    TooLarge {
        /// Where it begins, counted from 1.
        line: usize,
        /// The most bytes that are kept.
        limit: usize,
    },
}

impl ProtocolError {
    /// The kind under which it is reported.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TooManyCalls { .. } | Self::TooDeep { .. } | Self::TooLarge { .. } => {
                ErrorKind::Limit
            }
            _ => ErrorKind::InvalidArguments,
        }
    }

    /// The next step.
    pub fn hint(&self) -> String {
        let example = CallDialect::Envelope.example();
        match self {
            Self::Empty => format!("Send a request such as {example}"),
            Self::NotUtf8 { .. } => {
                "Encode the request as UTF-8; write other bytes as \\u escapes or base64.".into()
            }
            Self::Syntax { suggestion, .. } => suggestion.clone(),
            Self::Unfinished { .. } => {
                "Send the whole document; a newline inside a string is written \\n.".into()
            }
            Self::Unrecognised { .. } => format!(
                "Send a request such as {example}; OpenAI, Anthropic and <tool_call> forms are read as well."
            ),
            Self::NoCalls { .. } => {
                "There is nothing to run: pass on replies only when they call a tool.".into()
            }
            Self::WrongDialect { wanted, found } => format!(
                "Leave the dialect to be detected, name '{found}', or send a request such as {}",
                wanted.example()
            ),
            Self::UnknownDialect { .. } => "Leave it out to have the dialect detected.".into(),
            Self::TooManyCalls { .. } => "Split the calls into several requests.".into(),
            Self::TooDeep { .. } => "Flatten the value, or pass it as a string.".into(),
            Self::TooLarge { .. } => {
                "Write large content to a file and pass its path, or send several requests.".into()
            }
        }
    }

    /// The same error for a text that begins on line `first` of something
    /// larger.
    #[must_use]
    pub fn starting_at(mut self, first: usize) -> Self {
        let down = first.saturating_sub(1);
        match &mut self {
            Self::NotUtf8 { line, .. }
            | Self::Syntax { line, .. }
            | Self::Unfinished { line, .. }
            | Self::TooDeep { line, .. }
            | Self::TooLarge { line, .. } => *line += down,
            _ => {}
        }
        self
    }
}

impl From<&ProtocolError> for ToolError {
    fn from(error: &ProtocolError) -> Self {
        let base = ToolError::new(error.kind(), error.to_string()).with_hint(error.hint());
        match error {
            ProtocolError::NotUtf8 { offset, line } => {
                base.with("offset", *offset).with("line", *line)
            }
            ProtocolError::Syntax { line, column, excerpt, .. } => {
                base.with("line", *line).with("column", *column).with("excerpt", excerpt.as_str())
            }
            ProtocolError::TooDeep { limit, line, column } => {
                base.with("limit", *limit).with("line", *line).with("column", *column)
            }
            ProtocolError::TooLarge { line, limit } => {
                base.with("limit", *limit).with("line", *line)
            }
            ProtocolError::TooManyCalls { limit } => base.with("limit", *limit),
            ProtocolError::Unfinished { line, .. } => base.with("line", *line),
            _ => base,
        }
    }
}

impl From<ProtocolError> for ToolError {
    fn from(error: ProtocolError) -> Self {
        Self::from(&error)
    }
}
