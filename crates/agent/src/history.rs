//! A journal that is a session of the history.

use std::sync::Arc;

use hermes_history::Store;

use crate::journal::{Entry, Journal, JournalError};

/// Writes a conversation down as a session of the history.
#[derive(Debug, Clone)]
pub struct SessionJournal {
    store: Arc<Store>,
    session: Arc<str>,
}

impl SessionJournal {
    /// For a session that has begun.
    pub fn new(store: Arc<Store>, session: impl Into<Arc<str>>) -> Self {
        Self { store, session: session.into() }
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        &self.session
    }
}

impl Journal for SessionJournal {
    fn write(&self, entry: Entry<'_>) -> Result<(), JournalError> {
        let written = match entry {
            Entry::Message(message) => self.store.append(&self.session, message).map(drop),
            Entry::Revised(message) => self.store.revise(&self.session, message).map(drop),
            Entry::Compressed(messages) => self.store.compress(&self.session, messages),
            Entry::Spent(usage) => self.store.spend(&self.session, usage),
        };
        written.map_err(|error| JournalError(format!("{error}. {}", error.hint())))
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
