//! Behaviour of the crate through its public door.

#![allow(clippy::unwrap_used)]

mod generators;
mod laws;
mod vectors;
