//! Conversation journal backed by a session of the history store.

use std::collections::HashSet;
use std::sync::Arc;

use hermes_history::HistoryStore;
use parking_lot::Mutex;

use crate::journal::{ConversationJournal, JournalEntry, JournalError};

/// Journals a conversation as a session of the history. Clones share one
/// journal.
#[derive(Debug, Clone)]
pub struct SessionJournal {
    store: Arc<HistoryStore>,
    session: Arc<str>,
    /// Id of the last message when the conversation was loaded.
    last_known_id: i64,
    /// Ids written since. Another process may write to the session too, and a
    /// summary must not replace messages that its writer has not seen.
    own_ids: Arc<Mutex<HashSet<i64>>>,
}

impl SessionJournal {
    /// Creates a journal for a new session.
    pub fn new(store: Arc<HistoryStore>, session: impl Into<Arc<str>>) -> Self {
        Self::resume_after(store, session, 0)
    }

    /// Creates a journal for a session resumed after the message with id
    /// `before`.
    pub fn resume_after(
        store: Arc<HistoryStore>,
        session: impl Into<Arc<str>>,
        before: i64,
    ) -> Self {
        Self { store, session: session.into(), last_known_id: before, own_ids: Arc::default() }
    }

    /// Returns the session id.
    pub fn session(&self) -> &str {
        &self.session
    }
}

impl ConversationJournal for SessionJournal {
    fn write(&self, entry: JournalEntry<'_>) -> Result<(), JournalError> {
        let mut own = self.own_ids.lock();
        let written = match entry {
            JournalEntry::Message(message) => {
                self.store.append(&self.session, message).map(|id| own.extend([id]))
            }
            JournalEntry::Revised(message) => {
                self.store.replace_result(&self.session, message).map(|id| own.extend([id]))
            }
            JournalEntry::Compressed(messages) => {
                let is_known = |id: i64| id <= self.last_known_id || own.contains(&id);
                let new = self.store.compress(&self.session, messages, &is_known);
                new.map(|new| own.extend(new))
            }
            JournalEntry::Spent(usage) => self.store.add_usage(&self.session, usage),
        };
        written.map_err(|error| JournalError(format!("{error}. {}", error.hint())))
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
