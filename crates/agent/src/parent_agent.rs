//! The agent that makes a call, as its tools see it.

use std::fmt;
use std::sync::Arc;

use hermes_llm::{LanguageModel, TokenUsage};

use crate::agent::ModelParams;
use crate::budget::AgentBudget;
use crate::journal::{ConversationJournal, JournalEntry};
use crate::observer::AgentObserver;

/// The agent that makes a call: a port for tools that start sub-agents. Calls
/// not made by an agent have none.
#[derive(Clone)]
pub struct ParentAgent {
    /// Budget of the agent.
    pub budget: AgentBudget,
    /// Number of ancestor agents.
    pub depth: u8,
    /// Model that generates the agent's replies.
    pub model: Arc<dyn LanguageModel>,
    /// Parameters of model requests.
    pub params: ModelParams,
    /// Observer of the agent's events.
    pub observer: Arc<dyn AgentObserver>,
    /// Journal of the conversation.
    pub journal: Arc<dyn ConversationJournal>,
    /// The turn of its calls, which the calls of sub-agents belong to.
    pub turn: Arc<str>,
    /// Session of that turn.
    pub turn_session: Arc<str>,
}

impl ParentAgent {
    /// Charges a request made on the agent's behalf without a separate session.
    pub fn spend(&self, usage: TokenUsage) {
        self.budget.spend_usage(usage);
        // A journal failure surfaces when the result is written.
        let _ = self.journal.write(JournalEntry::Spent(&usage));
    }
}

impl fmt::Debug for ParentAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParentAgent")
            .field("depth", &self.depth)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
