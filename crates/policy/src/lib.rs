//! Who may do what: profiles in `hermes_permissions.yaml`, rules for paths,
//! hosts and commands, and the answers that people gave.
//!
//! ```text
//! File (yaml) ─ Profile ─ Level ─ Rule, Restriction      what is written
//! Permissions ─ examine ─ Examination ─ Finding          what it means for a call
//!      └─ Ruling: verdict, grants, confinement           what the engine is told
//! ```
//!
//! The strictest finding counts: deny over ask over allow. Levels (the
//! profile, the rules for all profiles, the project's own file, a tool's, a
//! parameter's) are heard one by one, so that each can only narrow the others.

mod aliases;
mod approvals;
mod around;
mod bookkeeping;
mod clients;
mod code;
mod confine;
mod document;
mod error;
mod glances;
mod globs;
mod history;
mod hosts;
mod judge;
mod level;
mod loose;
mod openings;
mod pattern;
mod permissions;
mod profile;
mod push;
mod reader;
mod readings;
mod repositories;
mod rules;
mod scattered;
mod sensitive;
mod sightings;
mod sources;
mod strays;
mod suggest;
mod wishes;

pub use approvals::{
    ReviewOpinion, Reviewer, SavedRule, SavedRules, SmartApprover, Ticket, TicketError, Tickets,
    Unit,
};
pub use clients::Clients;
pub use document::{Expectation, File};
pub use error::PolicyError;
pub use hosts::{Reach, reach};
pub use judge::{Examination, Finding};
pub use level::{Answer, Level, Origin, Restriction, Rule, Selectors};
pub use pattern::{Places, fold};
pub use permissions::{ApprovalMode, Mode, Permissions, SandboxCheck, Settings};
pub use profile::{Profile, SandboxSettings};
pub use sensitive::Sensitive;
pub use sources::{Named, Sources};
pub use suggest::{Observed, suggest};
