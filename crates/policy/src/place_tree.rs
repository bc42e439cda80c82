//! Finds protected names below a directory with few system calls: nothing is
//! looked up in a missing directory.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of entries listed per directory; beyond it, each name is
/// looked up individually.
const MAX_LISTED_ENTRIES: usize = 4096;

/// Maximum number of links kept directly inside a protected tree.
const MAX_TREE_LINKS: usize = 256;

/// Names below a directory, by component.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlaceTree {
    children: HashMap<OsString, PlaceTree>,
    is_place: bool,
}

/// Result of a survey of the file system.
#[derive(Debug, Default)]
pub(crate) struct PlaceSurvey {
    /// Names that exist.
    pub(crate) present: Vec<PathBuf>,
    /// Symlinks on the way to a name, at a name, and directly inside a
    /// directory of that name.
    pub(crate) links: Vec<PathBuf>,
    /// Directories that were searched.
    pub(crate) directories: Vec<PathBuf>,
}

impl PlaceTree {
    /// Builds the tree from the paths that are below `base`.
    pub(crate) fn new<'a>(base: &Path, places: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let mut tree = Self::default();
        for below in places.into_iter().filter_map(|place| place.strip_prefix(base).ok()) {
            let mut node = &mut tree;
            for part in below.iter() {
                node = node.children.entry(part.to_owned()).or_default();
            }
            node.is_place = true;
        }
        tree
    }

    /// Searches for the names below `base`.
    pub(crate) fn survey(&self, base: &Path) -> PlaceSurvey {
        let mut survey = PlaceSurvey::default();
        self.survey_directory(base, &mut survey);
        survey
    }

    fn survey_directory(&self, directory: &Path, survey: &mut PlaceSurvey) {
        if self.children.is_empty() {
            return;
        }
        let Ok(entries) = fs::read_dir(directory) else { return };
        survey.directories.push(directory.to_owned());
        let mut listed = 0;
        for entry in entries.flatten().take(MAX_LISTED_ENTRIES) {
            listed += 1;
            if let Some((name, node)) = self.children.get_key_value(&entry.file_name())
                && let Ok(kind) = entry.file_type()
            {
                node.record_entry(directory, name, kind, survey);
            }
        }
        if listed == MAX_LISTED_ENTRIES {
            for (name, node) in &self.children {
                let path = directory.join(name);
                let is_known = |known: &[PathBuf]| known.contains(&path);
                if is_known(&survey.present) || is_known(&survey.links) {
                    continue;
                }
                if let Ok(facts) = fs::symlink_metadata(&path) {
                    node.record_entry(directory, name, facts.file_type(), survey);
                }
            }
        }
    }

    fn record_entry(
        &self,
        directory: &Path,
        name: &OsStr,
        kind: fs::FileType,
        survey: &mut PlaceSurvey,
    ) {
        let path = directory.join(name);
        if kind.is_symlink() {
            survey.links.push(path.clone());
        }
        let is_directory = kind.is_dir() || kind.is_symlink() && path.is_dir();
        if self.is_place && (!kind.is_symlink() || path.exists()) {
            survey.present.push(path.clone());
        }
        if !is_directory {
            return;
        }
        if self.is_place {
            survey.directories.push(path.clone());
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            let links = entries
                .take(MAX_LISTED_ENTRIES)
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
            survey.links.extend(links.take(MAX_TREE_LINKS).map(|entry| entry.path()));
        }
        self.survey_directory(&path, survey);
    }
}

#[cfg(test)]
#[path = "place_tree_tests.rs"]
mod tests;
