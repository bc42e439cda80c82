//! Listing of a whole tree. Files unmodified since the last listing are not
//! read again.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hermes_core::{CancellationToken, ToolError};
use serde::{Deserialize, Serialize};

use crate::attributes::read_dir_xattrs;
use crate::capture::FileCapture;
use crate::deep_paths::is_too_deep;
use crate::ignored::GitIgnoreRules;
use crate::names;
use crate::objects::ObjectStore;
use crate::state::{ContentHash, FileStamp, SavedState};
use crate::store::now_nanos;
use crate::tracked::IndexCache;

/// File times are coarse, so a file changed less than this ago could change
/// again without a new timestamp.
const STAMP_SETTLE_NANOS: i64 = 50_000_000;

/// Entries below a directory, by relative path. Excludes git's own files and
/// those that are ignored and untracked.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TreeListing {
    #[serde(with = "entries")]
    pub(crate) entries: BTreeMap<PathBuf, ListingEntry>,
    /// Ignored and untracked files, and directories with everything below. Only
    /// their existence is recorded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty", with = "names::several")]
    pub(crate) ignored: BTreeSet<PathBuf>,
    /// Whether entries were left out because of a limit.
    #[serde(default)]
    pub(crate) is_partial: bool,
}

/// State of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListingEntry {
    pub(crate) state: SavedState,
    pub(crate) stamp: FileStamp,
}

/// Settings of a tree walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeLister<'a> {
    pub(crate) root: &'a Path,
    /// Paths skipped with everything below.
    pub(crate) skipped: &'a [PathBuf],
    /// Maximum number of entries.
    pub(crate) max_entries: usize,
    /// When to stop the walk.
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: &'a CancellationToken,
    /// Indexes of tracked files.
    pub(crate) indexes: &'a IndexCache,
}

impl TreeLister<'_> {
    /// Walks the tree. `known` is the previous listing.
    pub(crate) fn list(
        &self,
        capture: &mut FileCapture<'_>,
        known: &TreeListing,
    ) -> Result<TreeListing, ToolError> {
        let mut listing = TreeListing::default();
        let device = fs::metadata(self.root).map(|found| found.dev()).unwrap_or_default();
        let mut ahead = vec![(self.root.to_path_buf(), GitIgnoreRules::inherited(self.root))];
        while let Some((dir, rules)) = ahead.pop() {
            // Unreadable directories cannot be saved and are skipped.
            let Ok(entries) = fs::read_dir(&dir) else { continue };
            let entries: Vec<DirEntry> = entries.flatten().collect();
            let has = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
            let rules = rules.enter(&dir, has(".git"), has(".gitignore"));
            for entry in entries.iter().filter(|entry| !self.is_excluded(entry)) {
                if self.cancel.is_cancelled() {
                    return Err(ToolError::cancelled());
                }
                if listing.entries.len() + listing.ignored.len() >= self.max_entries
                    || self.is_past_deadline()
                {
                    listing.is_partial = true;
                    return Ok(listing);
                }
                let place = entry.path();
                let (Ok(path), Ok(found)) = (place.strip_prefix(self.root), entry.metadata())
                else {
                    continue;
                };
                let is_ignored = rules.is_path_ignored(&place, found.is_dir());
                if is_ignored && !rules.is_tracked(&place, found.is_dir(), self.indexes) {
                    listing.ignored.insert(path.to_path_buf());
                    continue;
                }
                listing.add(path, &place, &found, known, capture)?;
                // Other file systems are skipped.
                if found.is_dir() && found.dev() == device {
                    ahead.push((place, rules.child(is_ignored)));
                }
            }
        }
        Ok(listing)
    }

    /// Whether the deadline has passed.
    pub(crate) fn is_past_deadline(&self) -> bool {
        self.deadline.is_some_and(|until| Instant::now() >= until)
    }

    /// Whether an entry is never saved: git's own files, ours, and unwritable
    /// paths.
    fn is_excluded(&self, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        let is_it = |path: &PathBuf| path.file_name() == Some(&name) && *path == entry.path();
        let is_spared = || self.skipped.iter().any(is_it);
        name == ".git" || is_temporary(&name) || is_spared()
    }
}

impl TreeListing {
    /// Whether a path existed and was ignored; `None` inside ignored
    /// directories, which are not listed.
    pub(crate) fn has_ignored(&self, path: &Path) -> Option<bool> {
        if self.ignored.contains(path) {
            return Some(true);
        }
        let is_inside = path.ancestors().skip(1).any(|above| self.ignored.contains(above));
        if is_inside { None } else { Some(false) }
    }

    /// Adds the entry of a path. A file unmodified since `known` is not read
    /// again.
    fn add(
        &mut self,
        path: &Path,
        place: &Path,
        found: &Metadata,
        known: &TreeListing,
        capture: &mut FileCapture<'_>,
    ) -> Result<(), ToolError> {
        let stamp = file_stamp(found);
        let state = match known.entries.get(path) {
            _ if found.is_dir() && !is_too_deep(place) => dir_state(place, found),
            Some(leaf) if leaf.stamp == stamp && !found.is_dir() => leaf.state.clone(),
            _ => capture.state(place).map_err(|error| ToolError::io(place.display(), &error))?,
        };
        if state != SavedState::Absent {
            let is_settled = now_nanos().saturating_sub(stamp.changed) > STAMP_SETTLE_NANOS;
            let stamp = if is_settled && !found.is_dir() { stamp } else { FileStamp::default() };
            self.entries.insert(path.to_path_buf(), ListingEntry { state, stamp });
        }
        Ok(())
    }

    /// Stores the listing in the object store; equal listings have equal
    /// hashes.
    pub(crate) fn store(&self, objects: &ObjectStore) -> io::Result<ContentHash> {
        objects.put(&serde_json::to_vec(self)?)
    }

    /// Loads a stored listing.
    pub(crate) fn load(objects: &ObjectStore, hash: ContentHash) -> io::Result<Self> {
        Ok(serde_json::from_slice(&objects.get(hash)?)?)
    }

    /// Clears the stamps of files whose contents are missing, so they are read
    /// again.
    pub(crate) fn verify(&mut self, objects: &ObjectStore) {
        for leaf in self.entries.values_mut() {
            if let SavedState::File { hash, .. } = leaf.state
                && !objects.has(hash)
            {
                leaf.stamp = FileStamp::default();
            }
        }
    }

    /// Yields the contents that it refers to.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = ContentHash> {
        self.entries.values().filter_map(|leaf| match leaf.state {
            SavedState::File { hash, .. } => Some(hash),
            _ => None,
        })
    }
}

/// Whether it is a temporary file that will be renamed.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b".hermes-") && name.ends_with(b".tmp")
}

fn dir_state(place: &Path, found: &Metadata) -> SavedState {
    let (mode, owner) = (found.mode() & 0o7777, Some((found.uid(), found.gid())));
    SavedState::Folder { mode, owner, attributes: read_dir_xattrs(place) }
}

pub(crate) fn file_stamp(found: &Metadata) -> FileStamp {
    let moment = |seconds: i64, nanoseconds: i64| {
        seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
    };
    FileStamp {
        len: found.len(),
        modified: moment(found.mtime(), found.mtime_nsec()),
        changed: moment(found.ctime(), found.ctime_nsec()),
        inode: found.ino(),
    }
}

/// Serializes entries as a list, since a path need not be UTF-8.
mod entries {
    use super::{
        BTreeMap, Deserialize, FileStamp, ListingEntry, PathBuf, SavedState, Serialize, names,
    };
    use serde::{Deserializer, Serializer};

    #[derive(Serialize)]
    struct SerializedEntry<'a>(#[serde(with = "names")] &'a PathBuf, &'a SavedState, FileStamp);

    #[derive(Deserialize)]
    struct DeserializedEntry(#[serde(with = "names")] PathBuf, SavedState, FileStamp);

    pub(super) fn serialize<S: Serializer>(
        entries: &BTreeMap<PathBuf, ListingEntry>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(
            entries.iter().map(|(path, leaf)| SerializedEntry(path, &leaf.state, leaf.stamp)),
        )
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<PathBuf, ListingEntry>, D::Error> {
        let list = Vec::<DeserializedEntry>::deserialize(from)?;
        Ok(list
            .into_iter()
            .map(|DeserializedEntry(path, state, stamp)| (path, ListingEntry { state, stamp }))
            .collect())
    }
}
