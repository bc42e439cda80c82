//! Race-free access to the user's files.
//!
//! The policy checks where a path really leads ([`real_path`]). [`FileAccess`]
//! then opens exactly that path and refuses every symlink on the way, so
//! nothing that happens between the two can redirect a call.

mod access;
mod ancestor_files;
mod attributes;
mod change;
mod content;
mod dir;
mod error_text;
mod file_locks;
mod incoming;
mod journal;
mod locate;
mod metadata;
mod open;
mod parallel;
mod remove;
mod resolve;
mod scratch;
mod temp_file;
mod traps;
mod whole;
mod write;

pub use access::FileAccess;
pub use ancestor_files::IgnoreRules;
pub use attributes::{ACL_XATTR, LostAttributes, read_xattr, remove_acl, xattr_names};
pub use change::{FileChange, FileChangeResult, PreparedChanges};
pub use content::FileContent;
pub use dir::{DirEntries, DirEntry, OpenDir};
pub use error_text::{explain_error, is_loop};
pub use file_locks::FileLocks;
pub use incoming::IncomingTree;
pub use journal::{ChangeJournal, JournalDir, RecoveredChange};
pub use metadata::{FileIdentity, FileKind, FileMetadata, WrongFileKind, file_identity, same_file};
pub use open::{WalkMode, open_dir, open_file};
pub use resolve::{ResolvedPath, real_entry, real_path, resolve_path};
pub use scratch::{ScratchKind, claim, remove_scratch, sweep_scratch};
pub use traps::refuse_traps;
pub use whole::read_whole;
pub use write::{ExistingFile, WriteOptions, WritePermissions};
