//! What a call can know of the agent that makes it.

use std::fmt;
use std::sync::Arc;

use hermes_llm::{LanguageModel, TokenUsage};

use crate::agent::Manner;
use crate::budget::Budget;
use crate::journal::{Entry, Journal};
use crate::watcher::Watcher;

/// The agent that a call is made by: a port of its calls, for tools that make
/// agents in turn. Calls of anybody else have none.
#[derive(Clone)]
pub struct Standing {
    /// What it may use.
    pub budget: Budget,
    /// How many agents are above it.
    pub depth: u8,
    /// The model that answers it.
    pub model: Arc<dyn LanguageModel>,
    /// How it goes about its work.
    pub manner: Manner,
    /// Who watches it.
    pub watcher: Arc<dyn Watcher>,
    /// Where what happens is written down.
    pub journal: Arc<dyn Journal>,
}

impl Standing {
    /// A model took this for the agent, in no session of its own.
    pub fn spend(&self, usage: TokenUsage) {
        self.budget.spend_usage(usage);
        // What cannot be written down is noticed when the result is.
        let _ = self.journal.write(Entry::Spent(&usage));
    }
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing")
            .field("depth", &self.depth)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
