//! The log through its public door, on real files.
#![allow(clippy::unwrap_used)]

mod folder;
mod following;
mod processes;
mod rotation;
mod tampering;
mod writing;
