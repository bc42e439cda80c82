//! Tools of other programs, and ours for other programs, by the Model Context Protocol.

pub mod client;
pub mod server;
