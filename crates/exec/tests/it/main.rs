//! Every place where programs run, through the public door.

#![allow(clippy::unwrap_used)]
// A test that is skipped says so.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod contract;
mod docker;
mod faults;
mod local;
mod singularity;
mod ssh;
