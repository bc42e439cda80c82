//! State on disk: atomic files, locks, session documents.

pub mod atomic;
mod error;
mod lock;
mod names;
mod record;
mod sessions;

pub use error::StoreError;
pub use sessions::{FileSessions, SessionEntry};
