//! Scans a local directory tree.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;

/// Maximum files: more is most likely a mistake.
const MAX_FILES: usize = 100_000;
/// Maximum directory nesting.
const MAX_DEPTH: usize = 200;

/// A file, symlink or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocalEntry {
    /// Path relative to the declared directory; empty for the declared path
    /// itself.
    pub(super) relative: Vec<u8>,
    pub(super) path: PathBuf,
    pub(super) kind: EntryKind,
    pub(super) stamp: SyncFileStamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    /// Target of a symlink, which is not followed.
    Link(Vec<u8>),
    /// The directory only; its contents have their own entries.
    Directory,
}

/// Metadata that changes with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyncFileStamp {
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) modified: (i64, i64),
}

/// Mode recorded for all directories: permissions are not synced.
const DIR_MODE: u32 = 0o40000;

impl SyncFileStamp {
    /// Returns the stamp of a directory, which does not depend on its contents.
    pub(super) fn directory() -> Self {
        Self { size: 0, mode: DIR_MODE, modified: (0, 0) }
    }

    pub(super) fn is_directory(&self) -> bool {
        self.mode == DIR_MODE
    }

    pub(super) fn from_metadata(facts: &Metadata) -> Self {
        Self {
            size: facts.size(),
            mode: facts.mode() & 0o777,
            modified: (facts.mtime(), facts.mtime_nsec()),
        }
    }
}

/// Returns all files, symlinks and directories at a path; None if it does not
/// exist.
pub(super) fn scan(root: &Path) -> Result<Option<Vec<LocalEntry>>, ToolError> {
    let mut entries = Vec::new();
    let mut left = vec![(root.to_owned(), Vec::new(), 0)];
    while let Some((path, relative, depth)) = left.pop() {
        // A declared symlink is followed.
        let looked = if depth == 0 { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        let facts = match looked {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound && depth == 0 => return Ok(None),
            // Deleted during the scan.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(ToolError::io(path.display(), &error)),
        };
        let stamp = SyncFileStamp::from_metadata(&facts);
        if facts.is_dir() && depth >= MAX_DEPTH {
            return Err(ToolError::limit(format!(
                "ssh: {} is nested more than {MAX_DEPTH} directories deep",
                path.display()
            ))
            .with_hint("Declare a directory in terminal.sync that is nested less deeply."));
        }
        if facts.is_dir() {
            let failed = |error| ToolError::io(path.display(), &error);
            for inner in fs::read_dir(&path).map_err(failed)? {
                let inner = inner.map_err(failed)?;
                let name = inner.file_name();
                let mut below: Vec<u8> = relative.clone();
                if !below.is_empty() {
                    below.push(b'/');
                }
                below.extend_from_slice(name.as_bytes());
                left.push((inner.path(), below, depth + 1));
            }
            let stamp = SyncFileStamp::directory();
            entries.push(LocalEntry { relative, path, kind: EntryKind::Directory, stamp });
        } else if facts.is_file() {
            entries.push(LocalEntry { relative, path, kind: EntryKind::File, stamp });
        } else if facts.is_symlink() {
            let target =
                fs::read_link(&path).map_err(|error| ToolError::io(path.display(), &error))?;
            let kind = EntryKind::Link(target.into_os_string().into_vec());
            entries.push(LocalEntry { relative, path, kind, stamp });
        }
        if entries.len() + left.len() > MAX_FILES {
            return Err(ToolError::limit(format!("ssh: more than {MAX_FILES} files to send"))
                .with_hint("Declare fewer files in terminal.sync."));
        }
    }
    Ok(Some(entries))
}
