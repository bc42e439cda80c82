//! State on disk: atomic files, locks, session documents, `.env` files, reading without waiting.

pub mod atomic;
pub mod dotenv;
mod error;
mod lock;
mod file_names;
mod session_record;
pub mod regular_file;
mod sessions;

pub use error::StoreError;
pub use sessions::{FileSessionStore, SessionEntry};
