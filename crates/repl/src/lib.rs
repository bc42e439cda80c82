//! Interpreters that remember: Python, Node, bash, and SQL on SQLite.
//!
//! Each is a program that runs where the session's commands run. A small
//! driver in it takes code and tells what came of it; what the code itself
//! writes comes on the same streams, and `frames` keeps the two apart.

mod result;
mod frames;
mod interpreter;
mod language;
mod limits;
mod images;
mod sessions;
mod start;
mod exchange;
mod sandbox_check;

pub use result::{ReplResult, CodeError, RenderedValue, ReplStatus, CapturedOutput};
pub use language::ReplLanguage;
pub use limits::ReplLimits;
pub use images::SavedImage;
pub use sessions::{RunRequest, InterpreterPool, ListedInterpreter, EnvProvider, InterruptOutcome};
