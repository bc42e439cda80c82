//! The user's files, opened by what they are and not by what they are called.
//!
//! A rule judges where a path really leads ([`real_path`]). [`FileAccess`] then
//! opens exactly that place and refuses every symbolic link on the way, so
//! that nothing that happens between the two can lead a call elsewhere.

mod ancestor_files;
mod incoming;
mod attributes;
mod parallel;
mod change;
mod content;
mod metadata;
mod access;
mod dir;
mod file_locks;
mod journal;
mod open;
mod locate;
mod resolve;
mod remove;
mod scratch;
mod temp_file;
mod traps;
mod whole;
mod error_text;
mod write;

pub use ancestor_files::IgnoreRules;
pub use incoming::IncomingTree;
pub use attributes::{ACL_XATTR, LostAttributes, read_xattr, xattr_names, remove_acl};
pub use change::{FileChange, FileChangeResult, PreparedChanges};
pub use content::FileContent;
pub use metadata::{FileMetadata, FileIdentity, FileKind, WrongFileKind, file_identity, same_file};
pub use access::FileAccess;
pub use dir::{DirEntries, DirEntry, OpenDir};
pub use file_locks::FileLocks;
pub use journal::{ChangeJournal, JournalDir, RecoveredChange};
pub use open::{WalkMode, open_file, open_dir};
pub use resolve::{ResolvedPath, resolve_path, real_entry, real_path};
pub use scratch::{ScratchKind, claim, remove_scratch, sweep_scratch};
pub use traps::refuse_traps;
pub use whole::read_whole;
pub use error_text::{explain_error, is_loop};
pub use write::{ExistingFile, WriteOptions, WritePermissions};
