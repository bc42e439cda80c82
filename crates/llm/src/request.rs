//! What is asked of a model.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::message::Message;

/// What is asked of a model.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model, as its server names it.
    pub model: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools that it may ask for: name, description and parameters each,
    /// as `{"type":"function","function":{…}}`.
    pub tools: Arc<[Value]>,
    /// Whether it must ask for one.
    pub choice: Choice,
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
    pub speaks_calls: bool,
    /// Whether the conversation cannot be made shorter: a model that finds it
    /// too long is passed over, if there is another.
    pub is_shortest: bool,
    /// Whether an answer that breaks off may begin anew: what was shown of it
    /// can be taken back, which [`crate::Event::Again`] asks for.
    pub takes_back: bool,
    /// How long it may be silent; none is as long as is usual for its server.
    pub patience: Option<Duration>,
}

/// Whether a model may ask for tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Choice {
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

impl Request {
    /// A request with nothing but a conversation.
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Self {
            model: model.into(),
            messages,
            tools: Arc::new([]),
            choice: Choice::Auto,
            max_tokens: None,
            temperature: None,
            effort: None,
            schema: None,
            speaks_calls: false,
            is_shortest: false,
            takes_back: true,
            patience: None,
        }
    }
}
