//! Conversations in SQLite: kept as they happen, found again.
//!
//! [`HistoryStore`] writes: a session begins, messages are appended (each has
//! survived a kill when the call returns), some are undone, older ones are
//! folded into a summary. [`HistoryReader`] never writes: it lists sessions, reads
//! them, and searches them. Any number of processes may do both at once.

mod discover;
mod error;
mod home;
mod index;
mod query;
mod reader;
mod record;
mod rows;
mod schema;
mod search;
mod snippet;
mod store;
mod summary;
mod time_text;
mod words;

pub use discover::{FoundSession, SessionQuery};
pub use error::HistoryError;
pub use home::HomeHistory;
pub use jiff::Timestamp;
pub use reader::{HistoryReader, MessageRange, SessionFilter};
pub use record::{
    MessageState, NewSession, ParentLink, SessionRelation, SessionSummary, StoredMessage,
};
pub use search::{HitOrder, MessageHit, MessageQuery, MessageResults};
pub use store::{DeleteReport, HistoryStore, UndoReport, new_session_id};
pub use summary::Summarizer;
pub use time_text::{format_local, parse_time};

/// The name of the file in the home folder.
pub const DB_FILE_NAME: &str = "sessions.db";
