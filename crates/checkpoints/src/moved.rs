//! Files that a call moved in from where nothing is saved: git's own files,
//! ignored files, other directories. They could not be restored there, so an
//! undo must not remove them here.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::manifest::{CheckpointManifest, PathChange};
use crate::state::{FileStamp, SavedState, UnsavedReason};
use crate::tree::{ListingEntry, TreeListing};
use crate::turn::FILE_TIME_GRANULARITY_NANOS;

/// State at the start of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallStart<'a> {
    pub(crate) at: i64,
    /// The saved tree, relative to `root`.
    pub(crate) tree: Option<&'a TreeListing>,
    pub(crate) root: &'a Path,
}

impl CallStart<'_> {
    fn entry_at(&self, path: &Path) -> Option<&ListingEntry> {
        self.tree?.entries.get(path.strip_prefix(self.root).ok()?)
    }

    /// Whether a saved file may have been moved and cannot be identified by its
    /// stamp: a file written just before is known only by its content.
    fn is_ambiguous(&self, seen: &[(PathBuf, PathChange)]) -> bool {
        seen.iter().any(|(path, change)| {
            let is_changed = change.after.as_ref() != Some(&change.before);
            let is_content = change.before != SavedState::Absent && !change.before.is_dir();
            let is_unknown = match self.entry_at(path) {
                Some(leaf) => leaf.stamp == FileStamp::default(),
                // It did not exist when the call began.
                None => self.tree.is_none(),
            };
            is_content && is_changed && is_unknown
        })
    }
}

/// Marks files that were moved in as not saved.
pub(crate) fn mark_moved_in(
    seen: &mut Vec<(PathBuf, PathChange)>,
    manifest: &CheckpointManifest,
    from: CallStart<'_>,
) {
    let began = from.at;
    // New paths, and whether each is a file that came from elsewhere.
    let mut new: BTreeMap<PathBuf, bool> = BTreeMap::new();
    for (path, change) in seen.iter() {
        let (SavedState::Absent, Some(after)) = (&change.before, &change.after) else { continue };
        if *after != SavedState::Absent && !manifest.changes.contains_key(path) {
            new.insert(path.clone(), !after.is_dir() && is_older_than(path, began));
        }
    }
    if !new.values().any(|moved| *moved) || from.is_ambiguous(seen) {
        return;
    }
    let leaves = from.tree.into_iter().flat_map(|tree| tree.entries.values());
    let kept: HashSet<u64> = leaves.map(|leaf| leaf.stamp.inode).collect();
    let inode = |path: &Path| fs::symlink_metadata(path).map_or(0, |found| found.ino());
    for (path, moved) in new.iter_mut().filter(|(_, moved)| **moved) {
        *moved = !kept.contains(&inode(path));
    }
    let moved: Vec<&PathBuf> = new.iter().filter(|(_, moved)| **moved).map(|(p, _)| p).collect();
    let roots: HashSet<PathBuf> =
        moved.into_iter().map(|path| moved_root(path, &new, began)).collect();
    if roots.is_empty() {
        return;
    }
    let is_below = |path: &Path| path.ancestors().any(|above| roots.contains(above));
    seen.retain(|(path, _)| !new.contains_key(path) || !is_below(path) || roots.contains(path));
    for (_, change) in seen.iter_mut().filter(|(path, _)| roots.contains(path)) {
        let stamp = FileStamp::default();
        change.before =
            SavedState::Unkept { why: UnsavedReason::Elsewhere, len: 0, mode: 0, stamp };
    }
}

/// Returns the topmost directory that was moved together with the file.
fn moved_root(path: &Path, new: &BTreeMap<PathBuf, bool>, began: i64) -> PathBuf {
    let mut found = path;
    for above in path.ancestors().skip(1).take_while(|above| new.contains_key(*above)) {
        let mut inside = new.range(above.to_path_buf()..).take_while(|(p, _)| p.starts_with(above));
        let came_along = |(path, moved): (&PathBuf, &bool)| {
            *moved || path.is_dir() && is_older_than(path, began)
        };
        if !inside.all(came_along) {
            break;
        }
        found = above;
    }
    found.to_path_buf()
}

/// Whether a file was created before `began`, under any name. Files with
/// several hard links do not count: removing one leaves the others.
fn is_older_than(path: &Path, began: i64) -> bool {
    let born = |found: Metadata| {
        let alone = found.is_dir() || found.nlink() == 1;
        let born = found.created().ok().filter(|_| alone)?;
        i64::try_from(born.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
    };
    let born = fs::symlink_metadata(path).ok().and_then(born);
    born.is_some_and(|born| born < began - FILE_TIME_GRANULARITY_NANOS)
}
