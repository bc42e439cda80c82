//! Append-only record of every call: JSON lines, each linked to the previous
//! one by a keyed hash, shared by many processes.
//!
//! Files in the directory:
//!
//! | file | content |
//! |---|---|
//! | `audit.jsonl` | the lines: `seq`, `time`, the fields as given, `prev`, `hash` |
//! | `audit-<first seq>.jsonl` | older lines, oldest first by name |
//! | `audit.head` | the last line written, and where the chain starts |
//! | `audit.key` | the key of the hashes |
//! | `audit.lock` | held by the current writer |
//!
//! [`verify`] detects lines that were changed, removed, added or moved, and a
//! log that was truncated or replaced. It cannot detect changes by an attacker
//! who has read the key, or a directory restored as a whole to an earlier
//! state: against those, send the lines to another machine with [`follow`]. A
//! power failure may lose entries, which looks like truncation;
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
