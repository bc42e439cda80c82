//! Answers that were given: for a session, for good, or for one call while
//! nobody could be asked.

mod saved;
mod smart;
mod tickets;
mod approval_unit;

pub use saved::{SavedRule, SavedRules};
pub use smart::{ReviewOpinion as ReviewOpinion, ApprovalReviewer, SmartApprover};
pub use tickets::{ApprovalTicket, TicketError, TicketStore};
pub use approval_unit::ApprovalUnit;

pub(crate) use tickets::{call_fingerprint, now_ms};
pub(crate) use approval_unit::command_identity;
