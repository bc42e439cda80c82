//! Tools that run on the host of an execution backend, with its files.
//!
//! The tools run there in a small server, which is this same program
//! ([`serve`]). It is installed once ([`RemoteHostSettings`]) and started once
//! ([`RemoteToolHost`]). A call and its result are one message each, so a call
//! takes one round trip, however many files it reads. [`remote_tool`] turns a
//! tool of this program into one that runs there.
//!
//! ```text
//! local                                                remote
//! engine ─ remote_tool(tool) ─ RemoteToolHost ══ sh ══ serve ─ tool ─ its files
//!            judged, granted                           held to the grants, symlinks resolved
//! ```

mod bundle;
mod client;
mod closed_paths;
mod connection;
mod grant_resolver;
mod install_scripts;
mod server;
mod tool;
mod wire;

pub use client::{RemoteHostSettings, RemoteToolHost};
pub use server::serve;
pub use tool::remote_tool;
