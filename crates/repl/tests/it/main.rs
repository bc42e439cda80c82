//! Interpreters with their real programs.
#![allow(clippy::unwrap_used)]

mod bash;
mod bench;
mod faults;
mod node;
mod python;
mod rich;
mod sql;
