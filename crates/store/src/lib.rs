//! State on disk: atomic files, locks, session documents, `.env` files,
//! non-blocking reads.

pub mod atomic;
pub mod dotenv;
mod error;
mod file_names;
mod lock;
pub mod regular_file;
mod session_record;
mod sessions;

pub use error::StoreError;
pub use sessions::{FileSessionStore, SessionEntry};
