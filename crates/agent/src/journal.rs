//! Where a conversation is written down, before it has effects.

use std::fmt;

use hermes_llm::{ChatMessage, TokenUsage};

/// Something that is written down.
#[derive(Debug, Clone, Copy)]
pub enum JournalEntry<'a> {
    /// A message was added.
    Message(&'a ChatMessage),
    /// A result takes the place of the one that was added for its call, and
    /// stands at the end.
    Revised(&'a ChatMessage),
    /// What came before is from now on stood for by these; it is kept, but no
    /// longer sent.
    Compressed(&'a [ChatMessage]),
    /// The model took this for something that is no message: a summary, an
    /// answer that was asked for again.
    Spent(&'a TokenUsage),
}

/// What happened cannot be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalError(pub String);

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The session cannot be written: {}", self.0)
    }
}

impl std::error::Error for JournalError {}

/// Where a conversation is written down. What was written has survived a kill
/// when this returns.
pub trait ConversationJournal: Send + Sync {
    /// Writes it down.
    fn write(&self, entry: JournalEntry<'_>) -> Result<(), JournalError>;
}

/// It is not written down.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullJournal;

impl ConversationJournal for NullJournal {
    fn write(&self, _: JournalEntry<'_>) -> Result<(), JournalError> {
        Ok(())
    }
}
