//! The files crate through its public door, with real links and real races.

#![allow(clippy::unwrap_used)]

mod harness;
mod race;
mod reading;
mod real;
mod removing;
mod writing;
