//! Notes that outlast a session.
//!
//! There are two lists of entries, one about the work and one about the user,
//! each in a small file that is shown to the model as a whole. Entries that no
//! longer fit move to an archive, which can be searched but is not shown, so
//! nothing is lost. Every version of a list is kept. The files and their locks
//! are compatible with Hermes Agent, which may use them at the same time.

mod error;
mod files;
mod list_format;
mod memory;
mod operations;
mod search;
mod snapshot;
mod versions;

pub use error::MemoryError;
pub use memory::{
    MemoryEntries, MemoryLimits, MemoryStore, MemoryTarget, MemoryWriteReport, SecretCheck,
};
pub use operations::MemoryOperation;
pub use search::{MemoryHit, MemoryTier};
pub use snapshot::MemorySnapshot;
pub use versions::ListVersion;
