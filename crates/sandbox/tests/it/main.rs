//! Real children that try what they may and what they may not.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod bubblewrap;
mod files;
mod launching;
mod network;
mod ordinary;
mod processes;
mod spawning;
mod support;
