//! Approvals that were given: for a session, permanently, or for a single call
//! when no approver was available.

mod approval_unit;
mod saved;
mod smart;
mod tickets;

pub use approval_unit::ApprovalUnit;
pub use saved::{SavedRule, SavedRules};
pub use smart::{ApprovalReviewer, ReviewOpinion, SmartApprover};
pub use tickets::{ApprovalTicket, TicketError, TicketStore};

pub(crate) use approval_unit::command_identity;
pub(crate) use tickets::call_fingerprint;
