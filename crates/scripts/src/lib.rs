//! Scripts that call tools: the module that they import, the door that their
//! calls come through, and the bounds that they are held to.
//!
//! [`ScriptRunner`] runs a [`ScriptRequest`] where the session's commands run. On this
//! machine its calls come through a Unix socket in a folder of its own; in
//! another place a bridge of the script's own interpreter listens there and
//! carries them on one trip. Every call goes on to the session's host, that
//! is, through the whole pipeline.

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
