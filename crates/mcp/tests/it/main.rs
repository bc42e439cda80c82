//! Both halves, each with a foreign implementation at the other end.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod client;
