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
mod elsewhere;
mod engine;
mod entry;
mod extent;
mod guard;
mod hooks;
mod host;
pub mod names;
mod onlooker;
mod patterns;
mod pipeline;
mod record;
mod registry;
mod sanitize;
mod search;
mod secrecy;
mod spill;
pub mod toolsets;

pub use availability::{Checks, GRACE, Lookup, PATIENCE, TTL};
pub use caller::Caller;
pub use definitions::{DeferMode, Deferral, Definitions, ToolScope};
pub use engine::{
    AllowAll, DEFAULT_APPROVAL_TIMEOUT, DEFAULT_TIMEOUT, Engine, EngineBuilder, Preview,
    SearchLimits,
};
pub use entry::Entry;
pub use guard::{Counts, GuardSettings};
pub use hooks::{CallView, Hook, Hooks, PreCall, ResultView};
pub use onlooker::{Begun, Onlooker};
pub use record::{Record, Recorder, status_name};
pub use registry::{
    BRIDGE, Edit, Origin, Owner, RESERVED, Registry, RegistryError, Snapshot, is_callable,
};
pub use sanitize::{sanitize_error, strip_framing};
pub use search::Index;
pub use secrecy::Secrets;
pub use spill::{Limits, Spill};
