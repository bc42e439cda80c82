//! Real children that try what they may and what they may not.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod bubblewrap;
mod files;
mod launching;
mod nested;
mod network;
mod ordinary;
mod outsiders;
mod overlays;
mod processes;
mod replaced;
mod repositories;
mod spawning;
mod support;
mod unprivileged;
mod views;
