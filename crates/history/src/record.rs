//! What is kept: sessions and their messages.

use hermes_llm::{ChatMessage, TokenUsage};
use jiff::Timestamp;

/// How a session begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewSession {
    /// Its id; one is made up if there is none.
    pub id: Option<String>,
    /// Where it comes from: `cli`, `run`, `cron`, `subagent`, `batch`, …
    pub source: String,
    /// What it is called.
    pub title: Option<String>,
    /// The folder that it works in.
    pub cwd: Option<String>,
    /// The model that is asked.
    pub model: Option<String>,
    /// What the model is told before anything else.
    pub system: Option<String>,
    /// The session that it comes from.
    pub parent: Option<ParentLink>,
}

/// The session that another one comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentLink {
    /// Its id.
    pub id: String,
    /// In what way.
    pub relation: SessionRelation,
}

/// In what way a session comes from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionRelation {
    /// It does a part of the other's work.
    Delegation,
    /// It goes on with a summary of the other.
    Compression,
    /// It goes on from a point of the other, another way.
    Branch,
}

impl SessionRelation {
    /// Its name.
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

/// A session in a few words and numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    /// Its id.
    pub id: String,
    /// Where it comes from.
    pub source: String,
    /// What it is called.
    pub title: Option<String>,
    /// The folder that it works in.
    pub cwd: Option<String>,
    /// The model that answered last, or is asked.
    pub model: Option<String>,
    /// The session that it comes from.
    pub parent: Option<ParentLink>,
    /// When it began.
    pub started: Timestamp,
    /// When it ended, if it has.
    pub ended: Option<Timestamp>,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// When something was last said.
    pub last_active: Timestamp,
    /// How many messages it has, without those that were undone.
    pub messages: u64,
    /// How many calls were asked for.
    pub calls: u64,
    /// What it took, with what was undone.
    pub usage: TokenUsage,
    /// The beginning of what the user said first.
    pub preview: String,
    /// Its number in the file.
    pub(crate) key: i64,
    /// The number of the session that the whole family comes from.
    pub(crate) root: i64,
}

/// How a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageState {
    /// It is a part of what is sent.
    Live,
    /// It was taken back.
    Undone,
    /// A summary stands for it.
    Folded,
    /// It is such a summary.
    Summary,
}

/// A message that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Its number; a later message has a higher one.
    pub id: i64,
    /// When it was said.
    pub at: Timestamp,
    /// How it stands.
    pub state: MessageState,
    /// It.
    pub message: ChatMessage,
}

impl StoredMessage {
    /// Who said it.
    pub fn role(&self) -> &'static str {
        role(&self.message)
    }

    /// The tool that answers, and the call that it answers.
    pub fn answered_call(&self) -> Option<(&str, &str)> {
        match &self.message {
            ChatMessage::Tool(answer) => Some((&answer.name, &answer.call_id)),
            _ => None,
        }
    }

    /// The calls that are asked for: id, tool, arguments.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let calls = match &self.message {
            ChatMessage::Assistant(reply) => reply.calls.as_slice(),
            _ => &[],
        };
        calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
    }
}

/// Who said a message.
pub(crate) fn role(message: &ChatMessage) -> &'static str {
    match message {
        ChatMessage::System { .. } => "system",
        ChatMessage::User { .. } => "user",
        ChatMessage::Assistant(_) => "assistant",
        ChatMessage::Tool(_) => "tool",
    }
}
