//! Interpreters with their real programs.
#![allow(clippy::print_stderr, clippy::unwrap_used)]

mod bash;
mod bench;
mod elsewhere;
mod faults;
mod node;
mod python;
mod rich;
mod sql;
