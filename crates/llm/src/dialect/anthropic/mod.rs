//! Anthropic's messages.

mod body;
mod pieces;

pub(crate) use body::body;
pub(crate) use pieces::Reader;

/// The tool whose arguments are an answer that must fit a schema.
const ANSWER: &str = "give_answer";
