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

mod mount_aliases;
mod approvals;
mod nearby_secrets;
mod git_settings;
mod service_clients;
mod inline_code;
mod confine;
mod connections;
mod policy_file;
mod error;
mod path_cache;
mod globs;
mod git_history;
mod judge;
mod level;
mod linked_places;
mod cwd_independent;
mod missing_programs;
mod approved_writes;
mod pattern;
mod permissions;
mod place_tree;
mod profile;
mod protected_places;
mod git_push;
mod config_node;
mod argument_spellings;
mod repositories;
mod rules;
mod wildcard_places;
mod sensitive_places;
mod scan_cache;
mod sources;
mod glob_targets;
mod suggest;
mod views;
mod sandbox_overrides;

pub use approvals::{
    ReviewOpinion, ApprovalReviewer, SavedRule, SavedRules, SmartApprover, ApprovalTicket, TicketError, TicketStore,
    ApprovalUnit,
};
pub use service_clients::ServiceClients;
pub use policy_file::{RuleExpectation, PolicyFile};
pub use error::PolicyError;
pub use judge::{CallExamination, PolicyFinding};
pub use level::{PolicyAnswer, PolicyLevel, RuleOrigin, ScopeRestriction, PolicyRule, ResourceSelectors};
pub use missing_programs::ProgramLookup;
pub use pattern::{PathVariables, fold_path};
pub use permissions::{ApprovalMode, EnforcementMode, PermissionPolicy, RegistryLookup, SandboxCheck, EnforcementSettings};
pub use profile::{PermissionProfile, SandboxPolicy};
pub use sensitive_places::{PlaceProtection, ProtectedKind, SensitivePlaces};
pub use sources::{MissingSandbox, ProfileSummary, SandboxDefaults, PolicySources};
pub use suggest::{ObservedCall, suggest_profile};
