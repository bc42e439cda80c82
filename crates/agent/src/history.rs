//! A journal that is a session of the history.

use std::collections::HashSet;
use std::sync::Arc;

use hermes_history::HistoryStore;
use parking_lot::Mutex;

use crate::journal::{ConversationJournal, JournalEntry, JournalError};

/// Writes a conversation down as a session of the history. Clones are the same
/// journal.
#[derive(Debug, Clone)]
pub struct SessionJournal {
    store: Arc<HistoryStore>,
    session: Arc<str>,
    /// The last message that was there when the conversation was read.
    last_known_id: i64,
    /// What was written since: another process may write to the session, too, and
    /// a summary does not stand for what its writer has not seen.
    own_ids: Arc<Mutex<HashSet<i64>>>,
}

impl SessionJournal {
    /// For a session that has just begun.
    pub fn new(store: Arc<HistoryStore>, session: impl Into<Arc<str>>) -> Self {
        Self::resume_after(store, session, 0)
    }

    /// For a session that goes on from this message, by its number.
    pub fn resume_after(
        store: Arc<HistoryStore>,
        session: impl Into<Arc<str>>,
        before: i64,
    ) -> Self {
        Self { store, session: session.into(), last_known_id: before, own_ids: Arc::default() }
    }

    /// The session's id.
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
