//! What a call can know of the agent that makes it.

use std::fmt;
use std::sync::Arc;

use hermes_llm::{LanguageModel, TokenUsage};

use crate::agent::ModelParams;
use crate::budget::AgentBudget;
use crate::journal::{ConversationJournal, JournalEntry};
use crate::observer::AgentObserver;

/// The agent that a call is made by: a port of its calls, for tools that make
/// agents in turn. Calls of anybody else have none.
#[derive(Clone)]
pub struct ParentAgent {
    /// What it may use.
    pub budget: AgentBudget,
    /// How many agents are above it.
    pub depth: u8,
    /// The model that answers it.
    pub model: Arc<dyn LanguageModel>,
    /// How it goes about its work.
    pub params: ModelParams,
    /// Who watches it.
    pub observer: Arc<dyn AgentObserver>,
    /// Where what happens is written down.
    pub journal: Arc<dyn ConversationJournal>,
}

impl ParentAgent {
    /// A model took this for the agent, in no session of its own.
    pub fn spend(&self, usage: TokenUsage) {
        self.budget.spend_usage(usage);
        // What cannot be written down is noticed when the result is.
        let _ = self.journal.write(JournalEntry::Spent(&usage));
    }
}

impl fmt::Debug for ParentAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing")
            .field("depth", &self.depth)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
