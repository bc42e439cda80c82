//! The errors of reading a request.

use hermes_core::{ErrorKind, ToolError};

use crate::CallDialect;

/// A request that could not be read. Every variant has a hint; see
/// [`ProtocolError::hint`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// Only white space.
    #[error("The request is empty")]
    Empty,
    /// Invalid UTF-8.
    #[error("The request is not UTF-8: invalid sequence at byte {offset} (line {line})")]
    NotUtf8 {
        /// Offset of the first invalid byte, from 0.
        offset: usize,
        /// Its line, from 1.
        line: usize,
    },
    /// Invalid JSON.
    #[error(
        "The request is not valid JSON: {problem} at line {line}, column {column}, near `{excerpt}`"
    )]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The parser's message.
        problem: String,
        /// The text at that position.
        excerpt: String,
        /// How to fix it.
        suggestion: String,
    },
    /// A document that begins on `line` and is incomplete.
    #[error("The document that begins on line {line} is incomplete: `{missing}` is missing")]
    Unfinished {
        /// Its first line, from 1.
        line: usize,
        /// The text that would close it.
        missing: String,
    },
    /// Valid JSON, but not a request in any dialect.
    #[error("This is not a tool-call request: found {seen}")]
    Unrecognised {
        /// Description of what was found instead.
        seen: String,
    },
    /// A model's reply that calls no tool.
    #[error("The reply calls no tool: found {seen}")]
    NoCalls {
        /// Description of what was found instead.
        seen: String,
    },
    /// A request in a dialect other than the requested one.
    #[error("The request is in the dialect '{found}', not '{wanted}'")]
    WrongDialect {
        /// The requested dialect.
        wanted: CallDialect,
        /// The detected dialect.
        found: CallDialect,
    },
    /// An unknown dialect name.
    #[error(
        "Unknown dialect '{name}'; the dialects are {}",
        CallDialect::ALL.map(CallDialect::name).join(", ")
    )]
    UnknownDialect {
        /// The name.
        name: String,
    },
    /// Too many calls in one request.
    #[error("The request contains more than {limit} calls")]
    TooManyCalls {
        /// The maximum.
        limit: usize,
    },
    /// Nesting beyond the limit.
    #[error("The request is nested deeper than {limit} levels at line {line}, column {column}")]
    TooDeep {
        /// The maximum depth.
        limit: usize,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
    },
    /// A request that is too long.
    #[error("The request that begins on line {line} exceeds {limit} bytes")]
    TooLarge {
        /// Its first line, from 1.
        line: usize,
        /// The maximum in bytes.
        limit: usize,
    },
}

impl ProtocolError {
    /// Returns the kind under which the error is reported.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TooManyCalls { .. } | Self::TooDeep { .. } | Self::TooLarge { .. } => {
                ErrorKind::Limit
            }
            _ => ErrorKind::InvalidArguments,
        }
    }

    /// Returns the suggested next step.
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
                "Send a request such as {example}; OpenAI, Anthropic and <tool_call> forms are \
                 also accepted."
            ),
            Self::NoCalls { .. } => {
                "Nothing to run: forward a reply only if it calls a tool.".into()
            }
            Self::WrongDialect { wanted, found } => format!(
                "Omit the dialect to have it detected, name '{found}', or send a request such \
                 as {}",
                wanted.example()
            ),
            Self::UnknownDialect { .. } => "Omit it to have the dialect detected.".into(),
            Self::TooManyCalls { .. } => "Split the calls into several requests.".into(),
            Self::TooDeep { .. } => "Flatten the value, or pass it as a string.".into(),
            Self::TooLarge { .. } => {
                "Write large content to a file and pass its path, or send several requests.".into()
            }
        }
    }

    /// Shifts line numbers for a text that begins on line `first` of a larger
    /// one.
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
