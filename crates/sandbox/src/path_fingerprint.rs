//! Detects changes to the files that a sandbox was prepared for.
//!
//! The check runs before every child, so it must be cheap. Creating, replacing
//! or removing a file changes its directory: as long as the directory has the
//! same stamp, its entries need no check.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_core::Confinement;

use crate::mount_masks::MountMasks;

/// Device, inode and creation time, as inode numbers are reused.
type FileIdentity = (u64, u64, Option<SystemTime>);

/// A change within this time of the previous one may not change the stamp.
const MIN_CTIME_AGE: Duration = Duration::from_millis(20);

/// Identities of files, grouped by directory.
#[derive(Debug)]
pub(crate) struct PathFingerprint {
    directories: Vec<DirFingerprint>,
}

#[derive(Debug)]
struct DirFingerprint {
    path: PathBuf,
    /// `None` if the stamp says nothing about the entries.
    stamp: Option<DirStamp>,
    entries: Vec<(PathBuf, Option<FileIdentity>)>,
    /// Whether the stamp covers the entries: none is a symlink, whose target is
    /// elsewhere.
    is_plain: bool,
}

/// Identity and change time of a directory. No process can set the change time
/// back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DirStamp {
    directory: (u64, u64),
    changed: (i64, i64),
}

impl PathFingerprint {
    /// Records all paths that the confinement names or that are masked.
    pub(crate) fn new(confinement: &Confinement, covers: &MountMasks) -> Self {
        let named = [
            &confinement.read,
            &confinement.write,
            &confinement.read_only,
            &confinement.frozen_nested,
            &confinement.hidden,
        ];
        let covered = covers.paths().map(Path::to_owned);
        Self::from_paths(covered.chain(named.into_iter().flatten().cloned()))
    }

    fn from_paths(paths: impl Iterator<Item = PathBuf>) -> Self {
        let mut dirs: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for path in paths {
            let dir = path.parent().unwrap_or(&path).to_owned();
            dirs.entry(dir).or_default().push(path);
        }
        Self { directories: dirs.into_iter().map(DirFingerprint::read).collect() }
    }

    /// Whether any path was replaced, created or removed. Editors and git
    /// replace a file with every save, which loses its mask.
    pub(crate) fn has_changed(&mut self) -> bool {
        self.directories.iter_mut().any(DirFingerprint::has_changed)
    }
}

impl DirFingerprint {
    fn read((path, mut paths): (PathBuf, Vec<PathBuf>)) -> Self {
        paths.sort();
        paths.dedup();
        let stamp = DirStamp::read(&path);
        let is_link = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
        let is_plain = paths.len() > 1 && !paths.iter().any(is_link);
        let look = |path: PathBuf| {
            let identity = identity(&path);
            (path, identity)
        };
        Self { path, stamp, entries: paths.into_iter().map(look).collect(), is_plain }
    }

    fn has_changed(&mut self) -> bool {
        // A single entry is as cheap to check as its directory.
        let stamp = if self.is_plain { DirStamp::read(&self.path) } else { None };
        if stamp.is_some() && stamp == self.stamp {
            return false;
        }
        if self.entries.iter().any(|(path, before)| identity(path) != *before) {
            return true;
        }
        self.stamp = stamp;
        false
    }
}

impl DirStamp {
    /// Returns `None` if the directory does not exist, or changed just now.
    fn read(dir: &Path) -> Option<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let about = fs::metadata(dir).ok()?;
        let (seconds, nanos) = (about.ctime(), about.ctime_nsec());
        let then = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
        let is_settled = now.checked_sub(then).is_some_and(|age| age >= MIN_CTIME_AGE);
        is_settled
            .then_some(Self { directory: device_and_inode(&about), changed: (seconds, nanos) })
    }
}

fn identity(path: &Path) -> Option<FileIdentity> {
    let about = fs::metadata(path).ok()?;
    let (dev, ino) = device_and_inode(&about);
    Some((dev, ino, about.created().ok()))
}

fn device_and_inode(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

#[cfg(test)]
#[path = "path_fingerprint_tests.rs"]
mod tests;
