//! Searches through the public door.
#![allow(clippy::unwrap_used)]

mod content;
mod harness;
mod names;
mod selection;
mod stopping;
