//! Interpreters that remember: Python, Node, bash, and SQL on SQLite.
//!
//! Each is a program that runs where the session's commands run. A small
//! driver in it takes code and tells what came of it; what the code itself
//! writes comes on the same streams, and `frames` keeps the two apart.

mod answer;
mod frames;
mod interpreter;
mod language;
mod limits;
mod pictures;
mod sessions;
mod start;
mod talk;
mod walls;

pub use answer::{Answer, Failure, Shown, Status, Written};
pub use language::Language;
pub use limits::Limits;
pub use pictures::Picture;
pub use sessions::{Ask, Interpreters, Listed, Own, Stopped};
