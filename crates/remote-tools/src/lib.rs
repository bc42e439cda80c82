//! Tools that work in another place: where the commands run, with its files.
//!
//! The tools themselves run there, in a small server that is this very program
//! ([`serve`]). It is put there once ([`RemoteHostSettings`]) and started once
//! ([`RemoteToolHost`]); a call and its answer are a message each, so a call is one
//! trip, however much it has to look at. [`over_there`] makes a tool of this
//! program one that runs there.
//!
//! ```text
//! here                                        there
//! engine ─ over_there(tool) ─ Hands ══ sh ══ serve ─ tool ─ its files
//!            judged, granted            held to the grants, links followed
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
