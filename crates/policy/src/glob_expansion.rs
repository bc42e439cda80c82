//! Expands glob patterns of commands and lists directories, up to a limit.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use hermes_shell::{is_pattern, may_match};

/// Maximum directory entries read for one call.
const MAX_DIR_ENTRIES: usize = 20_000;

/// The pattern component that matches directories at any depth.
const ANY_DEPTH: &str = "**";

/// Expands patterns within a budget of directory entries.
#[derive(Debug)]
pub(crate) struct GlobExpander {
    entries_left: usize,
}

impl Default for GlobExpander {
    fn default() -> Self {
        Self { entries_left: MAX_DIR_ENTRIES }
    }
}

impl GlobExpander {
    /// Returns the paths that a possible pattern matches; `None` if the budget
    /// is exceeded.
    pub(crate) fn expand(&mut self, pattern: &Path) -> Option<Vec<PathBuf>> {
        let mut found = vec![PathBuf::new()];
        let mut is_open = false;
        for part in pattern.components() {
            let text = part.as_os_str().to_string_lossy();
            if !matches!(part, Component::Normal(_)) || !is_pattern(&text) {
                found.iter_mut().for_each(|place| place.push(part));
                continue;
            }
            is_open = true;
            found = match &*text {
                ANY_DEPTH => self.expand_recursive(found)?,
                text => self.expand_component(&found, text)?,
            };
        }
        found.retain(|place| !is_open || place.symlink_metadata().is_ok());
        Some(found)
    }

    /// Returns the paths below a directory, relative to it; does not follow
    /// symlinks.
    pub(crate) fn descendants(&mut self, dir: &Path) -> Option<Vec<PathBuf>> {
        let mut found = vec![PathBuf::new()];
        let mut next = 0;
        while let Some(at) = found.get(next).cloned() {
            next += 1;
            if is_real_dir(&dir.join(&at)) {
                let inside = self.read_entries(&dir.join(&at))?;
                found.extend(inside.iter().filter_map(|path| path.file_name()).map(|n| at.join(n)));
            }
        }
        found.remove(0);
        Some(found)
    }

    /// Returns the directories and all directories below them.
    fn expand_recursive(&mut self, dirs: Vec<PathBuf>) -> Option<Vec<PathBuf>> {
        let mut found = dirs;
        let mut next = 0;
        while let Some(dir) = found.get(next).cloned() {
            next += 1;
            let inside = self.read_entries(&dir)?;
            found.extend(inside.into_iter().filter(|path| is_real_dir(path) && !is_hidden(path)));
        }
        Some(found)
    }

    /// Returns the matches of one component. Hidden files must be matched
    /// explicitly.
    fn expand_component(&mut self, dirs: &[PathBuf], part: &str) -> Option<Vec<PathBuf>> {
        let is_meant = |path: &PathBuf| {
            let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
            (part.starts_with(['.', '[']) || !is_hidden(path)) && may_match(part, &name)
        };
        let mut found = Vec::new();
        for dir in dirs {
            found.extend(self.read_entries(dir)?.into_iter().filter(is_meant));
        }
        Some(found)
    }

    fn read_entries(&mut self, dir: &Path) -> Option<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            self.entries_left = self.entries_left.checked_sub(1)?;
            found.push(entry.path());
        }
        Some(found)
    }
}

/// Returns the directory before the first pattern component.
pub(crate) fn literal_prefix(pattern: &Path) -> PathBuf {
    let is_open = |part: &Component<'_>| is_pattern(&part.as_os_str().to_string_lossy());
    pattern.components().take_while(|part| !is_open(part)).collect()
}

/// Whether the path is a directory and not a symlink to one.
fn is_real_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
#[path = "glob_expansion_tests.rs"]
mod tests;
