//! The agent: a conversation with a model that has tools.
//!
//! An [`Agent`] holds a conversation. A turn begins with what the user says
//! and ends with an answer that asks for no more tools, or with a reason why
//! there is none ([`TurnOutcome`]). Whatever happens on the way is shown to a
//! [`AgentObserver`] and written down in a [`ConversationJournal`] before it has effects.

mod agent;
mod oversized_input;
mod budget;
mod conversation;
mod guidance;
mod history;
mod interrupt;
mod journal;
mod result_journal;
mod reply_stream;
mod history_repair;
mod outcome;
mod images;
mod prompt;
mod compaction;
mod text_calls;
mod parent_agent;
mod turn;
mod observer;

pub use agent::{Agent, AgentParts, ModelParams, SessionReminder};
pub use budget::{BudgetLimits, AgentBudget, BudgetUsage};
pub use conversation::Conversation;
pub use guidance::{ReadGate, ProjectGuidance, policy_read_gate};
pub use history::SessionJournal;
pub use interrupt::{InterruptHandle, InterruptScope};
pub use journal::{JournalEntry, ConversationJournal, JournalError, NullJournal};
pub use history_repair::repair_history;
pub use outcome::{TurnEnd, TurnOutcome};
pub use images::load_image;
pub use prompt::SystemPrompt;
pub use parent_agent::ParentAgent;
pub use observer::{NullObserver, AgentEvent, AgentObserver};
