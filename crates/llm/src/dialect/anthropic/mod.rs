//! Anthropic's Messages API.

mod body;
mod decoder;

pub(crate) use body::request_body;
pub(crate) use decoder::AnthropicDecoder;

/// The tool whose arguments carry a reply that must match a schema.
const ANSWER_TOOL_NAME: &str = "give_answer";
