//! Notes that outlast a session.
//!
//! There are two lists of entries, one about the work and one about the user, each in a small file that is
//! shown to the model as a whole. What no longer fits moves to an archive, which is searched and not shown,
//! so that nothing written is lost. Every version of a list is kept. The files and their locks are those of
//! Hermes Agent, which may use them at the same time.

mod change;
mod error;
mod files;
mod form;
mod memory;
mod search;
mod snapshot;
mod versions;

pub use change::Operation;
pub use error::MemoryError;
pub use memory::{Entries, Limits, Memory, Target, Written};
pub use search::{Hit, Tier};
pub use snapshot::Snapshot;
pub use versions::Version;
