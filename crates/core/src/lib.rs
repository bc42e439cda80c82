//! The contracts of hermes: what a tool is, what a call and its result are,
//! what a call may do, and what a tool is handed while it runs.
//!
//! Tool authors compile against this crate and nothing else. A tool is a type
//! that implements [`Tool`]; the engine sees it through [`DynTool`], to which
//! it is erased exactly once, when it is registered.

mod answers;
mod approval;
mod availability;
mod output_limits;
mod call;
mod checkpoint;
mod clarify;
mod confinement;
mod context;
mod effect;
mod error;
mod grants;
mod engine_handle;
mod network;
mod notice;
mod output;
mod password;
mod ports;
mod session;
pub mod similar;
mod spec;
mod taint;
mod tool;

pub use answers::answer_schema;
pub use approval::{
    ApprovalRequest, Approver, ApprovalDecision, ApprovalScope, Policy, CallProposal, Ruling, UNRESOLVABLE_PATH_RULE, Verdict,
};
pub use availability::Availability;
pub use output_limits::OutputLimits;
pub use call::{CallArguments, EffectDisposition, CallStatus, ToolCall, ToolResult};
pub use checkpoint::{
    CheckpointId, CheckpointSummary, CheckpointHooks, PendingChange, PathState, FileWritten, ChangeReporter, CheckpointReader,
};
pub use clarify::UserPrompter;
pub use confinement::{PendingSecrets, ChildLimits, Confinement, PartialDir, OverlayMount, HostService};
pub use context::{ProgressUpdate, ProgressSink, ToolContext, WorkingDir, is_normalized};
pub use effect::{AccessMode, Effect, Resource, Scope, ShellScript, excerpt};
pub use error::{ErrorKind, ToolError};
pub use grants::{GrantExceptions, Grant, Grants};
pub use engine_handle::{ToolMatch, EngineHandle};
pub use network::{
    ClientProcess, ConnectionJudge, ConnectionKind, ConnectionRecord, ConnectionRefusal,
    ConnectionRequest, ConnectionVerdict, NetworkDestination, NetworkMode, SessionNetworks,
};
pub use notice::{ProcessEvent, ProcessNotice, NoticeQueue, NoticeSink};
pub use output::{Attachment, CallEnding, ToolOutput, tool_error, tool_result};
pub use password::PasswordPrompter;
pub use ports::Ports;
pub use session::{MemorySessionStore, Session, SessionError, SessionStore, EnvOverrides};
pub use spec::{ToolAlias, ToolAnnotations, ToolExample, ResultLimit, ToolSpec};
pub use taint::Taint;
pub use tool::{BoundCall, BoxFuture, DynTool, SchemaOverride, Tool, erase};

// What a tool author needs besides, so that one dependency is enough.
pub use schemars::JsonSchema;
pub use tokio_util::sync::CancellationToken;
