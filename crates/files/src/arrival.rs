//! A tree that grew in a folder of our own, and comes into the folder around it
//! name by name. Written down before the first of them, it can be taken back if
//! its maker is killed on the way.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::facts::Facts;
use crate::journal::{Entry, Fresh, Id, Journal, Journals, bytes, place_of};
use crate::open::Spot;

/// What is about to come into a folder.
#[derive(Debug)]
pub struct Arrival {
    /// The tree, in the folder.
    tree: Spot,
    /// Where that is.
    place: PathBuf,
    entries: Vec<Entry>,
    made: Vec<PathBuf>,
}

impl Arrival {
    /// From the tree of this name into the folder that it is in. None where
    /// the system does not tell where a folder is.
    pub fn new(folder: impl AsFd, tree: &OsStr) -> io::Result<Option<Self>> {
        let folder = folder.as_fd().try_clone_to_owned()?;
        let Ok(place) = place_of(&folder) else { return Ok(None) };
        let tree = Spot { folder, name: tree.to_owned() };
        Ok(Some(Self { tree, place, entries: Vec::new(), made: Vec::new() }))
    }

    /// A file or a link comes from a path in the tree to one in the folder, in
    /// the place of `old`, which goes the other way.
    pub fn add(&mut self, from: &Path, to: &Path, new: &Facts, old: Option<&Facts>) {
        self.entries.push(Entry::Arrive {
            path: bytes(&self.place.join(to)),
            from: bytes(&self.place.join(&self.tree.name).join(from)),
            old: old.map(Id::of),
            new: Fresh::of(new),
        });
    }

    /// A folder comes that was not there; those above it were told before.
    pub fn add_folder(&mut self, to: &Path) {
        self.made.push(self.place.join(to));
    }
}

impl Journals {
    /// Writes down what is about to come.
    pub fn expect(&self, arrival: Arrival) -> io::Result<Journal> {
        self.write(arrival.entries, &arrival.made, &[&arrival.tree])
    }
}
