//! State on disk: atomic files, locks, session documents, `.env` files, reading without waiting.

pub mod atomic;
pub mod dotenv;
mod error;
mod lock;
mod names;
mod record;
pub mod regular;
mod sessions;

pub use error::StoreError;
pub use sessions::{FileSessions, SessionEntry};
