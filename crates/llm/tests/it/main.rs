//! Models against the scripted server.
#![allow(clippy::unwrap_used)]

mod desk;
mod faults;
mod finding;
mod local_model;
mod providers;
mod steady;
