//! The contracts of hermes: tools, calls and their results, what a call may do,
//! and what a running tool has access to.
//!
//! Tool authors compile against this crate and nothing else. A tool is a type
//! that implements [`Tool`]; registering it erases it, once, to [`DynTool`],
//! which is what the engine sees.

mod answers;
mod approval;
mod availability;
mod call;
mod checkpoint;
mod clarify;
pub mod clock;
mod command_analyzer;
mod confinement;
mod context;
mod effect;
mod engine_handle;
mod error;
mod grants;
pub mod ids;
mod network;
mod notice;
mod output;
mod output_limits;
mod password;
mod ports;
pub mod protected_places;
mod session;
pub mod similar;
mod spec;
pub mod surrogates;
mod taint;
pub mod text;
mod tool;

pub use answers::answer_schema;
pub use approval::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, CallProposal, InlineCode, Policy,
    Ruling, UNRESOLVABLE_PATH_RULE, Verdict,
};
pub use availability::Availability;
pub use call::{CallArguments, CallStatus, EffectDisposition, ToolCall, ToolResult};
pub use checkpoint::{
    ChangeReporter, CheckpointHooks, CheckpointId, CheckpointReader, CheckpointSummary,
    FileWritten, PathState, PendingChange,
};
pub use clarify::UserPrompter;
pub use command_analyzer::{
    CommandAnalyzer, CommandComparison, CommandWrites, NoAnalyzer, SideEffects,
};
pub use confinement::{
    ChildLimits, Confinement, HostService, OverlayMount, PartialDir, PendingSecrets,
};
pub use context::{ProgressCallback, ProgressUpdate, ToolContext, WorkingDir, is_normalized};
pub use effect::{
    AccessMode, Effect, EnvAssignment, Resource, Scope, ShellScript, approval_excerpt,
};
pub use engine_handle::{EngineHandle, ToolMatch};
pub use error::{ErrorKind, ToolError};
pub use grants::{Grant, GrantExceptions, Grants};
pub use network::{
    ClientProcess, ConnectionJudge, ConnectionKind, ConnectionRecord, ConnectionRefusal,
    ConnectionRequest, ConnectionVerdict, NetworkDestination, NetworkMode, SessionNetworks,
};
pub use notice::{NoticeQueue, NoticeSink, ProcessEvent, ProcessNotice};
pub use output::{Attachment, CallEnding, ToolOutput, tool_error, tool_result};
pub use output_limits::OutputLimits;
pub use password::PasswordPrompter;
pub use ports::Ports;
pub use session::{EnvOverrides, MemorySessionStore, Session, SessionError, SessionStore};
pub use spec::{ResultLimit, ToolAlias, ToolAnnotations, ToolExample, ToolSpec};
pub use taint::Taint;
pub use tool::{BoundCall, BoxFuture, DynTool, SchemaOverride, Tool, erase};

// Re-exports for tool authors, so one dependency is enough.
pub use schemars::JsonSchema;
pub use tokio_util::sync::CancellationToken;
