//! Resolves the paths of one command. A command often names the same few
//! directories: each is resolved once, and a file in it needs only one `lstat`.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_core::{Effect, Scope, is_normalized};
use hermes_files::{FileKind, ResolvedPath};

/// Maximum number of cached paths.
const MAX_CACHED_PATHS: usize = 64;

/// A resolved path.
#[derive(Debug, Clone)]
pub(crate) struct EffectTarget {
    /// The real path.
    pub(crate) path: PathBuf,
    /// Device and inode of a file with several hard links.
    pub(crate) hardlink_id: Option<(u64, u64)>,
    is_directory: bool,
}

impl EffectTarget {
    /// Resolves the path of an effect; the error says what failed.
    pub(crate) fn for_effect(effect: &Effect) -> Option<Result<Self, String>> {
        let path = effect.resource.as_path()?;
        let place = if is_delete(effect) {
            hermes_files::real_entry(path).map(|path| Self {
                path,
                hardlink_id: None,
                is_directory: false,
            })
        } else {
            hermes_files::resolve_path(path).map(Self::from)
        };
        Some(place.map_err(|error| error.to_string()))
    }
}

impl From<ResolvedPath> for EffectTarget {
    fn from(found: ResolvedPath) -> Self {
        let is_folder =
            found.metadata.as_ref().is_some_and(|facts| facts.kind == FileKind::Directory);
        let facts = found.metadata.filter(|facts| facts.kind == FileKind::File);
        let identity = facts.map(|facts| facts.identity).filter(|identity| identity.links > 1);
        let shared = identity.map(|identity| (identity.dev, identity.ino));
        Self { path: found.path, hardlink_id: shared, is_directory: is_folder }
    }
}

/// Whether the effect deletes: deleting a symlink affects the link, not its
/// target.
fn is_delete(effect: &Effect) -> bool {
    effect.scope == Scope::FILE_DELETE
}

/// Paths resolved while judging one command.
#[derive(Debug, Default)]
pub(crate) struct PathCache<'a> {
    resolved: Vec<(&'a Path, bool, Result<EffectTarget, String>)>,
    /// Directories whose paths contain no symlinks.
    plain_dirs: Vec<&'a Path>,
}

impl<'a> PathCache<'a> {
    /// Resolves the path of an effect.
    pub(crate) fn resolve(&mut self, effect: &'a Effect) -> Option<&Result<EffectTarget, String>> {
        let path = effect.resource.as_path()?;
        let removes = is_delete(effect);
        let known =
            |(own, entry, _): &(&Path, bool, _)| is_same_spelling(own, path) && *entry == removes;
        let at = match self.resolved.iter().position(known) {
            Some(at) => at,
            None => {
                let beside = if removes { None } else { self.resolve_in_plain_dir(path) };
                let place = beside.map(Ok).or_else(|| EffectTarget::for_effect(effect))?;
                if self.resolved.len() >= MAX_CACHED_PATHS {
                    self.resolved.clear();
                    self.plain_dirs.clear();
                }
                let straight =
                    place.as_ref().ok().filter(|place| is_same_spelling(&place.path, path));
                if let Some(place) = straight.filter(|_| !removes) {
                    self.plain_dirs.extend(path.parent());
                    self.plain_dirs.extend(place.is_directory.then_some(path));
                }
                self.resolved.push((path, removes, place));
                self.resolved.len() - 1
            }
        };
        self.resolved.get(at).map(|(_, _, place)| place)
    }

    /// Resolves a path in a directory known to be free of symlinks.
    fn resolve_in_plain_dir(&self, path: &Path) -> Option<EffectTarget> {
        let dir = path.parent().filter(|_| is_normalized(path))?;
        self.plain_dirs.iter().find(|known| is_same_spelling(known, dir))?;
        let facts = match std::fs::symlink_metadata(path) {
            Ok(facts) if facts.is_symlink() => return None,
            Ok(facts) => Some(facts),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(_) => return None,
        };
        let file = facts.as_ref().filter(|facts| facts.is_file() && facts.nlink() > 1);
        let shared = file.map(|file| (file.dev(), file.ino()));
        let is_folder = facts.is_some_and(|facts| facts.is_dir());
        Some(EffectTarget {
            path: path.to_path_buf(),
            hardlink_id: shared,
            is_directory: is_folder,
        })
    }
}

/// Whether two paths are spelled identically.
pub(crate) fn is_same_spelling(a: &Path, b: &Path) -> bool {
    a.as_os_str() == b.as_os_str()
}

#[cfg(test)]
#[path = "path_cache_tests.rs"]
mod tests;
