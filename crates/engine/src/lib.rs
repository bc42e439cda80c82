//! The engine of hermes: which tools there are, how a call reaches one, and
//! what is done before, around and after it.
//!
//! ```text
//! Engine ── Registry ─ Snapshot ─ Entry        who can be called
//!    │  └─ Toolsets, Definitions, Index        what a model is told
//!    └─ dispatch ─ Flight ─ pipeline stages    the way of a call
//! ```

mod availability;
mod batch;
mod bridge;
mod caller;
mod definitions;
pub mod distributions;
mod command_writes;
mod engine;
mod entry;
mod side_effects;
mod loop_guard;
mod hooks;
mod host;
pub mod tool_names;
mod observer;
mod glob_expansion;
mod pipeline;
mod record;
mod registry;
mod sanitize;
mod search;
mod secret_source;
mod spill;
pub mod toolsets;

pub use availability::{AvailabilityCache, FAILURE_GRACE, EnvLookup, CHECK_TIMEOUT, AVAILABILITY_TTL};
pub use caller::Caller;
pub use definitions::{DeferMode, DeferralSettings, ToolDefinitions, ToolScope};
pub use engine::{
    AllowAll, DEFAULT_APPROVAL_TIMEOUT, DEFAULT_TIMEOUT, Engine, EngineBuilder, CallPreview,
    SearchLimits,
};
pub use entry::ToolEntry;
pub use loop_guard::{LoopThresholds, LoopGuardSettings};
pub use hooks::{CallView, Hook, Hooks, HookDecision, ResultView};
pub use observer::{CallStarted, CallObserver};
pub use record::{CallRecord, CallRecorder, status_name};
pub use registry::{
    BRIDGE_TOOLSET, RegistryEdit, ToolSource, ToolOwner, RESERVED_TOOL_NAMES, ToolRegistry, RegistryError, RegistrySnapshot, is_valid_tool_name,
};
pub use sanitize::{sanitize_error, strip_framing};
pub use search::ToolSearchIndex;
pub use secret_source::SecretSource;
pub use spill::{ResultSizeLimits, SpillStore};
