//! The system tools through the whole engine.
#![allow(clippy::unwrap_used)]

mod contract;
mod terminal;
