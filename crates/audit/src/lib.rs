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
//! [`LogOptions::sync`] prevents it.

mod chain;
mod chain_verifier;
mod entry;
mod error;
mod follow;
mod head;
mod journal;
mod log;
mod log_files;
mod query;
mod reverse_lines;
mod time_parse;
mod verify;
mod writer;

pub use error::LogError;
pub use follow::{LogFollower, follow};
pub use log::{AuditLog, LogOptions};
pub use query::{AuditEntry, AuditQuery, query};
pub use time_parse::{TimeParseError, parse_time};
pub use verify::{LogFault, VerifyReport, verify};
