//! The agent: a conversation with a model that has tools.
//!
//! An [`Agent`] holds a conversation. A turn begins with what the user says
//! and ends with an answer that asks for no more tools, or with a reason why
//! there is none ([`Outcome`]). Whatever happens on the way is shown to a
//! [`Watcher`] and written down in a [`Journal`] before it has effects.

mod agent;
mod aside;
mod budget;
mod conversation;
mod guidance;
mod history;
mod interrupt;
mod journal;
mod ledger;
mod listen;
mod mend;
mod outcome;
mod picture;
mod prompt;
mod room;
mod spoken;
mod standing;
mod turn;
mod watcher;

pub use agent::{Agent, Makeup, Manner, Reminder};
pub use budget::{Allowance, Budget, Spent};
pub use conversation::Conversation;
pub use guidance::{Gate, Guidance, reading};
pub use history::SessionJournal;
pub use interrupt::{Interrupt, Level};
pub use journal::{Entry, Journal, JournalError, NoJournal};
pub use mend::mend;
pub use outcome::{End, Outcome};
pub use picture::picture;
pub use prompt::Prompt;
pub use standing::Standing;
pub use watcher::{Nobody, Notice, Watcher};
