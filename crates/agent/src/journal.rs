//! Write-ahead journal of a conversation.

use std::fmt;

use hermes_llm::{ChatMessage, TokenUsage};

/// Entry of a conversation journal.
#[derive(Debug, Clone, Copy)]
pub enum JournalEntry<'a> {
    /// A message was appended.
    Message(&'a ChatMessage),
    /// A result replaces the earlier one of its call and moves to the end.
    Revised(&'a ChatMessage),
    /// These messages replace all earlier ones, which are kept but no longer
    /// sent.
    Compressed(&'a [ChatMessage]),
    /// Token usage that belongs to no message, such as that of a summary or a
    /// discarded reply.
    Spent(&'a TokenUsage),
}

/// The journal could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalError(pub String);

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cannot write the session: {}", self.0)
    }
}

impl std::error::Error for JournalError {}

/// Journal of a conversation. Entries survive a kill once `write` returns.
pub trait ConversationJournal: Send + Sync {
    /// Writes an entry.
    fn write(&self, entry: JournalEntry<'_>) -> Result<(), JournalError>;
}

/// A journal that discards all entries.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullJournal;

impl ConversationJournal for NullJournal {
    fn write(&self, _: JournalEntry<'_>) -> Result<(), JournalError> {
        Ok(())
    }
}
