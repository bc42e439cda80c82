//! Targets of the globs in a command: `build/*` names the entries of a
//! directory, but a symlink among them leads elsewhere.

use std::path::{Component, Path, PathBuf};

use hermes_core::{Effect, Resource, Scope};
use hermes_shell::{LeafCommand, is_pattern, may_match};

/// Maximum number of directory entries examined for one command.
const MAX_ENTRIES: usize = 20_000;

/// Expands globs within a budget of directory entries.
#[derive(Debug)]
pub(crate) struct GlobTargets {
    entries_left: usize,
}

impl Default for GlobTargets {
    fn default() -> Self {
        Self { entries_left: MAX_ENTRIES }
    }
}

impl GlobTargets {
    /// Adds the paths outside their base directory that the globs of a simple
    /// command change.
    pub(crate) fn add_targets(&mut self, leaf: &mut LeafCommand) {
        for (scope, pattern) in std::mem::take(&mut leaf.globs) {
            let found = match self.targets_outside(&scope, &pattern) {
                Some(places) => places.into_iter().map(Resource::Path).collect(),
                // Too many entries to examine.
                None => vec![Resource::Any],
            };
            for resource in found {
                let effect = Effect { scope: scope.clone(), resource };
                if !leaf.effects.contains(&effect) {
                    leaf.effects.push(effect);
                }
            }
        }
    }

    /// Returns the real paths outside the glob's base directory; `None` if
    /// there are too many entries.
    fn targets_outside(&mut self, scope: &Scope, pattern: &Path) -> Option<Vec<PathBuf>> {
        let parts: Vec<Component<'_>> = pattern.components().collect();
        let is_open = |part: &Component<'_>| is_pattern(&part.as_os_str().to_string_lossy());
        let Some(first) = parts.iter().position(is_open) else { return Some(Vec::new()) };
        let base: PathBuf = parts.get(..first)?.iter().collect();
        let removes = *scope == Scope::FILE_DELETE;
        // The base directory as it was judged.
        let home = match removes {
            true => hermes_files::real_entry(&base),
            false => hermes_files::real_path(&base),
        };
        let Ok(home) = home else { return Some(Vec::new()) };
        let mut dirs = vec![base];
        let (last, inner) = parts.get(first..)?.split_last()?;
        for part in inner {
            dirs = self.expand_part(&dirs, &part.as_os_str().to_string_lossy())?;
        }
        let mut found = Vec::new();
        for dir in dirs {
            // A write through a symlink changes its target.
            let links = match removes {
                true => Vec::new(),
                false => self.links(&dir, &last.as_os_str().to_string_lossy())?,
            };
            for place in [dir].iter().chain(&links) {
                let real = hermes_files::real_path(place).ok();
                let out = real.filter(|real| !real.starts_with(&home) && !found.contains(real));
                found.extend(out);
            }
        }
        Some(found)
    }

    /// Returns the directories that one component of a glob expands to.
    fn expand_part(&mut self, dirs: &[PathBuf], part: &str) -> Option<Vec<PathBuf>> {
        if !is_pattern(part) {
            return Some(dirs.iter().map(|dir| dir.join(part)).collect());
        }
        // `**` matches zero or more nested directories.
        let is_deep = part == "**";
        let mut found = if is_deep { dirs.to_vec() } else { Vec::new() };
        let mut open = dirs.to_vec();
        while let Some(dir) = open.pop() {
            for (path, is_link) in self.entries(&dir, part)? {
                if !path.is_dir() {
                    continue;
                }
                if is_deep && !is_link {
                    open.push(path.clone());
                }
                found.push(path);
            }
        }
        Some(found)
    }

    fn links(&mut self, dir: &Path, part: &str) -> Option<Vec<PathBuf>> {
        let entries = self.entries(dir, part)?.into_iter();
        Some(entries.filter(|(_, is_link)| *is_link).map(|(path, _)| path).collect())
    }

    /// Returns the matching entries of a directory, and whether each is a
    /// symlink.
    fn entries(&mut self, dir: &Path, part: &str) -> Option<Vec<(PathBuf, bool)>> {
        let Ok(entries) = std::fs::read_dir(dir) else { return Some(Vec::new()) };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            self.entries_left = self.entries_left.checked_sub(1)?;
            if may_match(part, &entry.file_name().to_string_lossy()) {
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                found.push((entry.path(), is_link));
            }
        }
        Some(found)
    }
}
