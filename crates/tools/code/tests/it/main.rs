//! The code tools through the whole engine.
#![allow(clippy::print_stderr, clippy::unwrap_used)]

mod bounds;
mod checks;
mod contract;
mod debug;
mod execute_code;
mod format;
mod lint;
mod repl;
mod test;
mod test_choice;
