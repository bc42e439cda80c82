//! Answers that were given: for a session, for good, or for one call while
//! nobody could be asked.

mod saved;
mod smart;
mod tickets;
mod unit;

pub use saved::{SavedRule, SavedRules};
pub use smart::{Opinion as ReviewOpinion, Reviewer, SmartApprover};
pub use tickets::{Ticket, TicketError, Tickets};
pub use unit::Unit;

pub(crate) use tickets::{fingerprint, now_ms};
pub(crate) use unit::identity;
