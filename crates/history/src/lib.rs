//! Session history in SQLite: stored as it happens, searchable later.
//!
//! [`HistoryStore`] writes: it begins sessions, appends messages (each is
//! durable against a kill when the call returns), undoes messages, and folds
//! older ones into a summary. [`HistoryReader`] never writes: it lists, reads
//! and searches sessions. Any number of processes may do both concurrently.
//! [`AgentStateDb`] reads the conversations of Hermes Agent, which
//! [`HistoryStore::import`] copies.

mod agent_message;
mod agent_state;
mod discover;
mod error;
mod home;
mod import;
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

pub use agent_message::AgentStateMessage;
pub use agent_state::{AGENT_STATE_SOURCE, AgentStateDb, AgentStateSession};
pub use discover::{FoundSession, SessionQuery};
pub use error::HistoryError;
pub use home::HomeHistory;
pub use import::ImportReport;
pub use jiff::Timestamp;
pub use reader::{HistoryReader, MessageRange, SessionFilter};
pub use record::{
    MessageState, NewSession, ParentLink, SessionRelation, SessionSummary, StoredMessage,
};
pub use search::{HitOrder, MessageHit, MessageQuery, MessageResults};
pub use store::{DeleteReport, HistoryStore, UndoReport, new_session_id};
pub use summary::Summarizer;
pub use time_text::{format_local, parse_time};

/// Name of the database file in the home directory.
pub const DB_FILE_NAME: &str = "sessions.db";
/// Name of Hermes Agent's database in the same directory.
pub const AGENT_STATE_FILE_NAME: &str = "state.db";
