//! Model Context Protocol: a client for the tools of other programs, and a
//! server for the tools of this one.

pub mod client;
pub mod server;
