//! Renames what children create at forbidden paths. Landlock cannot forbid a
//! single name in a writable directory, and an empty placeholder would change
//! the behavior of other programs: an empty `.bash_profile` keeps a shell from
//! reading `.profile`. So the entry gets a name that no program reads. Nothing
//! is lost, as another process may have created it.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hermes_core::Confinement;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat_with, statat};
use rustix::io::Errno;

/// Maximum attempts to find a free name.
const MAX_RENAME_ATTEMPTS: usize = 8;

/// Paths that must not be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ForbiddenPaths(Vec<ForbiddenPath>);

/// A writable tree, and a forbidden path in it. The path had no symlinks when
/// it was resolved: a child created any that it has now.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ForbiddenPath {
    tree: PathBuf,
    path: PathBuf,
}

impl ForbiddenPaths {
    /// Returns the quarantined paths of a confinement that are in its writable
    /// trees.
    pub(crate) fn from_spec(confinement: &Confinement) -> Self {
        if confinement.quarantined.is_empty() {
            return Self::default();
        }
        let real = |path: &PathBuf| fs::canonicalize(path).ok();
        let trees: Vec<PathBuf> = confinement.write.iter().filter_map(real).collect();
        let place = |path: &PathBuf| {
            let path = resolve_parents(path)?;
            let tree = trees.iter().filter(|tree| path.starts_with(tree) && path != **tree);
            let tree = tree.min_by_key(|tree| tree.components().count())?.clone();
            Some(ForbiddenPath { tree, path })
        };
        Self(confinement.quarantined.iter().filter_map(place).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter().map(|place| &place.path)
    }

    /// Whether a forbidden path at or below `path` exists.
    pub(crate) fn has_violation_below(&self, path: &Path) -> bool {
        self.paths().any(|own| own.starts_with(path) && fs::symlink_metadata(own).is_ok())
    }

    /// Renames whatever exists at the paths.
    pub(crate) fn quarantine(&self) {
        for place in &self.0 {
            if fs::symlink_metadata(&place.path).is_ok() {
                // No caller can receive the error; the next call tries again.
                place.quarantine().ok();
            }
        }
    }
}

impl ForbiddenPath {
    /// Walks to the path without following symlinks, which could lead to what
    /// the child itself may not touch.
    fn quarantine(&self) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(rest) = self.path.strip_prefix(&self.tree) else { return Ok(()) };
        let mut dir: OwnedFd = rustix::fs::open(&self.tree, flags, Mode::empty())?;
        let mut names = rest.components().peekable();
        while let Some(Component::Normal(name)) = names.next() {
            let about = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let kind = rustix::fs::FileType::from_raw_mode(about.st_mode);
            if names.peek().is_none() || kind.is_symlink() {
                return rename_away(&dir, Path::new(name));
            }
            dir = openat(&dir, name, flags, Mode::empty())?;
        }
        Ok(())
    }
}

fn rename_away(dir: &OwnedFd, name: &Path) -> Result<(), Errno> {
    let mut last = Err(Errno::EXIST);
    for attempt in 0..MAX_RENAME_ATTEMPTS {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut other = name.as_os_str().to_owned();
        other.push(format!(".refused-{:x}{attempt}", now.as_nanos()));
        last = renameat_with(dir, name, dir, &other, RenameFlags::NOREPLACE);
        if last != Err(Errno::EXIST) {
            return last;
        }
    }
    last
}

/// Resolves symlinks in the existing parents of the path.
fn resolve_parents(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find_map(|dir| {
        let rest = path.strip_prefix(dir).ok()?;
        fs::canonicalize(dir).ok().map(|dir| dir.join(rest))
    })
}

#[cfg(test)]
#[path = "quarantine_tests.rs"]
mod tests;
