//! Runs scripts that call tools: the module that a script imports, the
//! transport for its calls, and its limits.
//!
//! [`ScriptRunner`] runs a [`ScriptRequest`] where the session's commands run.
//! On this machine, tool calls arrive on a Unix socket in a private directory.
//! On another backend, a bridge in the script's language listens there and
//! multiplexes all calls over one connection. Every call passes through the
//! session's host, and so through the whole pipeline.

mod bridge;
mod callable_tools;
mod dispatcher;
mod frames;
mod interpreter;
mod js_syntax;
mod limits;
mod outcome;
mod run;
mod script_dir;
mod socket;
mod stubs;
mod token;

pub use limits::{ScriptLanguage, ScriptLimits, ScriptMode};
pub use outcome::{ScriptOutcome, ScriptStatus};
pub use run::{ScriptRequest, ScriptRunner};
