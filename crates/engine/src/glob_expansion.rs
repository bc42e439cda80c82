//! What the patterns of commands stand for at the moment, and what is below
//! folders: looked up, up to a bound.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use hermes_shell::{is_pattern, may_match};

/// How many entries of folders are looked at for one call.
const MAX_DIR_ENTRIES: usize = 20_000;

/// The part of a pattern that stands for folders at any depth.
const ANY_DEPTH: &str = "**";

/// How much may still be looked at.
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
    /// The places that a path stands for which may be a pattern; none if that
    /// is more than is looked at.
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

    /// What is below a folder, relative to it; links are not followed.
    pub(crate) fn descendants(&mut self, folder: &Path) -> Option<Vec<PathBuf>> {
        let mut found = vec![PathBuf::new()];
        let mut next = 0;
        while let Some(at) = found.get(next).cloned() {
            next += 1;
            if is_real_dir(&folder.join(&at)) {
                let inside = self.read_entries(&folder.join(&at))?;
                found.extend(inside.iter().filter_map(|path| path.file_name()).map(|n| at.join(n)));
            }
        }
        found.remove(0);
        Some(found)
    }

    /// The folders themselves, and all that are below them.
    fn expand_recursive(&mut self, folders: Vec<PathBuf>) -> Option<Vec<PathBuf>> {
        let mut found = folders;
        let mut next = 0;
        while let Some(folder) = found.get(next).cloned() {
            next += 1;
            let inside = self.read_entries(&folder)?;
            found.extend(inside.into_iter().filter(|path| is_real_dir(path) && !is_hidden(path)));
        }
        Some(found)
    }

    /// What one part of a pattern leads to. What is hidden has to be asked
    /// for.
    fn expand_component(&mut self, folders: &[PathBuf], part: &str) -> Option<Vec<PathBuf>> {
        let is_meant = |path: &PathBuf| {
            let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
            (part.starts_with(['.', '[']) || !is_hidden(path)) && may_match(part, &name)
        };
        let mut found = Vec::new();
        for folder in folders {
            found.extend(self.read_entries(folder)?.into_iter().filter(is_meant));
        }
        Some(found)
    }

    fn read_entries(&mut self, folder: &Path) -> Option<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.entries_left = self.entries_left.checked_sub(1)?;
            found.push(entry.path());
        }
        Some(found)
    }
}

/// The folder up to the first part that is a pattern.
pub(crate) fn literal_prefix(pattern: &Path) -> PathBuf {
    let is_open = |part: &Component<'_>| is_pattern(&part.as_os_str().to_string_lossy());
    pattern.components().take_while(|part| !is_open(part)).collect()
}

/// A link to a folder is none.
fn is_real_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
#[path = "glob_expansion_tests.rs"]
mod tests;
