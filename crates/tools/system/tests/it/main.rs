//! The system tools through the whole engine.
#![allow(clippy::unwrap_used)]

mod batches;
mod contract;
mod terminal;
