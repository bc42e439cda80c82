//! What a call has moved here from where nothing is kept: git's own files,
//! ignored ones, those of another folder. Nobody could bring it back there, so
//! it must not be taken away here.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::manifest::{CheckpointManifest, PathChange};
use crate::state::{FileStamp, SavedState, UnsavedReason};
use crate::tree::{ListingEntry, TreeListing};
use crate::turn::FILE_TIME_GRANULARITY_NANOS;

/// What a call began with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallStart<'a> {
    pub(crate) at: i64,
    /// The tree that was kept, and where it is.
    pub(crate) tree: Option<&'a TreeListing>,
    pub(crate) root: &'a Path,
}

impl CallStart<'_> {
    fn entry_at(&self, path: &Path) -> Option<&ListingEntry> {
        self.tree?.entries.get(path.strip_prefix(self.root).ok()?)
    }

    /// Whether something that was kept may have been moved, and nobody can
    /// tell whether it is this: what was only just written is known by its
    /// content alone.
    fn is_ambiguous(&self, seen: &[(PathBuf, PathChange)]) -> bool {
        seen.iter().any(|(path, change)| {
            let is_changed = change.after.as_ref() != Some(&change.before);
            let is_content = change.before != SavedState::Absent && !change.before.is_dir();
            let is_unknown = match self.entry_at(path) {
                Some(leaf) => leaf.stamp == FileStamp::default(),
                // It was not there when the call began.
                None => self.tree.is_none(),
            };
            is_content && is_changed && is_unknown
        })
    }
}

/// Writes down of what was moved here that it was not kept.
pub(crate) fn mark_moved_in(
    seen: &mut Vec<(PathBuf, PathChange)>,
    manifest: &CheckpointManifest,
    from: CallStart<'_>,
) {
    let began = from.at;
    // What is new, and whether it is a file that came from elsewhere.
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

/// The topmost folder that was moved with it: all that is in there came along.
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

/// Whether it was made before that, under whatever name. A second name of a
/// file can go: the first one stays.
fn is_older_than(path: &Path, began: i64) -> bool {
    let born = |found: Metadata| {
        let alone = found.is_dir() || found.nlink() == 1;
        let born = found.created().ok().filter(|_| alone)?;
        i64::try_from(born.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
    };
    let born = fs::symlink_metadata(path).ok().and_then(born);
    born.is_some_and(|born| born < began - FILE_TIME_GRANULARITY_NANOS)
}
