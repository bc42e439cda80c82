//! Conversations in SQLite: kept as they happen, found again.
//!
//! [`HistoryStore`] writes: a session begins, messages are appended (each has
//! survived a kill when the call returns), some are undone, older ones are
//! folded into a summary. [`HistoryReader`] never writes: it lists sessions, reads
//! them, and searches them. Any number of processes may do both at once.

mod discover;
mod home;
mod error;
mod index;
mod time_text;
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

pub use discover::{SessionQuery, FoundSession};
pub use home::HomeHistory;
pub use error::HistoryError;
pub use jiff::Timestamp;
pub use time_text::{format_local, parse_time};
pub use reader::{SessionFilter, HistoryReader, MessageRange};
pub use record::{NewSession, StoredMessage, SessionRelation, ParentLink, SessionSummary, MessageState};
pub use search::{MessageHit, MessageQuery, MessageResults, HitOrder};
pub use store::{DeleteReport, HistoryStore, UndoReport, new_session_id};
pub use summary::Summarizer;

/// The name of the file in the home folder.
pub const DB_FILE_NAME: &str = "sessions.db";
