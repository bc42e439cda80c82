//! Model replies: streamed events and the reply they form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A complete reply of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The requested tool calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RequestedCall>,
    /// The reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Why the model stopped.
    #[serde(default)]
    pub finish: FinishReason,
    /// Token usage.
    #[serde(default)]
    pub usage: TokenUsage,
    /// The model that replied, as the server names it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// A tool call that a model requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// Id of the call; generated if the server sent none.
    pub id: String,
    /// The tool, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
}

/// A model's reasoning before its reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The reasoning as text, if the server sends it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Blocks to send back unchanged with the next request: signatures,
    /// encrypted reasoning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<Value>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The reply is complete.
    #[default]
    Stop,
    /// The model requests tool calls.
    Calls,
    /// The reply was truncated at the token limit.
    Length,
    /// The server withheld the reply.
    Filtered,
    /// The model asks for another request to continue.
    Paused,
    /// The model tried to call a tool, and its server cannot parse the call.
    Malformed,
    /// The stream ended without a finish reason.
    Broken,
}

/// Token usage of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// Input tokens, including those read from a cache.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// Output tokens used for reasoning.
    pub reasoning: u64,
    /// Cost in dollars, if known.
    pub cost: Option<f64>,
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
        self.cost = match (self.cost, other.cost) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or_default() + other.unwrap_or_default()),
        };
    }
}

/// An event of a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEvent {
    /// The model that replies.
    Model(String),
    /// More text.
    Text(String),
    /// More reasoning.
    Thought(String),
    /// A block to send back unchanged.
    Opaque(Value),
    /// A tool call starts.
    Call {
        /// Position of the call in the reply.
        index: usize,
        /// Its id, if the server sent one.
        id: Option<String>,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments.
    Arguments {
        /// Position of the call.
        index: usize,
        /// More.
        text: String,
    },
    /// Usage so far; the last one counts.
    Usage(TokenUsage),
    /// Why the model stopped. A stream without it broke off.
    Finish(FinishReason),
    /// The reply restarts: discard everything received so far.
    Restart,
    /// A warning for the user.
    Warning(&'static str),
}

/// Builds a reply from its events.
#[derive(Debug, Default)]
pub struct ReplyBuilder {
    reply: ModelReply,
    calls: BTreeMap<usize, RequestedCall>,
    finish: Option<FinishReason>,
}

impl ReplyBuilder {
    /// Adds an event.
    pub fn add(&mut self, event: &ReplyEvent) {
        match event {
            ReplyEvent::Model(name) => self.reply.model.clone_from(name),
            ReplyEvent::Text(text) => self.reply.text.push_str(text),
            ReplyEvent::Thought(text) => {
                self.reply.reasoning.get_or_insert_default().text.push_str(text);
            }
            ReplyEvent::Opaque(value) => {
                self.reply.reasoning.get_or_insert_default().opaque.push(value.clone());
            }
            ReplyEvent::Call { index, id, name } => {
                let call = self.calls.entry(*index).or_default();
                if let Some(id) = id {
                    call.id.clone_from(id);
                }
                call.name.push_str(name);
            }
            ReplyEvent::Arguments { index, text } => {
                self.calls.entry(*index).or_default().arguments.push_str(text);
            }
            ReplyEvent::Usage(usage) => self.reply.usage = *usage,
            ReplyEvent::Finish(finish) => self.finish = Some(finish.clone()),
            ReplyEvent::Restart => *self = Self::default(),
            ReplyEvent::Warning(_) => {}
        }
    }

    /// Returns the reply, marked broken if there was no finish reason.
    pub fn finish(self) -> ModelReply {
        let mut reply = self.reply;
        reply.calls = self.calls.into_values().collect();
        let asks = !reply.calls.is_empty();
        reply.finish = match self.finish {
            Some(FinishReason::Stop) if asks => FinishReason::Calls,
            Some(finish) => finish,
            None => FinishReason::Broken,
        };
        reply
    }
}
