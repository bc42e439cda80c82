//! Interpreters that remember: Python, Node, bash, and SQL on SQLite.
//!
//! Each is a program that runs where the session's commands run. A small
//! driver in it takes code and tells what came of it; what the code itself
//! writes comes on the same streams, and `frames` keeps the two apart.

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
