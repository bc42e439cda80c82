//! The system tools through the whole engine.
#![allow(clippy::unwrap_used)]

mod batches;
mod contract;
mod desk;
mod elsewhere;
mod endings;
mod faults;
mod notices;
mod processes;
mod strays;
mod sudo;
mod terminal;
mod waiting;
