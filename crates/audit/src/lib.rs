//! The record of every call: JSON lines that are only ever appended, each
//! tied to the one before by a keyed hash, shared by many processes.
//!
//! What is in the folder:
//!
//! | file | what it is |
//! |---|---|
//! | `audit.jsonl` | the lines: `seq`, `time`, the fields as given, `prev`, `hash` |
//! | `audit-<first seq>.jsonl` | older lines, oldest first by name |
//! | `audit.head` | the last line that was written, and where the chain begins |
//! | `audit.key` | the key of the hashes |
//! | `audit.lock` | held by whoever writes |
//!
//! [`verify`] finds lines that were changed, removed, added or moved, and a
//! log that was cut or replaced. It cannot find what is done by somebody who
//! has read the key, nor a folder put back as a whole to an earlier state:
//! against those, send the lines to another machine with [`follow`]. A loss of
//! power may take entries with it and then looks like a log that was cut;
//! [`Options::sync`] prevents it.

mod backwards;
mod chain;
mod entry;
mod error;
mod files;
mod follow;
mod head;
mod journal;
mod log;
mod moment;
mod query;
mod verify;
mod walk;
mod writer;

pub use error::LogError;
pub use follow::{Follow, follow};
pub use log::{Log, Options};
pub use moment::{MomentError, moment};
pub use query::{Entry, Query, query};
pub use verify::{Fault, Report, verify};
