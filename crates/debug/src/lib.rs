//! Debugs programs over the Debug Adapter Protocol.
//!
//! A [`DebugSession`] is one program: started on the command backend, stopped
//! at breakpoints, inspected, and ended. Python and Node need no network for
//! that; native programs need `lldb-dap` or a `gdb` that supports the protocol.

mod adapter;
mod breakpoints;
mod client;
mod detect;
mod session;
mod sessions;
mod stack;
mod state;
mod stream;
mod values;
mod wire;

pub use adapter::{DebugAdapter, DebugTarget, LaunchConfig};
pub use breakpoints::{Breakpoint, BreakpointRequest};
pub use detect::{DetectedDebugger, ProgramKind, detect_debugger};
pub use session::{DebugSession, DebuggeeStatus, LaunchContext, ResumeKind};
pub use sessions::{DebugSessions, SessionReservation};
pub use stack::{ExceptionDetails, StackFrame};
pub use state::{ProgramOutput, StopEvent};
pub use values::{DebugVariable, ValueLimits};
