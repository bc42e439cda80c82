//! A whole tree as it is at a moment. What has not been touched since it was
//! last seen is not read again.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hermes_core::{CancellationToken, ToolError};
use ignore::WalkBuilder;
use serde::{Deserialize, Serialize};

use crate::capture::Capture;
use crate::names;
use crate::objects::Objects;
use crate::state::{Hash, Stamp, State};
use crate::store::now;

/// A file that was changed less than this ago may be changed again without
/// its times telling, since they are coarse.
const SETTLED: i64 = 50_000_000;

/// What is below a folder, by relative path. Files that git ignores, and git's
/// own, are left out.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listing {
    #[serde(with = "entries")]
    pub(crate) entries: BTreeMap<PathBuf, Leaf>,
    /// There was more than is kept.
    #[serde(default)]
    pub(crate) is_partial: bool,
}

/// What was at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) state: State,
    pub(crate) stamp: Stamp,
}

/// What is walked, and what is passed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) root: &'a Path,
    /// Left out with everything below.
    pub(crate) spared: &'a [PathBuf],
    /// Entries at most.
    pub(crate) most: usize,
    /// When nobody waits any longer.
    pub(crate) until: Option<Instant>,
    pub(crate) cancel: &'a CancellationToken,
}

impl Ground<'_> {
    /// Walks the tree. `known` is what was seen before.
    pub(crate) fn list(
        &self,
        capture: &mut Capture<'_>,
        known: &Listing,
    ) -> Result<Listing, ToolError> {
        let mut listing = Listing::default();
        for entry in self.walk() {
            if self.cancel.is_cancelled() {
                return Err(ToolError::cancelled());
            }
            // What cannot be looked at cannot be kept; it is not seen.
            let Ok(entry) = entry else { continue };
            let Ok(path) = entry.path().strip_prefix(self.root) else { continue };
            if path.as_os_str().is_empty() {
                continue;
            }
            if listing.entries.len() >= self.most || self.is_late() {
                listing.is_partial = true;
                break;
            }
            let Ok(found) = entry.metadata() else { continue };
            let stamp = stamp(&found);
            let state = match known.entries.get(path) {
                _ if found.is_dir() => State::Folder { mode: found.mode() & 0o7777 },
                Some(leaf) if leaf.stamp == stamp => leaf.state.clone(),
                _ => capture
                    .state(entry.path())
                    .map_err(|error| ToolError::io(entry.path().display(), &error))?,
            };
            if state == State::Absent {
                continue;
            }
            let is_settled = now().saturating_sub(stamp.changed) > SETTLED;
            let stamp = if is_settled && !found.is_dir() { stamp } else { Stamp::default() };
            listing.entries.insert(path.to_path_buf(), Leaf { state, stamp });
        }
        Ok(listing)
    }

    /// Whether nobody waits any longer.
    pub(crate) fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn walk(&self) -> ignore::Walk {
        let spared = self.spared.to_vec();
        WalkBuilder::new(self.root)
            .hidden(false)
            .ignore(false)
            .git_global(false)
            .require_git(false)
            .follow_links(false)
            .same_file_system(true)
            .filter_entry(move |entry| {
                entry.file_name() != ".git"
                    && !is_temporary(entry.file_name())
                    && !spared.iter().any(|path| path == entry.path())
            })
            .build()
    }
}

impl Listing {
    /// Keeps it among the contents; the same listing has the same name.
    pub(crate) fn keep(&self, objects: &Objects) -> io::Result<Hash> {
        objects.put(&serde_json::to_vec(self)?)
    }

    /// One that was kept.
    pub(crate) fn load(objects: &Objects, hash: Hash) -> io::Result<Self> {
        Ok(serde_json::from_slice(&objects.get(hash)?)?)
    }

    /// Forgets that those files were seen whose contents are gone.
    pub(crate) fn verify(&mut self, objects: &Objects) {
        for leaf in self.entries.values_mut() {
            if let State::File { hash, .. } = leaf.state
                && !objects.has(hash)
            {
                leaf.stamp = Stamp::default();
            }
        }
    }

    /// The contents that it names.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = Hash> {
        self.entries.values().filter_map(|leaf| match leaf.state {
            State::File { hash, .. } => Some(hash),
            _ => None,
        })
    }
}

/// Whether it is a file that is being written, and will have another name.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b".hermes-") && name.ends_with(b".tmp")
}

fn stamp(found: &Metadata) -> Stamp {
    let moment = |seconds: i64, nanoseconds: i64| {
        seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
    };
    Stamp {
        len: found.len(),
        modified: moment(found.mtime(), found.mtime_nsec()),
        changed: moment(found.ctime(), found.ctime_nsec()),
        inode: found.ino(),
    }
}

/// Entries as a list, since a path need not be text.
mod entries {
    use super::{BTreeMap, Deserialize, Leaf, PathBuf, Serialize, Stamp, State, names};
    use serde::{Deserializer, Serializer};

    #[derive(Serialize)]
    struct Out<'a>(#[serde(with = "names")] &'a PathBuf, &'a State, Stamp);

    #[derive(Deserialize)]
    struct In(#[serde(with = "names")] PathBuf, State, Stamp);

    pub(super) fn serialize<S: Serializer>(
        entries: &BTreeMap<PathBuf, Leaf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(entries.iter().map(|(path, leaf)| Out(path, &leaf.state, leaf.stamp)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<PathBuf, Leaf>, D::Error> {
        let list = Vec::<In>::deserialize(from)?;
        Ok(list.into_iter().map(|In(path, state, stamp)| (path, Leaf { state, stamp })).collect())
    }
}
