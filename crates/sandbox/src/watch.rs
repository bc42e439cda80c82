//! Notices when the files that a sandbox was prepared for are not the same any
//! more.
//!
//! They are looked at before every child, so a look must be cheap. Whoever
//! makes, replaces or takes away a file changes the folder that it is in: as
//! long as the folder bears the same stamp, nothing in it needs a look.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_core::Confinement;

use crate::covers::Covers;

/// The birth is part of it, as numbers of files are given out again.
type Identity = (u64, u64, Option<SystemTime>);

/// A change within this time of the last one may leave the stamp as it is.
const COARSE: Duration = Duration::from_millis(20);

/// The files as they were, by the folders that they are in.
#[derive(Debug)]
pub(crate) struct Watch {
    folders: Vec<Folder>,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// None if it says nothing of what is in the folder.
    stamp: Option<Stamp>,
    entries: Vec<(PathBuf, Option<Identity>)>,
    /// What is known by its folder: no link, whose other end is elsewhere.
    is_plain: bool,
}

/// Which folder it is, and when what is in it was last changed. Nobody can put
/// that back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    folder: (u64, u64),
    changed: (i64, i64),
}

impl Watch {
    /// Looks at all that the confinement names or that is covered.
    pub(crate) fn new(confinement: &Confinement, covers: &Covers) -> Self {
        let named = [
            &confinement.read,
            &confinement.write,
            &confinement.read_only,
            &confinement.frozen_nested,
            &confinement.hidden,
        ];
        let covered = covers.paths().map(Path::to_owned);
        Self::of(covered.chain(named.into_iter().flatten().cloned()))
    }

    fn of(paths: impl Iterator<Item = PathBuf>) -> Self {
        let mut folders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for path in paths {
            let folder = path.parent().unwrap_or(&path).to_owned();
            folders.entry(folder).or_default().push(path);
        }
        Self { folders: folders.into_iter().map(Folder::look).collect() }
    }

    /// Whether any was replaced, was made or has gone. Editors and git replace
    /// a file with every save, and with the file goes its cover.
    pub(crate) fn has_changed(&mut self) -> bool {
        self.folders.iter_mut().any(Folder::has_changed)
    }
}

impl Folder {
    fn look((path, mut paths): (PathBuf, Vec<PathBuf>)) -> Self {
        paths.sort();
        paths.dedup();
        let stamp = Stamp::of(&path);
        let is_link = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
        let is_plain = paths.len() > 1 && !paths.iter().any(is_link);
        let look = |path: PathBuf| {
            let identity = identity(&path);
            (path, identity)
        };
        Self { path, stamp, entries: paths.into_iter().map(look).collect(), is_plain }
    }

    fn has_changed(&mut self) -> bool {
        // A single one is as soon looked at as its folder.
        let stamp = if self.is_plain { Stamp::of(&self.path) } else { None };
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

impl Stamp {
    /// None if the folder is not there, or was changed but now.
    fn of(folder: &Path) -> Option<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let about = fs::metadata(folder).ok()?;
        let (seconds, nanos) = (about.ctime(), about.ctime_nsec());
        let then = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
        let is_settled = now.checked_sub(then).is_some_and(|age| age >= COARSE);
        is_settled.then_some(Self { folder: place(&about), changed: (seconds, nanos) })
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let about = fs::metadata(path).ok()?;
    let (dev, ino) = place(&about);
    Some((dev, ino, about.created().ok()))
}

fn place(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
