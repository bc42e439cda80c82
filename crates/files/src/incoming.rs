//! A staged tree that moves into its parent directory name by name. Journaled
//! before the first move, it can be rolled back if the process is killed.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::journal::{
    ChangeJournal, InodeId, JournalDir, NewFileStamp, RollbackEntry, dir_path, path_bytes,
};
use crate::metadata::FileMetadata;
use crate::open::AnchoredName;

/// Files about to move into a directory.
#[derive(Debug)]
pub struct IncomingTree {
    /// The staged tree, in the target directory.
    tree: AnchoredName,
    /// The path of the target directory.
    target_dir: PathBuf,
    entries: Vec<RollbackEntry>,
    created_dirs: Vec<PathBuf>,
}

impl IncomingTree {
    /// Creates a move from the tree of this name into its parent directory.
    /// `None` if the system does not report the path of a directory.
    pub fn new(directory: impl AsFd, tree: &OsStr) -> io::Result<Option<Self>> {
        let directory = directory.as_fd().try_clone_to_owned()?;
        let Ok(place) = dir_path(&directory) else { return Ok(None) };
        let tree = AnchoredName { dir: directory, name: tree.to_owned() };
        Ok(Some(Self { tree, target_dir: place, entries: Vec::new(), created_dirs: Vec::new() }))
    }

    /// Adds a file or symlink that moves from a path in the tree to one in the
    /// directory and swaps places with `old`.
    pub fn add_file(
        &mut self,
        from: &Path,
        to: &Path,
        new: &FileMetadata,
        old: Option<&FileMetadata>,
    ) {
        self.entries.push(RollbackEntry::Arrive {
            path: path_bytes(&self.target_dir.join(to)),
            from: path_bytes(&self.target_dir.join(&self.tree.name).join(from)),
            old: old.map(InodeId::from_metadata),
            new: NewFileStamp::from_metadata(new),
        });
    }

    /// Adds a directory to be created; its parents must be added first.
    pub fn add_dir(&mut self, to: &Path) {
        self.created_dirs.push(self.target_dir.join(to));
    }
}

impl JournalDir {
    /// Writes the journal of the moves.
    pub fn record_incoming(&self, arrival: IncomingTree) -> io::Result<ChangeJournal> {
        self.write(arrival.entries, &arrival.created_dirs, &[&arrival.tree])
    }
}
