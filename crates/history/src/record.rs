//! Data types of the history: sessions and messages.

use hermes_llm::{ChatMessage, TokenUsage};
use jiff::Timestamp;

/// Properties of a new session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewSession {
    /// Its id; generated if absent.
    pub id: Option<String>,
    /// Where it comes from: `cli`, `run`, `cron`, `subagent`, `batch`, …
    pub source: String,
    /// Its title.
    pub title: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The model in use.
    pub model: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
    /// The parent session.
    pub parent: Option<ParentLink>,
}

/// A link to a parent session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentLink {
    /// Id of the parent.
    pub id: String,
    /// Relation to the parent.
    pub relation: SessionRelation,
}

/// How a session relates to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionRelation {
    /// Does part of the parent's work.
    Delegation,
    /// Continues from a summary of the parent.
    Compression,
    /// Continues from a point of the parent in another direction.
    Branch,
}

impl SessionRelation {
    /// Returns the name stored in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delegation => "delegation",
            Self::Compression => "compression",
            Self::Branch => "branch",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::Delegation, Self::Compression, Self::Branch].into_iter().find(|k| k.name() == name)
    }
}

/// Metadata and totals of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    /// Its id.
    pub id: String,
    /// Where it comes from.
    pub source: String,
    /// Its title.
    pub title: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The model that replied last, or the configured one.
    pub model: Option<String>,
    /// The parent session.
    pub parent: Option<ParentLink>,
    /// When it started.
    pub started: Timestamp,
    /// When it ended, if it has.
    pub ended: Option<Timestamp>,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// Time of the last message.
    pub last_active: Timestamp,
    /// Number of messages, without undone ones.
    pub messages: u64,
    /// Number of requested tool calls.
    pub calls: u64,
    /// Token usage, including undone messages.
    pub usage: TokenUsage,
    /// The beginning of the first user message.
    pub preview: String,
    /// Its row key.
    pub(crate) key: i64,
    /// Row key of the root of its family.
    pub(crate) root: i64,
}

/// State of a stored message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageState {
    /// Part of the conversation sent to the model.
    Live,
    /// Undone.
    Undone,
    /// Replaced by a summary.
    Folded,
    /// A summary of earlier messages.
    Summary,
}

/// A message in the database.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Its id; later messages have higher ids.
    pub id: i64,
    /// When it was added.
    pub at: Timestamp,
    /// Its state.
    pub state: MessageState,
    /// It.
    pub message: ChatMessage,
}

impl StoredMessage {
    /// Returns the role of its author.
    pub fn role(&self) -> &'static str {
        role(&self.message)
    }

    /// For a tool result: the tool's name and the id of its call.
    pub fn answered_call(&self) -> Option<(&str, &str)> {
        match &self.message {
            ChatMessage::Tool(answer) => Some((&answer.name, &answer.call_id)),
            _ => None,
        }
    }

    /// Iterates over the requested calls: id, tool, arguments.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let calls = match &self.message {
            ChatMessage::Assistant(reply) => reply.calls.as_slice(),
            _ => &[],
        };
        calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
    }
}

/// Returns the role of a message's author.
pub(crate) fn role(message: &ChatMessage) -> &'static str {
    match message {
        ChatMessage::System { .. } => "system",
        ChatMessage::User { .. } => "user",
        ChatMessage::Assistant(_) => "assistant",
        ChatMessage::Tool(_) => "tool",
    }
}
