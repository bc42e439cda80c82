//! Anthropic's messages.

mod body;
mod decoder;

pub(crate) use body::request_body;
pub(crate) use decoder::AnthropicDecoder;

/// The tool whose arguments are an answer that must fit a schema.
const ANSWER_TOOL_NAME: &str = "give_answer";
