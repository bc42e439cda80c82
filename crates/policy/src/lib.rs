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
mod connections;
mod document;
mod error;
mod glances;
mod globs;
mod history;
mod judge;
mod level;
mod linked_places;
mod loose;
mod missing_programs;
mod openings;
mod pattern;
mod permissions;
mod place_tree;
mod profile;
mod protected_places;
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
mod views;
mod wishes;

pub use approvals::{
    ReviewOpinion, Reviewer, SavedRule, SavedRules, SmartApprover, Ticket, TicketError, Tickets,
    Unit,
};
pub use clients::Clients;
pub use document::{Expectation, File};
pub use error::PolicyError;
pub use judge::{Examination, Finding};
pub use level::{Answer, Level, Origin, Restriction, Rule, Selectors};
pub use missing_programs::ProgramLookup;
pub use pattern::{Places, fold};
pub use permissions::{ApprovalMode, Mode, Permissions, RegistryLookup, SandboxCheck, Settings};
pub use profile::{Profile, SandboxSettings};
pub use sensitive::{PlaceProtection, ProtectedKind, Sensitive};
pub use sources::{MissingSandbox, Named, SandboxDefaults, Sources};
pub use suggest::{Observed, suggest};
