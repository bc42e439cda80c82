//! The tool engine: the registry of tools, and the pipeline that runs a call.
//!
//! ```text
//! Engine ── ToolRegistry ─ RegistrySnapshot ─ ToolEntry        registered tools
//!    │  └─ ToolsetCatalog, ToolDefinitions, ToolSearchIndex    what a model sees
//!    └─ dispatch ─ BatchContext ─ pipeline stages              the path of a call
//! ```

mod availability;
mod batch;
mod bridge;
mod caller;
mod definitions;
pub mod distributions;
mod engine;
mod engine_handle;
mod entry;
mod hooks;
mod loop_guard;
mod observer;
mod pipeline;
mod record;
mod registry;
mod sanitize;
mod search;
mod secret_source;
mod spill;
pub mod tool_names;
mod tool_words;
pub mod toolsets;

pub use availability::{
    AVAILABILITY_TTL, AvailabilityCache, CHECK_TIMEOUT, EnvLookup, FAILURE_GRACE,
};
pub use caller::Caller;
pub use definitions::{DeferMode, DeferralSettings, ToolDefinitions, ToolScope};
pub use engine::{
    AllowAll, CallPreview, DEFAULT_APPROVAL_TIMEOUT, DEFAULT_TIMEOUT, DenyAll, Engine,
    EngineBuilder, SearchLimits,
};
pub use entry::ToolEntry;
pub use hooks::{CallView, Hook, HookDecision, Hooks, ResultView};
pub use loop_guard::{LoopGuardSettings, LoopThresholds};
pub use observer::{CallEvent, CallObserver, CallStarted};
pub use record::{CallRecord, status_name};
pub use registry::{
    BRIDGE_TOOLSET, RESERVED_TOOL_NAMES, RegistryEdit, RegistryError, RegistrySnapshot, ToolOwner,
    ToolRegistry, ToolSource, is_valid_tool_name,
};
pub use sanitize::{sanitize_error, strip_framing};
pub use search::ToolSearchIndex;
pub use secret_source::SecretSource;
pub use spill::{ResultSizeLimits, SpillStore};
