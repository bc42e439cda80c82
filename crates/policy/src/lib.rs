//! Permission policy: profiles in `hermes_permissions.yaml`, rules for paths,
//! hosts and commands, and the approvals that users gave.
//!
//! ```text
//! PolicyFile (yaml) ─ PermissionProfile ─ PolicyLevel ─ rules      what is written
//! PermissionPolicy ─ CallExamination ─ PolicyFinding               what it means for a call
//!      └─ Ruling: verdict, grants, confinement                     what the engine gets
//! ```
//!
//! The strictest finding counts: deny over ask over allow. Each level (the
//! profile, the global rules, the project's own file, a tool's rules, a
//! parameter's rules) is judged separately, so it can only narrow the others.

mod analyzer;
mod approvals;
mod approved_writes;
mod argument_spellings;
mod command_writes;
mod config_node;
mod confine;
mod connections;
mod cwd_independent;
mod error;
mod git_history;
mod git_push;
mod git_settings;
mod glob_expansion;
mod glob_targets;
mod globs;
mod inline_code;
mod judge;
mod level;
mod linked_places;
mod missing_programs;
mod mount_aliases;
mod nearby_secrets;
mod path_cache;
mod pattern;
mod permissions;
mod place_tree;
mod policy_file;
mod profile;
mod repositories;
mod rules;
mod sandbox_overrides;
mod scan_cache;
mod sensitive_places;
mod service_clients;
mod sources;
mod suggest;
mod views;
mod wildcard_places;

pub use analyzer::ShellAnalyzer;
pub use approvals::{
    ApprovalReviewer, ApprovalTicket, ApprovalUnit, ReviewOpinion, SavedRule, SavedRules,
    SmartApprover, TicketError, TicketStore,
};
pub use error::PolicyError;
pub use judge::{CallExamination, PolicyFinding};
pub use level::{
    PolicyAnswer, PolicyLevel, PolicyRule, ResourceSelectors, RuleOrigin, ScopeRestriction,
};
pub use missing_programs::ProgramLookup;
pub use pattern::{PathVariables, fold_path};
pub use permissions::{
    ApprovalMode, EnforcementMode, EnforcementSettings, PermissionPolicy, RegistryLookup,
    SandboxCheck,
};
pub use policy_file::{PolicyFile, RuleExpectation};
pub use profile::{PermissionProfile, SandboxPolicy};
pub use sensitive_places::{PlaceProtection, ProtectedKind, SensitivePlaces};
pub use service_clients::ServiceClients;
pub use sources::{MissingSandbox, PolicySources, ProfileSummary, SandboxDefaults};
pub use suggest::{ObservedCall, suggest_profile};
