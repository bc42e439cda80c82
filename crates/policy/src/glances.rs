//! Where the paths of one command lead. A command names a few folders again
//! and again: each is followed once, and what lies in it needs but a look.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_core::{Effect, Scope, is_normalized};
use hermes_files::{ResolvedPath, FileKind};

/// More are not kept.
const MOST: usize = 64;

/// Where a path leads.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The real place.
    pub(crate) path: PathBuf,
    /// Device and inode of a file that has several names.
    pub(crate) shared: Option<(u64, u64)>,
    is_folder: bool,
}

impl Place {
    /// Where the path of an effect really is; the error says what is in the way.
    pub(crate) fn of(effect: &Effect) -> Option<Result<Self, String>> {
        let path = effect.resource.as_path()?;
        let place = if removes(effect) {
            hermes_files::real_entry(path).map(|path| Self { path, shared: None, is_folder: false })
        } else {
            hermes_files::resolve_path(path).map(Self::from)
        };
        Some(place.map_err(|error| error.to_string()))
    }
}

impl From<ResolvedPath> for Place {
    fn from(found: ResolvedPath) -> Self {
        let is_folder = found.metadata.as_ref().is_some_and(|facts| facts.kind == FileKind::Directory);
        let facts = found.metadata.filter(|facts| facts.kind == FileKind::File);
        let identity = facts.map(|facts| facts.identity).filter(|identity| identity.links > 1);
        let shared = identity.map(|identity| (identity.dev, identity.ino));
        Self { path: found.path, shared, is_folder }
    }
}

/// A link is deleted, not what it leads to.
fn removes(effect: &Effect) -> bool {
    effect.scope == Scope::FILE_DELETE
}

/// What was seen while one command is judged.
#[derive(Debug, Default)]
pub(crate) struct Glances<'a> {
    seen: Vec<(&'a Path, bool, Result<Place, String>)>,
    /// Folders that no link leads to.
    folders: Vec<&'a Path>,
}

impl<'a> Glances<'a> {
    /// Where the path of an effect really is.
    pub(crate) fn place(&mut self, effect: &'a Effect) -> Option<&Result<Place, String>> {
        let path = effect.resource.as_path()?;
        let removes = removes(effect);
        let known = |(own, entry, _): &(&Path, bool, _)| same(own, path) && *entry == removes;
        let at = match self.seen.iter().position(known) {
            Some(at) => at,
            None => {
                let beside = if removes { None } else { self.beside(path) };
                let place = beside.map(Ok).or_else(|| Place::of(effect))?;
                if self.seen.len() >= MOST {
                    self.seen.clear();
                    self.folders.clear();
                }
                let straight = place.as_ref().ok().filter(|place| same(&place.path, path));
                if let Some(place) = straight.filter(|_| !removes) {
                    self.folders.extend(path.parent());
                    self.folders.extend(place.is_folder.then_some(path));
                }
                self.seen.push((path, removes, place));
                self.seen.len() - 1
            }
        };
        self.seen.get(at).map(|(_, _, place)| place)
    }

    /// The place of a path in a folder that is known.
    fn beside(&self, path: &Path) -> Option<Place> {
        let folder = path.parent().filter(|_| is_normalized(path))?;
        self.folders.iter().find(|known| same(known, folder))?;
        let facts = match std::fs::symlink_metadata(path) {
            Ok(facts) if facts.is_symlink() => return None,
            Ok(facts) => Some(facts),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(_) => return None,
        };
        let file = facts.as_ref().filter(|facts| facts.is_file() && facts.nlink() > 1);
        let shared = file.map(|file| (file.dev(), file.ino()));
        let is_folder = facts.is_some_and(|facts| facts.is_dir());
        Some(Place { path: path.to_path_buf(), shared, is_folder })
    }
}

/// Whether two paths are written the same way.
pub(crate) fn same(a: &Path, b: &Path) -> bool {
    a.as_os_str() == b.as_os_str()
}

#[cfg(test)]
#[path = "glances_tests.rs"]
mod tests;
