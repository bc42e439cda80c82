//! Stateful interpreters: Python, Node, bash, and SQL on SQLite.
//!
//! Each is a process that runs where the session's commands run. A small driver
//! in it executes code and reports the result. The output of the code arrives
//! on the same streams; `frames` separates the two.

mod exchange;
mod frames;
mod images;
mod interpreter;
mod language;
mod limits;
mod result;
mod sandbox_check;
mod sessions;
mod start;

pub use images::SavedImage;
pub use language::ReplLanguage;
pub use limits::ReplLimits;
pub use result::{CapturedOutput, CodeError, RenderedValue, ReplResult, ReplStatus};
pub use sessions::{EnvProvider, InterpreterPool, InterruptOutcome, ListedInterpreter, RunRequest};
