//! State on disk: atomic files, locks, session documents, `.env` files.

pub mod atomic;
pub mod dotenv;
mod error;
mod lock;
mod names;
mod record;
mod sessions;

pub use error::StoreError;
pub use sessions::{FileSessions, SessionEntry};
