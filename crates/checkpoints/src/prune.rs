//! Pruning of checkpoints that exceed the age, count or size limits, and of
//! unreferenced contents.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;
use serde::{Deserialize, Serialize};

use crate::history::CheckpointKind;
use crate::manifest::{CheckpointManifest, LogHeader};
use crate::objects::PART_PREFIX;
use crate::state::{ContentHash, SavedState};
use crate::store::{CheckpointStore, logs, now_nanos};
use crate::tree::TreeListing;

/// Interval of automatic pruning: one hour.
const PRUNE_INTERVAL_NANOS: i64 = 3_600_000_000_000;

/// Smaller additions are not counted until the next prune.
const MIN_COUNTED_BYTES: u64 = 1_000_000;

/// Smaller additions are not counted after a call that took its time anyway.
const MIN_COUNTED_AFTER_CALL: u64 = 64_000;

/// Counting threshold as a fraction of the total size limit.
const LIMIT_DIVISOR: u64 = 64;

/// What a prune removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// Checkpoints.
    pub checkpoints: usize,
    /// Contents.
    pub objects: usize,
    /// Bytes on disk.
    pub bytes: u64,
}

impl PruneReport {
    /// Removes the log of a checkpoint.
    fn remove_log(&mut self, log: &Path) -> io::Result<()> {
        let bytes = fs::metadata(log).map_or(0, |found| found.len());
        remove(log)?;
        self.checkpoints += 1;
        self.bytes += bytes;
        Ok(())
    }
}

/// Disk usage of the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskUsage {
    /// Workspaces that have checkpoints.
    pub workspaces: usize,
    /// Checkpoints.
    pub checkpoints: usize,
    /// Checkpoints that cannot be read.
    pub damaged: usize,
    /// Contents.
    pub objects: usize,
    /// Bytes of contents on disk, including tree listings.
    pub object_bytes: u64,
    /// Bytes of logs and other small files.
    pub log_bytes: u64,
}

impl DiskUsage {
    /// Returns the total number of bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.object_bytes.saturating_add(self.log_bytes)
    }
}

/// Running totals of the store, kept to avoid full scans.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct StoreTally {
    /// Incremented when contents are removed.
    pub(crate) generation: u64,
    /// Total bytes counted so far.
    bytes: u64,
    /// Time of the last prune.
    at: i64,
}

/// Reference to the last listing of a workspace's tree.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ListingPointer {
    pub(crate) listing: ContentHash,
    pub(crate) generation: u64,
}

/// The file that holds a [`ListingPointer`].
pub(crate) const LISTING_FILE: &str = "listing";

impl CheckpointStore {
    /// Removes what exceeds the limits, and unreferenced contents.
    pub fn prune(&self) -> Result<PruneReport, ToolError> {
        let held =
            self.lock_exclusive().map_err(|error| self.io_error("lock", self.root(), &error))?;
        let pruned = self.prune_locked();
        drop(held);
        pruned
    }

    /// Measures the disk usage.
    pub fn usage(&self) -> Result<DiskUsage, ToolError> {
        let mut usage = DiskUsage::default();
        for dir in self.workspace_dirs()? {
            let there = logs(&dir).map_err(|error| self.io_error("list", &dir, &error))?;
            let read = self.load(&dir)?.len();
            usage.workspaces += usize::from(read > 0);
            usage.checkpoints += read;
            usage.damaged += there.len().saturating_sub(read);
        }
        for (_, bytes) in self.object_files()? {
            usage.objects += 1;
            usage.object_bytes += bytes;
        }
        usage.log_bytes = self.log_bytes()?;
        Ok(usage)
    }

    /// Returns the bytes of everything except contents.
    fn log_bytes(&self) -> Result<u64, ToolError> {
        let mut dirs = self.workspace_dirs()?;
        dirs.push(self.root().to_path_buf());
        let files = dirs.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten();
        let found = files.flatten().filter_map(|entry| entry.metadata().ok());
        Ok(found.filter(fs::Metadata::is_file).map(|found| found.len()).sum())
    }

    /// Prunes after a checkpoint was begun: removes the oldest of its workspace
    /// if there are too many, and periodically prunes the whole store.
    pub(crate) fn prune_after_begin(&self, dir: &Path, count: usize) -> io::Result<()> {
        // Choosing which to remove requires reading the logs, so only do it
        // above the limit.
        if count > self.limits.per_workspace {
            for path in self.surplus(&logs(dir)?) {
                remove(path)?;
            }
        }
        self.count_added(MIN_COUNTED_BYTES)
    }

    /// Counts what a call added to its log, if it is much.
    pub(crate) fn count_after_call(&self) -> io::Result<()> {
        let is_worth = self.objects.added() >= self.count_threshold(MIN_COUNTED_AFTER_CALL);
        if is_worth { self.count_added(MIN_COUNTED_AFTER_CALL) } else { Ok(()) }
    }

    /// Returns the number of added bytes from which on they are counted.
    fn count_threshold(&self, most: u64) -> u64 {
        most.min(self.limits.total_bytes / LIMIT_DIVISOR)
    }

    /// Counts added bytes, and prunes if the limit is exceeded or a prune is
    /// due.
    fn count_added(&self, worth: u64) -> io::Result<()> {
        let mut tally = self.tally();
        let added = self.objects.added();
        tally.bytes = tally.bytes.saturating_add(added);
        let is_due = now_nanos().saturating_sub(tally.at) > PRUNE_INTERVAL_NANOS;
        if !is_due && tally.bytes <= self.limits.total_bytes {
            if added >= self.count_threshold(worth) {
                let _shared = self.lock_shared()?;
                self.objects.take_added();
                self.write_tally(&tally)?;
            }
            return Ok(());
        }
        // Writers take precedence; the next checkpoint tries again.
        if let Some(_held) = self.try_lock_exclusive()? {
            self.objects.take_added();
            self.prune_locked().map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Returns the logs of a workspace beyond the limit. Only turns and
    /// restores count: an undo is removed together with its turns.
    fn surplus<'a>(&self, there: &'a [PathBuf]) -> Vec<&'a PathBuf> {
        let most = self.limits.per_workspace.max(1);
        if there.len() <= most {
            return Vec::new();
        }
        let heads: Vec<(&PathBuf, Option<LogHeader>)> =
            there.iter().map(|path| (path, self.log_header(path))).collect();
        let counts = |head: &Option<LogHeader>| {
            let kind = head.as_ref().map(|head| &head.kind);
            !matches!(kind, Some(CheckpointKind::Undo(_) | CheckpointKind::Redo(_)))
        };
        let mut over = heads.iter().filter(|(_, head)| counts(head)).count().saturating_sub(most);
        let mut kept: HashSet<&str> = HashSet::new();
        let mut going = Vec::new();
        // Oldest first, so turns come before the undos that refer to them.
        for (path, head) in &heads {
            let stays = match head.as_ref().map(|head| &head.kind) {
                Some(CheckpointKind::Undo(turns)) => {
                    turns.iter().any(|id| kept.contains(id.as_str()))
                }
                Some(CheckpointKind::Redo(undo)) => kept.contains(undo.as_str()),
                _ if over > 0 => {
                    over -= 1;
                    false
                }
                _ => true,
            };
            match head {
                Some(head) if stays => drop(kept.insert(&head.id)),
                _ if stays => {}
                _ => going.push(*path),
            }
        }
        going
    }

    pub(crate) fn tally(&self) -> StoreTally {
        let text = fs::read(self.root().join("tally")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn write_tally(&self, tally: &StoreTally) -> io::Result<()> {
        replace(&self.root().join("tally"), &serde_json::to_vec(tally)?)
    }

    /// Prunes; the caller must hold the exclusive lock.
    fn prune_locked(&self) -> Result<PruneReport, ToolError> {
        let failed = |error: io::Error| self.io_error("prune", self.root(), &error);
        let mut pruned = PruneReport::default();
        let oldest = now_nanos()
            .saturating_sub(i64::try_from(self.limits.max_age.as_nanos()).unwrap_or(i64::MAX));
        for dir in self.workspace_dirs()? {
            let mut there = logs(&dir).map_err(failed)?;
            let surplus = self.surplus(&there);
            for path in &there {
                if surplus.contains(&path) || log_time(path).is_none_or(|time| time < oldest) {
                    pruned.remove_log(path).map_err(failed)?;
                }
            }
            remove_leftovers(&dir).map_err(failed)?;
            there = logs(&dir).map_err(failed)?;
            if there.is_empty() && is_old(&dir.join(LISTING_FILE), oldest) {
                fs::remove_dir_all(&dir).map_err(failed)?;
            }
        }
        remove_leftovers(self.root()).map_err(failed)?;
        let mut bytes = self.sweep(&mut pruned)?.saturating_add(self.log_bytes()?);
        while bytes > self.limits.total_bytes && self.drop_oldest(&mut pruned).map_err(failed)? {
            bytes = self.sweep(&mut pruned)?.saturating_add(self.log_bytes()?);
        }
        let mut tally = self.tally();
        tally.generation += u64::from(pruned.objects > 0);
        tally = StoreTally { bytes, at: now_nanos(), ..tally };
        self.write_tally(&tally).map_err(failed)?;
        Ok(pruned)
    }

    /// Removes the oldest quarter of all checkpoints, or else the last-listing
    /// pointers. Returns whether anything was removed.
    fn drop_oldest(&self, pruned: &mut PruneReport) -> io::Result<bool> {
        let mut all = Vec::new();
        let mut pointers = Vec::new();
        for dir in self.workspace_dirs().map_err(io::Error::other)? {
            all.extend(logs(&dir)?);
            pointers.push(dir.join(LISTING_FILE));
        }
        pointers.retain(|path| path.exists());
        all.sort_by_key(|path| log_time(path));
        // Keep the newest: it belongs to the current turn.
        if all.len() <= 1 {
            pointers.iter().try_for_each(|path| remove(path))?;
            return Ok(!pointers.is_empty());
        }
        let share = all.len().div_ceil(4).min(all.len() - 1);
        all.iter().take(share).try_for_each(|path| pruned.remove_log(path))?;
        Ok(true)
    }

    /// Removes unreferenced contents; returns the number of bytes left.
    fn sweep(&self, pruned: &mut PruneReport) -> Result<u64, ToolError> {
        let named = self.referenced_hashes()?;
        let mut left = 0;
        for (path, bytes) in self.object_files()? {
            let hash = hash_from_path(&path);
            if hash.is_some_and(|hash| named.contains(&hash)) {
                left += bytes;
                continue;
            }
            remove(&path).map_err(|error| self.io_error("remove", &path, &error))?;
            pruned.objects += 1;
            pruned.bytes += bytes;
        }
        Ok(left)
    }

    /// Returns all contents that a checkpoint or pointer refers to.
    fn referenced_hashes(&self) -> Result<HashSet<ContentHash>, ToolError> {
        let mut named = HashSet::new();
        let mut listings = HashSet::new();
        for dir in self.workspace_dirs()? {
            let there = logs(&dir).map_err(|error| self.io_error("list", &dir, &error))?;
            for manifest in
                there.iter().filter_map(|path| CheckpointManifest::load(path).ok().flatten())
            {
                listings.extend(manifest.trees.iter().map(|tree| tree.listing));
                named.extend(manifest.changes.values().filter_map(|change| match change.before {
                    SavedState::File { hash, .. } => Some(hash),
                    _ => None,
                }));
            }
            listings.extend(self.pointer(&dir).map(|pointer| pointer.listing));
        }
        for hash in listings {
            named.insert(hash);
            if let Ok(listing) = TreeListing::load(&self.objects, hash) {
                named.extend(listing.hashes());
            }
        }
        Ok(named)
    }

    /// Lists all object files with their sizes.
    fn object_files(&self) -> Result<Vec<(PathBuf, u64)>, ToolError> {
        let list = |path: &Path| match fs::read_dir(path) {
            Ok(entries) => Ok(entries.flatten().collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(self.io_error("list", path, &error)),
        };
        let mut found = Vec::new();
        for drawer in list(self.objects.dir())? {
            for entry in list(&drawer.path())? {
                found.push((entry.path(), entry.metadata().map_or(0, |m| m.len())));
            }
        }
        Ok(found)
    }

    pub(crate) fn pointer(&self, dir: &Path) -> Option<ListingPointer> {
        serde_json::from_slice(&fs::read(dir.join(LISTING_FILE)).ok()?).ok()
    }

    pub(crate) fn write_pointer(&self, dir: &Path, pointer: &ListingPointer) -> io::Result<()> {
        replace(&dir.join(LISTING_FILE), &serde_json::to_vec(pointer)?)
    }
}

fn hash_from_path(path: &Path) -> Option<ContentHash> {
    let name = path.file_name()?.to_str()?;
    if name.starts_with(PART_PREFIX) {
        return None;
    }
    let drawer = path.parent()?.file_name()?.to_str()?;
    ContentHash::from_hex(&format!("{drawer}{name}"))
}

/// Removes incomplete files of processes that died.
fn remove_leftovers(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)?.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(PART_PREFIX.as_bytes()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Returns the start time of a checkpoint, from its file name.
pub(crate) fn log_time(log: &Path) -> Option<i64> {
    log.file_stem()?.to_str()?.split('-').next()?.parse().ok()
}

fn is_old(path: &Path, oldest: i64) -> bool {
    let Ok(modified) = fs::metadata(path).and_then(|found| found.modified()) else { return true };
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX) < oldest
}

/// Removes a file; a missing file is not an error.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Replaces a small file atomically, without syncing.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::hash::{BuildHasher as _, RandomState};
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let name = format!("{PART_PREFIX}{:016x}", RandomState::new().hash_one(0));
    let part = path.with_file_name(name);
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&part)?;
    let moved = file.write_all(bytes).and_then(|()| fs::rename(&part, path));
    moved.inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })
}
