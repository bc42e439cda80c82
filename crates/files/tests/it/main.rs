//! The files crate through its public door, with real links and real races.

#![allow(clippy::unwrap_used)]

mod changing;
mod filling;
mod harness;
mod holding;
mod keeping;
mod killing;
mod race;
mod reading;
mod real;
mod removing;
mod writing;
