//! The agent: a conversation with a model that has tools.
//!
//! An [`Agent`] holds a conversation. A turn begins with what the user says
//! and ends with an answer that asks for no more tools, or with a reason why
//! there is none ([`TurnOutcome`]). Whatever happens on the way is shown to a
//! [`AgentObserver`] and written down in a [`ConversationJournal`] before it has effects.

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
