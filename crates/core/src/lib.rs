//! The contracts of hermes: what a tool is, what a call and its result are,
//! what a call may do, and what a tool is handed while it runs.
//!
//! Tool authors compile against this crate and nothing else. A tool is a type
//! that implements [`Tool`]; the engine sees it through [`DynTool`], to which
//! it is erased exactly once, when it is registered.

mod answers;
mod approval;
mod availability;
mod bounds;
mod call;
mod checkpoint;
mod clarify;
mod confinement;
mod context;
mod effect;
mod error;
mod grants;
mod host;
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
    ApprovalRequest, Approver, Decision, Lasting, Policy, Proposal, Ruling, UNRESOLVABLE, Verdict,
};
pub use availability::Availability;
pub use bounds::OutputBounds;
pub use call::{Arguments, Disposition, Status, ToolCall, ToolResult};
pub use checkpoint::{
    CheckpointId, CheckpointInfo, Checkpoints, Impending, Left, Made, Replacing, Snapshots,
};
pub use clarify::Clarify;
pub use confinement::{Awaited, ChildLimits, Confinement, Enclosed, OverlayMount, Service};
pub use context::{Progress, ProgressSink, ToolContext, Workplace, is_folded};
pub use effect::{Access, Effect, Resource, Scope, Script, excerpt};
pub use error::{ErrorKind, ToolError};
pub use grants::{Exceptions, Grant, Grants};
pub use host::{Found, Host};
pub use network::{
    ClientProcess, ConnectionJudge, ConnectionKind, ConnectionRecord, ConnectionRefusal,
    ConnectionRequest, ConnectionVerdict, Destination, NetworkMode, SessionNetworks,
};
pub use notice::{Event, Notice, NoticeQueue, Notices};
pub use output::{Attachment, Ending, ToolOutput, tool_error, tool_result};
pub use password::Passwords;
pub use ports::Ports;
pub use session::{MemorySessions, Session, SessionError, SessionStore, Variables};
pub use spec::{Alias, Annotations, Example, ResultLimit, ToolSpec};
pub use taint::Taint;
pub use tool::{BoundCall, BoxFuture, DynTool, SchemaOverride, Tool, erase};

// What a tool author needs besides, so that one dependency is enough.
pub use schemars::JsonSchema;
pub use tokio_util::sync::CancellationToken;
