//! What a call comes to: what is written, and what there is to tell of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hermes_text::matching::{Lines, Strategy};

use crate::change::Change;
use crate::known::Hash;

/// Where something was changed.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) path: PathBuf,
    pub(super) strategy: Strategy,
    pub(super) before: Lines,
    pub(super) after: Lines,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Modified,
    Created,
    Deleted,
    Moved(PathBuf),
}

/// A file that is not as it was.
#[derive(Debug)]
pub(super) struct Turned {
    pub(super) path: PathBuf,
    pub(super) fate: Fate,
    /// Before and after, where they are text.
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
    pub(super) hash: Option<Hash>,
}

/// All that a call does.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) changes: Vec<Change>,
    pub(super) files: Vec<Turned>,
    pub(super) spots: Vec<Spot>,
    pub(super) warnings: Vec<String>,
}

impl Outcome {
    /// What is written, by its hash.
    pub(super) fn versions(&self) -> impl Iterator<Item = (&Hash, &[u8])> {
        let hashes: HashMap<&Path, &Hash> = self
            .files
            .iter()
            .filter_map(|file| Some((file.path.as_path(), file.hash.as_ref()?)))
            .collect();
        self.changes.iter().filter_map(move |change| {
            let (path, bytes) = match change {
                Change::Write { path, bytes, .. } => (path, bytes),
                Change::Move { to, bytes: Some(bytes), .. } => (to, bytes),
                _ => return None,
            };
            Some((*hashes.get(path.as_path())?, bytes.as_slice()))
        })
    }
}
