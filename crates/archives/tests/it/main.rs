//! Archives through their public door: against other programs, against
//! hostile ones, and against themselves.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod harness;
mod hostile;
mod interop;
mod killing;
mod packing;
mod roundtrip;
mod unpacking;
