//! Requests to a model.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::message::ChatMessage;

/// A request to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The server's name for the model.
    pub model: String,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// The available tools, each with name, description and parameters, as
    /// `{"type":"function","function":{…}}`.
    pub tools: Arc<[Value]>,
    /// Whether the model may or must call a tool.
    pub choice: ToolChoice,
    /// Maximum number of tokens of the reply.
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Reasoning effort: `low`, `medium`, `high`.
    pub effort: Option<String>,
    /// JSON Schema that the reply must match.
    pub schema: Option<Value>,
    /// Whether the model supports tool calls only as text: no tools are sent,
    /// and earlier calls and results are rendered as text.
    pub text_tool_calls: bool,
    /// Whether the conversation cannot be shortened: a model whose window is
    /// too small is then skipped if there is another.
    pub cannot_shorten: bool,
    /// Whether a reply that breaks off may restart: the caller can retract what
    /// it has shown when [`crate::ReplyEvent::Restart`] arrives.
    pub can_retract: bool,
    /// Limit on silence of the model; none for the server's default.
    pub idle_timeout: Option<Duration>,
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must not call a tool.
    None,
    /// The model must call a tool.
    Required,
    /// The model must call this tool.
    Tool(String),
}

impl ModelRequest {
    /// Creates a request with only a conversation.
    pub fn new(model: impl Into<String>, messages: Vec<ChatMessage>) -> Self {
        Self {
            model: model.into(),
            messages,
            tools: Arc::new([]),
            choice: ToolChoice::Auto,
            max_tokens: None,
            temperature: None,
            effort: None,
            schema: None,
            text_tool_calls: false,
            cannot_shorten: false,
            can_retract: true,
            idle_timeout: None,
        }
    }
}
