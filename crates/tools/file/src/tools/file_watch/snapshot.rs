//! Snapshots of a tree, compared from one scan to the next.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_core::{ErrorKind, ToolContext, ToolError};
use hermes_files::{DirEntry, FileAccess, FileKind, FileMetadata, OpenDir};
use hermes_search::{DirIgnoreRules, HiddenPathRules, IgnoreMarkers};

use super::WatchRequest;
use crate::path_text::display_path;

/// Maximum number of watched entries.
const MAX_ENTRIES: usize = 200_000;
/// Maximum depth of a tree.
const MAX_TREE_DEPTH: usize = 256;

/// All watched entries, by path.
pub(super) type TreeSnapshot = BTreeMap<PathBuf, EntryStamp>;

/// Entries created and deleted between two scans, by path.
pub(super) type TransientEntries = BTreeMap<PathBuf, EntryType>;

/// Result of a scan.
#[derive(Debug, Default)]
pub(super) struct TreeScan {
    pub(super) state: TreeSnapshot,
    /// Watched paths that do not exist.
    pub(super) missing: Vec<PathBuf>,
    /// Directories that cannot be read.
    pub(super) unreadable: Vec<PathBuf>,
    /// Visible entries of [`TreeScanner::gone`].
    pub(super) transient: TransientEntries,
}

/// State of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryStamp {
    pub(super) kind: EntryType,
    pub(super) size: u64,
    /// Nanoseconds since the Unix epoch, may be negative.
    pub(super) modified: i128,
    pub(super) mode: u32,
    pub(super) identity: (u64, u64),
    /// Birth time of a directory, where the system provides it: its inode may
    /// be reused.
    pub(super) born: Option<i128>,
}

/// Kinds that a watch distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryType {
    File,
    Directory,
    Link,
    Other,
}

impl EntryType {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "dir",
            Self::Link => "symlink",
            Self::Other => "other",
        }
    }
}

impl From<FileKind> for EntryType {
    fn from(kind: FileKind) -> Self {
        match kind {
            FileKind::File => Self::File,
            FileKind::Directory => Self::Directory,
            FileKind::Link => Self::Link,
            _ => Self::Other,
        }
    }
}

impl EntryStamp {
    fn from_facts(facts: &FileMetadata) -> Self {
        Self {
            kind: facts.kind.into(),
            size: facts.len,
            modified: facts.modified.map_or(0, nanoseconds),
            mode: facts.mode,
            identity: (facts.identity.dev, facts.identity.ino),
            born: None,
        }
    }

    /// Like [`EntryStamp::from_facts`], for a directory at its canonical path.
    fn from_dir_facts(facts: &FileMetadata, place: &Path) -> Self {
        let found = std::fs::symlink_metadata(place).ok();
        let found =
            found.filter(|found| (found.dev(), found.ino()) == Self::from_facts(facts).identity);
        let born = found.and_then(|found| found.created().ok()).map(nanoseconds);
        Self { born, ..Self::from_facts(facts) }
    }

    /// Whether there is no change to report. Changes inside a directory alter
    /// its time and size, but are reported on their own entries.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        let is_folder = |stamp: &Self| stamp.kind == EntryType::Directory;
        (is_folder(self) && is_folder(other)) || self == other
    }
}

/// Converts to nanoseconds since the Unix epoch, may be negative.
fn nanoseconds(at: SystemTime) -> i128 {
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i128::try_from(since.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => i128::try_from(before.duration().as_nanos()).map_or(0, |n| -n),
    }
}

/// A directory being scanned.
struct WatchLevel {
    /// Path as the caller gave it.
    path: PathBuf,
    /// Canonical path.
    place: PathBuf,
    dir: OpenDir,
    left: std::vec::IntoIter<DirEntry>,
    rules: Option<DirIgnoreRules>,
}

/// A scan of all watched paths.
pub(super) struct TreeScanner<'a> {
    pub(super) request: &'a WatchRequest,
    pub(super) cx: &'a ToolContext,
    /// Called for each directory before it is read, so no later change in it is
    /// missed.
    pub(super) enter: &'a mut dyn FnMut(&Path, (u64, u64)),
    /// Entries created and deleted, by canonical path. The ignore rules of
    /// their directory decide whether to report them.
    pub(super) gone: &'a TransientEntries,
    /// Paths that must not be shown.
    veil: Option<HiddenPathRules>,
    found: TreeScan,
}

impl<'a> TreeScanner<'a> {
    pub(super) fn new(
        request: &'a WatchRequest,
        cx: &'a ToolContext,
        enter: &'a mut dyn FnMut(&Path, (u64, u64)),
        gone: &'a TransientEntries,
    ) -> Self {
        let veil = HiddenPathRules::from_grants(&cx.grants);
        Self { request, cx, enter, gone, veil, found: TreeScan::default() }
    }

    pub(super) fn scan(mut self) -> Result<TreeScan, ToolError> {
        for root in &self.request.roots {
            self.add(root)?;
        }
        Ok(self.found)
    }

    fn add(&mut self, root: &Path) -> Result<(), ToolError> {
        let files = FileAccess::new(self.cx);
        let real = files.real_path(root)?;
        let facts = match files.metadata(root) {
            Ok(facts) => facts,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.found.missing.push(root.to_path_buf());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if facts.kind != FileKind::Directory {
            // Watching the directory detects a replacement of the file.
            if let Some(above) = real.parent() {
                (self.enter)(above, (0, 0));
            }
            self.found.state.insert(root.to_path_buf(), EntryStamp::from_facts(&facts));
            return Ok(());
        }
        (self.enter)(&real, (facts.identity.dev, facts.identity.ino));
        self.found.state.insert(root.to_path_buf(), EntryStamp::from_dir_facts(&facts, &real));
        match files.open_dir(root) {
            Ok(dir) => self.walk(&files, root, &real, dir),
            // The directory was deleted during the scan.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.found.state.remove(root);
                self.found.missing.push(root.to_path_buf());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn walk(
        &mut self,
        files: &FileAccess<'_>,
        root: &Path,
        real: &Path,
        top: OpenDir,
    ) -> Result<(), ToolError> {
        let rules = if self.request.gitignore {
            Some(DirIgnoreRules::from_parents(real, &files.ignore_rules_above(root)?))
        } else {
            None
        };
        let mut levels = match WatchLevel::enter(root, real.to_path_buf(), top, rules) {
            Ok(top) => vec![top],
            Err(_) => {
                self.found.unreadable.push(root.to_path_buf());
                return Ok(());
            }
        };
        levels.iter().for_each(|top| self.add_transient(top));
        loop {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else { return Ok(()) };
            self.cx.check_cancelled()?;
            let Some(entry) = level.left.next() else {
                levels.pop();
                continue;
            };
            let place = level.place.join(&entry.name);
            let is_folder = entry.kind == FileKind::Directory;
            if self.is_veiled(&place) || level.is_ignored(&entry.name, is_folder, &place) {
                continue;
            }
            let name = Path::new(&entry.name);
            // Deleted since it was listed: the next scan reports it.
            let Ok(facts) = level.dir.metadata(name) else { continue };
            let path = level.path.join(&entry.name);
            let stamp = match facts.kind {
                FileKind::Directory => EntryStamp::from_dir_facts(&facts, &place),
                _ => EntryStamp::from_facts(&facts),
            };
            self.found.state.insert(path.clone(), stamp);
            if self.found.state.len() > MAX_ENTRIES {
                return Err(too_many(root));
            }
            if facts.kind == FileKind::Directory && self.request.recursive {
                if depth >= MAX_TREE_DEPTH {
                    return Err(too_deep(root));
                }
                (self.enter)(&place, (facts.identity.dev, facts.identity.ino));
                let rules = level.rules.clone();
                let opened = level.dir.open_dir(name);
                let entered = opened.and_then(|dir| WatchLevel::enter(&path, place, dir, rules));
                match entered {
                    Ok(below) => {
                        self.add_transient(&below);
                        levels.push(below);
                    }
                    // Deleted since it was listed: the next scan reports it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(_) => self.found.unreadable.push(path),
                }
            }
        }
    }

    fn is_veiled(&self, place: &Path) -> bool {
        self.veil.as_ref().is_some_and(|veil| veil.hides(place))
    }

    /// Adds the transient entries of a directory that are visible. Skips hidden
    /// ones: they are temporary files of editors and similar programs.
    fn add_transient(&mut self, level: &WatchLevel) {
        let below = self.gone.range(level.place.clone()..);
        for (place, sort) in below.take_while(|(place, _)| place.starts_with(&level.place)) {
            let Some(name) = place.file_name().filter(|_| place.parent() == Some(&*level.place))
            else {
                continue;
            };
            let is_folder = *sort == EntryType::Directory;
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if !self.is_veiled(place) && !level.is_ignored(name, is_folder, place) {
                self.found.transient.insert(level.path.join(name), *sort);
            }
        }
    }
}

impl WatchLevel {
    /// `above` are the rules of the parent directories.
    fn enter(
        path: &Path,
        place: PathBuf,
        dir: OpenDir,
        above: Option<DirIgnoreRules>,
    ) -> io::Result<Self> {
        let left: Vec<DirEntry> = dir.entries()?.flatten().collect();
        let rules = above.map(|above| {
            let mut marks = IgnoreMarkers::default();
            left.iter().for_each(|entry| marks.note(entry.name.as_encoded_bytes()));
            above.for_dir(&place, marks, |name| dir.open(name))
        });
        Ok(Self { path: path.to_path_buf(), place, dir, left: left.into_iter(), rules })
    }

    fn is_ignored(&self, name: &OsStr, is_folder: bool, place: &Path) -> bool {
        self.rules
            .as_ref()
            .is_some_and(|rules| name == ".git" || rules.is_ignored(place, is_folder) == Some(true))
    }
}

fn too_deep(root: &Path) -> ToolError {
    ToolError::limit(format!(
        "{} has more than {MAX_TREE_DEPTH} directory levels",
        display_path(root)
    ))
    .with_hint("Watch a subdirectory, or use recursive=false.")
}

fn too_many(root: &Path) -> ToolError {
    ToolError::limit(format!("{} contains more than {MAX_ENTRIES} entries", display_path(root)))
        .with_hint("Watch a subdirectory, or skip ignored files with gitignore=true.")
}
