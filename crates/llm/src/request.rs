//! What is asked of a model.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::message::ChatMessage;

/// What is asked of a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The model, as its server names it.
    pub model: String,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// The tools that it may ask for: name, description and parameters each,
    /// as `{"type":"function","function":{…}}`.
    pub tools: Arc<[Value]>,
    /// Whether it must ask for one.
    pub choice: ToolChoice,
    /// The most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// How freely it chooses its words.
    pub temperature: Option<f64>,
    /// How hard it thinks: `low`, `medium`, `high`.
    pub effort: Option<String>,
    /// A JSON Schema that the answer must fit.
    pub schema: Option<Value>,
    /// Whether the model asks for tools in its text, having no other way: it is
    /// told of none here, and earlier calls and their results are shown as text.
    pub text_tool_calls: bool,
    /// Whether the conversation cannot be made shorter: a model that finds it
    /// too long is passed over, if there is another.
    pub cannot_shorten: bool,
    /// Whether an answer that breaks off may begin anew: what was shown of it
    /// can be taken back, which [`crate::ReplyEvent::Again`] asks for.
    pub can_retract: bool,
    /// How long it may be silent; none is as long as is usual for its server.
    pub idle_timeout: Option<Duration>,
}

/// Whether a model may ask for tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It may not.
    None,
    /// It must.
    Required,
    /// It must ask for this one.
    Tool(String),
}

impl ModelRequest {
    /// A request with nothing but a conversation.
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
