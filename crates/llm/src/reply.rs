//! How a model answers: piece by piece, and what the pieces add up to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A whole answer of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// What it says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The tools that it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RequestedCall>,
    /// What it thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Why it stopped.
    #[serde(default)]
    pub finish: FinishReason,
    /// What it took.
    #[serde(default)]
    pub usage: TokenUsage,
    /// The model that answered, as the server names it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// A tool that a model asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The id of the call; made up here if the server gave none.
    pub id: String,
    /// The tool, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
}

/// What a model thought before it answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// In words, if it says them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What the server wants back unchanged with the next request: signatures,
    /// encrypted pieces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<Value>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It had said all.
    #[default]
    Stop,
    /// It asks for tools.
    Calls,
    /// It may not say more: the answer is cut off.
    Length,
    /// The server held it back.
    Filtered,
    /// It wants to be asked again, to go on.
    Paused,
    /// It wanted to ask for a tool, and its server cannot read how.
    Malformed,
    /// The stream broke off before it said why.
    Broken,
}

/// What a request took, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// What was sent, with what was read from a cache.
    pub input: u64,
    /// What was answered, with what was thought.
    pub output: u64,
    /// Of what was sent: read from a cache.
    pub cache_read: u64,
    /// Of what was sent: written to a cache.
    pub cache_write: u64,
    /// Of what was answered: thought.
    pub reasoning: u64,
    /// What it cost in dollars, if the server says so.
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

/// A piece of an answer, as it comes.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEvent {
    /// The model that answers.
    Model(String),
    /// More of what it says.
    Text(String),
    /// More of what it thinks.
    Thought(String),
    /// A piece that is to be sent back unchanged.
    Opaque(Value),
    /// It begins to ask for a tool.
    Call {
        /// The place of the call among those of the answer.
        index: usize,
        /// Its id, if the server gave one.
        id: Option<String>,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments.
    Arguments {
        /// The place of the call.
        index: usize,
        /// More.
        text: String,
    },
    /// What it took so far; the last one counts.
    Usage(TokenUsage),
    /// Why it stopped. A stream without it broke off.
    Finish(FinishReason),
    /// What came so far is void: the answer begins anew.
    Restart,
    /// Something that the user should know.
    Warning(&'static str),
}

/// Adds the pieces of an answer up.
#[derive(Debug, Default)]
pub struct ReplyBuilder {
    reply: ModelReply,
    calls: BTreeMap<usize, RequestedCall>,
    finish: Option<FinishReason>,
}

impl ReplyBuilder {
    /// Adds a piece.
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

    /// What they add up to. Without a word on why it stopped, it is broken.
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
