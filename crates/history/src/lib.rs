//! Conversations in SQLite: kept as they happen, found again.
//!
//! [`Store`] writes: a session begins, messages are appended (each has
//! survived a kill when the call returns), some are undone, older ones are
//! folded into a summary. [`Reader`] never writes: it lists sessions, reads
//! them, and searches them. Any number of processes may do both at once.

mod discover;
mod door;
mod error;
mod index;
mod moment;
mod query;
mod reader;
mod record;
mod rows;
mod schema;
mod search;
mod snippet;
mod store;
mod summary;
mod words;

pub use discover::{Discovery, Found};
pub use door::History;
pub use error::HistoryError;
pub use jiff::Timestamp;
pub use moment::{local, moment};
pub use reader::{Listing, Reader, Span};
pub use record::{Beginning, Kept, Kinship, Parent, SessionInfo, Standing};
pub use search::{Hit, Query, Results, Sort};
pub use store::{Deleted, Store, Undone, new_id};
pub use summary::Summaries;

/// The name of the file in the home folder.
pub const FILE: &str = "sessions.db";
