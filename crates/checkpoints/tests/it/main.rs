//! Checkpoints through their public door: a keeper that is told of calls, and
//! a store that brings files back.
#![allow(clippy::unwrap_used)]

mod account;
mod bench;
mod cutoff;
mod damage;
mod history;
mod ignored;
mod killed;
mod laws;
mod likeness;
mod limits;
mod places;
mod processes;
mod trees;
