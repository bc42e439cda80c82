//! The agent: a conversation with a model that has tools.
//!
//! An [`Agent`] holds a conversation. A turn begins with user input and ends
//! with a reply that requests no more tools, or with the reason why there is
//! none ([`TurnOutcome`]). Every step is reported to an [`AgentObserver`] and
//! written to a [`ConversationJournal`] before it takes effect.

mod agent;
mod budget;
mod compaction;
mod conversation;
mod guidance;
mod history;
mod history_repair;
mod images;
mod interrupt;
mod journal;
mod observer;
mod outcome;
mod oversized_input;
mod parent_agent;
mod prompt;
mod reply_stream;
mod result_journal;
mod text_calls;
mod turn;

pub use agent::{Agent, AgentParts, ModelParams, SessionReminder};
pub use budget::{AgentBudget, BudgetLimits, BudgetUsage};
pub use conversation::Conversation;
pub use guidance::{ProjectGuidance, ReadGate, policy_read_gate};
pub use history::SessionJournal;
pub use history_repair::repair_history;
pub use images::load_image;
pub use interrupt::{InterruptHandle, InterruptScope};
pub use journal::{ConversationJournal, JournalEntry, JournalError, NullJournal};
pub use observer::{AgentEvent, AgentObserver, NullObserver};
pub use outcome::{TurnEnd, TurnOutcome};
pub use parent_agent::ParentAgent;
pub use prompt::SystemPrompt;
