//! What is in a folder here.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;

/// Files at most: more is surely not what was meant.
const MAX_FILES: usize = 100_000;
/// Folders within folders at most.
const MAX_DEPTH: usize = 200;

/// A file, a link or a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocalEntry {
    /// Its name below the folder; nothing if it was declared itself.
    pub(super) relative: Vec<u8>,
    pub(super) path: PathBuf,
    pub(super) kind: EntryKind,
    pub(super) stamp: SyncFileStamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    /// Its target. What is behind it was not declared.
    Link(Vec<u8>),
    /// By itself; what is in it has entries of its own.
    Directory,
}

/// What changes when a file does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyncFileStamp {
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) modified: (i64, i64),
}

/// The mode of every folder: which rights it has is the other side's own.
const DIR_MODE: u32 = 0o40000;

impl SyncFileStamp {
    /// That of a folder, which is the same whatever comes and goes in it.
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

/// All files, links and folders at a path; none if there is nothing.
pub(super) fn scan(root: &Path) -> Result<Option<Vec<LocalEntry>>, ToolError> {
    let mut entries = Vec::new();
    let mut left = vec![(root.to_owned(), Vec::new(), 0)];
    while let Some((path, relative, depth)) = left.pop() {
        // Whoever declared a link meant what it leads to.
        let looked = if depth == 0 { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        let facts = match looked {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound && depth == 0 => return Ok(None),
            // It went while we looked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(ToolError::io(path.display(), &error)),
        };
        let stamp = SyncFileStamp::from_metadata(&facts);
        if facts.is_dir() && depth < MAX_DEPTH {
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
            return Err(ToolError::limit(format!(
                "ssh: more than {MAX_FILES} files are to be sent"
            ))
            .with_hint("Declare less in terminal.sync."));
        }
    }
    Ok(Some(entries))
}
