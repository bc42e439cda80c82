//! A tree that grew in a folder of our own, and comes into the folder around it
//! name by name. Written down before the first of them, it can be taken back if
//! its maker is killed on the way.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::journal::{
    ChangeJournal, InodeId, JournalDir, NewFileStamp, RollbackEntry, dir_path, path_bytes,
};
use crate::metadata::FileMetadata;
use crate::open::AnchoredName;

/// What is about to come into a folder.
#[derive(Debug)]
pub struct IncomingTree {
    /// The tree, in the folder.
    tree: AnchoredName,
    /// Where that is.
    target_dir: PathBuf,
    entries: Vec<RollbackEntry>,
    created_dirs: Vec<PathBuf>,
}

impl IncomingTree {
    /// From the tree of this name into the folder that it is in. None where
    /// the system does not tell where a folder is.
    pub fn new(folder: impl AsFd, tree: &OsStr) -> io::Result<Option<Self>> {
        let folder = folder.as_fd().try_clone_to_owned()?;
        let Ok(place) = dir_path(&folder) else { return Ok(None) };
        let tree = AnchoredName { dir: folder, name: tree.to_owned() };
        Ok(Some(Self { tree, target_dir: place, entries: Vec::new(), created_dirs: Vec::new() }))
    }

    /// A file or a link comes from a path in the tree to one in the folder, in
    /// the place of `old`, which goes the other way.
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

    /// A folder comes that was not there; those above it were told before.
    pub fn add_dir(&mut self, to: &Path) {
        self.created_dirs.push(self.target_dir.join(to));
    }
}

impl JournalDir {
    /// Writes down what is about to come.
    pub fn record_incoming(&self, arrival: IncomingTree) -> io::Result<ChangeJournal> {
        self.write(arrival.entries, &arrival.created_dirs, &[&arrival.tree])
    }
}
