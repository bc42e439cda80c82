//! The code tools through the whole engine.
#![allow(clippy::unwrap_used)]

mod bounds;
mod checks;
mod contract;
mod format;
mod lint;
mod test;
