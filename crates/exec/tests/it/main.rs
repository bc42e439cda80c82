//! Every place where programs run, through the public door.

#![allow(clippy::unwrap_used)]

mod contract;
mod docker;
mod faults;
mod local;
mod ssh;
