//! How a tree is at one moment: what is told apart from one look to the next.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_core::{ErrorKind, ToolContext, ToolError};
use hermes_files::{DirEntry, FileMetadata, FileAccess, OpenDir, FileKind};
use hermes_search::{IgnoreMarkers, DirIgnoreRules, HiddenPathRules};

use super::Request;
use crate::spelling::show;

/// Entries of a tree that can be watched.
const ENTRIES: usize = 200_000;
/// Levels of a tree.
const LEVELS: usize = 256;

/// Everything that is watched, by path.
pub(super) type Snapshot = BTreeMap<PathBuf, Stamp>;

/// What came and went between two looks, by path.
pub(super) type Fleeting = BTreeMap<PathBuf, Sort>;

/// What a look finds.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) state: Snapshot,
    /// Which of the watched paths are not there.
    pub(super) missing: Vec<PathBuf>,
    /// Folders in which nothing can be seen.
    pub(super) unreadable: Vec<PathBuf>,
    /// What has gone of that which was to be looked for.
    pub(super) fleeting: Fleeting,
}

/// What is known of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) kind: Sort,
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
pub(super) enum Sort {
    File,
    Folder,
    Link,
    Other,
}

impl Sort {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "dir",
            Self::Link => "symlink",
            Self::Other => "other",
        }
    }
}

impl From<FileKind> for Sort {
    fn from(kind: FileKind) -> Self {
        match kind {
            FileKind::File => Self::File,
            FileKind::Directory => Self::Folder,
            FileKind::Link => Self::Link,
            _ => Self::Other,
        }
    }
}

impl Stamp {
    fn of(facts: &FileMetadata) -> Self {
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
    fn of_folder(facts: &FileMetadata, place: &Path) -> Self {
        let found = std::fs::symlink_metadata(place).ok();
        let found = found.filter(|found| (found.dev(), found.ino()) == Self::of(facts).identity);
        let born = found.and_then(|found| found.created().ok()).map(nanoseconds);
        Self { born, ..Self::of(facts) }
    }

    /// Whether nothing worth telling is different. What happens in a folder
    /// changes its time and size, and is told by itself.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let is_folder = |stamp: &Self| stamp.kind == Sort::Folder;
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
struct Level {
    /// As it was named.
    path: PathBuf,
    /// Where it really is.
    place: PathBuf,
    folder: OpenDir,
    left: std::vec::IntoIter<DirEntry>,
    rules: Option<DirIgnoreRules>,
}

/// A look at everything.
pub(super) struct Look<'a> {
    pub(super) request: &'a Request,
    pub(super) cx: &'a ToolContext,
    /// Told of each folder before it is read, so that nothing that happens
    /// in it afterwards is missed.
    pub(super) enter: &'a mut dyn FnMut(&Path, (u64, u64)),
    /// What came and went, by its real place. The rules of its folder say
    /// whether it would have been seen.
    pub(super) gone: &'a Fleeting,
    /// What must not be shown.
    veil: Option<HiddenPathRules>,
    found: View,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        request: &'a Request,
        cx: &'a ToolContext,
        enter: &'a mut dyn FnMut(&Path, (u64, u64)),
        gone: &'a Fleeting,
    ) -> Self {
        let veil = HiddenPathRules::from_grants(&cx.grants);
        Self { request, cx, enter, gone, veil, found: View::default() }
    }

    pub(super) fn take(mut self) -> Result<View, ToolError> {
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
            self.found.state.insert(root.to_path_buf(), Stamp::of(&facts));
            return Ok(());
        }
        (self.enter)(&real, (facts.identity.dev, facts.identity.ino));
        self.found.state.insert(root.to_path_buf(), Stamp::of_folder(&facts, &real));
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
        let mut levels = match Level::enter(root, real.to_path_buf(), top, rules) {
            Ok(top) => vec![top],
            Err(_) => {
                self.found.unreadable.push(root.to_path_buf());
                return Ok(());
            }
        };
        levels.iter().for_each(|top| self.recall(top));
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
            if self.is_veiled(&place) || level.leaves_out(&entry.name, is_folder, &place) {
                continue;
            }
            let name = Path::new(&entry.name);
            // Gone between the list and the look: the next one tells.
            let Ok(facts) = level.folder.metadata(name) else { continue };
            let path = level.path.join(&entry.name);
            let stamp = match facts.kind {
                FileKind::Directory => Stamp::of_folder(&facts, &place),
                _ => Stamp::of(&facts),
            };
            self.found.state.insert(path.clone(), stamp);
            if self.found.state.len() > ENTRIES {
                return Err(too_many(root));
            }
            if facts.kind == FileKind::Directory && self.request.recursive {
                if depth >= LEVELS {
                    return Err(too_deep(root));
                }
                (self.enter)(&place, (facts.identity.dev, facts.identity.ino));
                let rules = level.rules.clone();
                let opened = level.folder.open_dir(name);
                let entered = opened.and_then(|folder| Level::enter(&path, place, folder, rules));
                match entered {
                    Ok(below) => {
                        self.recall(&below);
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
    fn recall(&mut self, level: &Level) {
        let below = self.gone.range(level.place.clone()..);
        for (place, sort) in below.take_while(|(place, _)| place.starts_with(&level.place)) {
            let Some(name) = place.file_name().filter(|_| place.parent() == Some(&*level.place))
            else {
                continue;
            };
            let is_folder = *sort == Sort::Folder;
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if !self.is_veiled(place) && !level.leaves_out(name, is_folder, place) {
                self.found.fleeting.insert(level.path.join(name), *sort);
            }
        }
    }
}

impl Level {
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

    fn leaves_out(&self, name: &OsStr, is_folder: bool, place: &Path) -> bool {
        self.rules
            .as_ref()
            .is_some_and(|rules| name == ".git" || rules.is_ignored(place, is_folder) == Some(true))
    }
}

fn too_deep(root: &Path) -> ToolError {
    ToolError::limit(format!("{} has more than {LEVELS} levels of folders", show(root)))
        .with_hint("Watch a folder below, or use recursive=false.")
}

fn too_many(root: &Path) -> ToolError {
    ToolError::limit(format!("{} holds more than {ENTRIES} entries", show(root)))
        .with_hint("Watch a folder below, or leave out what git ignores with gitignore=true.")
}
