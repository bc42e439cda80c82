//! How a tree is at one moment: what is told apart from one look to the next.

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

/// Entries of a tree that can be watched.
const MAX_ENTRIES: usize = 200_000;
/// Levels of a tree.
const MAX_TREE_DEPTH: usize = 256;

/// Everything that is watched, by path.
pub(super) type TreeSnapshot = BTreeMap<PathBuf, EntryStamp>;

/// What came and went between two looks, by path.
pub(super) type TransientEntries = BTreeMap<PathBuf, EntryType>;

/// What a look finds.
#[derive(Debug, Default)]
pub(super) struct TreeScan {
    pub(super) state: TreeSnapshot,
    /// Which of the watched paths are not there.
    pub(super) missing: Vec<PathBuf>,
    /// Folders in which nothing can be seen.
    pub(super) unreadable: Vec<PathBuf>,
    /// What has gone of that which was to be looked for.
    pub(super) transient: TransientEntries,
}

/// What is known of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryStamp {
    pub(super) kind: EntryType,
    pub(super) size: u64,
    /// Nanoseconds since 1970, also negative.
    pub(super) modified: i128,
    pub(super) mode: u32,
    pub(super) identity: (u64, u64),
    /// When a folder was made, where the system knows: its number may be that
    /// of one that is gone.
    pub(super) born: Option<i128>,
}

/// The kinds that are told apart.
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

    /// The same of a folder, which is at a real place.
    fn from_dir_facts(facts: &FileMetadata, place: &Path) -> Self {
        let found = std::fs::symlink_metadata(place).ok();
        let found =
            found.filter(|found| (found.dev(), found.ino()) == Self::from_facts(facts).identity);
        let born = found.and_then(|found| found.created().ok()).map(nanoseconds);
        Self { born, ..Self::from_facts(facts) }
    }

    /// Whether nothing worth telling is different. What happens in a folder
    /// changes its time and size, and is told by itself.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        let is_folder = |stamp: &Self| stamp.kind == EntryType::Directory;
        (is_folder(self) && is_folder(other)) || self == other
    }
}

/// Since 1970, also negative.
fn nanoseconds(at: SystemTime) -> i128 {
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i128::try_from(since.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => i128::try_from(before.duration().as_nanos()).map_or(0, |n| -n),
    }
}

/// A folder on the way down.
struct WatchLevel {
    /// As it was named.
    path: PathBuf,
    /// Where it really is.
    place: PathBuf,
    folder: OpenDir,
    left: std::vec::IntoIter<DirEntry>,
    rules: Option<DirIgnoreRules>,
}

/// A look at everything.
pub(super) struct TreeScanner<'a> {
    pub(super) request: &'a WatchRequest,
    pub(super) cx: &'a ToolContext,
    /// Told of each folder before it is read, so that nothing that happens
    /// in it afterwards is missed.
    pub(super) enter: &'a mut dyn FnMut(&Path, (u64, u64)),
    /// What came and went, by its real place. The rules of its folder say
    /// whether it would have been seen.
    pub(super) gone: &'a TransientEntries,
    /// What must not be shown.
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
            // The folder tells when another file takes its place.
            if let Some(above) = real.parent() {
                (self.enter)(above, (0, 0));
            }
            self.found.state.insert(root.to_path_buf(), EntryStamp::from_facts(&facts));
            return Ok(());
        }
        (self.enter)(&real, (facts.identity.dev, facts.identity.ino));
        self.found.state.insert(root.to_path_buf(), EntryStamp::from_dir_facts(&facts, &real));
        match files.open_dir(root) {
            Ok(folder) => self.walk(&files, root, &real, folder),
            // It went away at this very moment.
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
            // Gone between the list and the look: the next one tells.
            let Ok(facts) = level.folder.metadata(name) else { continue };
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
                let opened = level.folder.open_dir(name);
                let entered =
                    opened.and_then(|folder| WatchLevel::enter(&path, place, folder, rules));
                match entered {
                    Ok(below) => {
                        self.add_transient(&below);
                        levels.push(below);
                    }
                    // Gone at this very moment: the next look tells.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(_) => self.found.unreadable.push(path),
                }
            }
        }
    }

    fn is_veiled(&self, place: &Path) -> bool {
        self.veil.as_ref().is_some_and(|veil| veil.hides(place))
    }

    /// What came and went in a folder, as far as it would have been seen. Hidden
    /// files that do so are of programs at work, such as editors.
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
    /// `above` are the rules of the folders above.
    fn enter(
        path: &Path,
        place: PathBuf,
        folder: OpenDir,
        above: Option<DirIgnoreRules>,
    ) -> io::Result<Self> {
        let left: Vec<DirEntry> = folder.entries()?.flatten().collect();
        let rules = above.map(|above| {
            let mut marks = IgnoreMarkers::default();
            left.iter().for_each(|entry| marks.note(entry.name.as_encoded_bytes()));
            above.for_dir(&place, marks, |name| folder.open(name))
        });
        Ok(Self { path: path.to_path_buf(), place, folder, left: left.into_iter(), rules })
    }

    fn is_ignored(&self, name: &OsStr, is_folder: bool, place: &Path) -> bool {
        self.rules
            .as_ref()
            .is_some_and(|rules| name == ".git" || rules.is_ignored(place, is_folder) == Some(true))
    }
}

fn too_deep(root: &Path) -> ToolError {
    ToolError::limit(format!(
        "{} has more than {MAX_TREE_DEPTH} levels of folders",
        display_path(root)
    ))
    .with_hint("Watch a folder below, or use recursive=false.")
}

fn too_many(root: &Path) -> ToolError {
    ToolError::limit(format!("{} holds more than {MAX_ENTRIES} entries", display_path(root)))
        .with_hint("Watch a folder below, or leave out what git ignores with gitignore=true.")
}
