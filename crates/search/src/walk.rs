//! Directory traversal from the handle of the root.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_files::{FileKind, IgnoreRules, WrongFileKind, is_loop, refuse_traps};

use crate::dir_handle::{DirHandle, EntryStat};
use crate::entry::{PathBuffer, RawEntries, WalkEntry};
use crate::error::SearchError;
use crate::ignore_rules::DirIgnoreRules;
use crate::monitor::{SearchMonitor, SkipReason};
use crate::ordered_work::{OrderKey, key_in};
use crate::root::RootDir;
use crate::selection::{FileSelection, PathFilter};

/// Directories held open for the files in them.
const MAX_HELD_DIRS: usize = 128;
/// Entries of a directory between two checks for cancellation.
const CANCEL_CHECK_ENTRIES: usize = 4096;

/// A directory still to be listed.
#[derive(Debug)]
pub(crate) struct DirTask {
    /// Relative to the root.
    pub(crate) relative: PathBuf,
    /// 0 for the root itself.
    depth: usize,
    rules: Option<DirIgnoreRules>,
}

/// The selected and wanted entries of a directory, ordered by name.
#[derive(Debug)]
pub(crate) struct DirListing {
    pub(crate) dir: Arc<DirHandle>,
    pub(crate) kept: Vec<ListedEntry>,
    /// Number of selected files and symlinks, wanted or not.
    pub(crate) files: usize,
    /// Number of selected directories, wanted or not.
    pub(crate) dirs: usize,
    rules: Option<DirIgnoreRules>,
    depth: usize,
}

/// A selected entry.
#[derive(Debug)]
pub(crate) struct ListedEntry {
    pub(crate) name: OsString,
    pub(crate) kind: FileKind,
    /// If false, it is a directory kept only for its contents.
    pub(crate) is_wanted: bool,
}

/// A traversal of everything below a root.
#[derive(Debug)]
pub(crate) struct SearchWalk<'a> {
    base: &'a RootDir,
    root_path: Arc<Path>,
    filter: PathFilter,
    /// Its strong count tracks the directories held open.
    held: Arc<()>,
}

/// A directory held open for the files in it, unless too many already are.
#[derive(Debug, Clone)]
pub(crate) struct HeldDir {
    dir: Option<Arc<DirHandle>>,
    _ticket: Option<Arc<()>>,
}

impl HeldDir {
    /// No directory.
    pub(crate) const NONE: Self = Self { dir: None, _ticket: None };

    pub(crate) fn dir(&self) -> Option<&DirHandle> {
        self.dir.as_deref()
    }
}

impl<'a> SearchWalk<'a> {
    pub(crate) fn new(
        base: &'a RootDir,
        place: Arc<Path>,
        selection: &FileSelection,
    ) -> Result<Self, SearchError> {
        let filter = PathFilter::new(selection, &place)?;
        Ok(Self { base, root_path: place, filter, held: Arc::new(()) })
    }

    pub(crate) fn root_handle(&self) -> &DirHandle {
        &self.base.handle
    }

    /// Opens a file by its name in a held directory, or by its path from the
    /// root.
    pub(crate) fn open(
        &self,
        held: &HeldDir,
        dir: &Path,
        name: &OsString,
    ) -> io::Result<(File, EntryStat)> {
        let opened = match held.dir() {
            Some(dir) => dir.open_file(Path::new(name)),
            None => self.root_handle().open_file(&join_path(dir, name)),
        };
        match opened {
            // It may be a kernel file, some of which block or have side
            // effects.
            Ok((_, known)) if !known.is_stored => {
                let path = join_path(dir, name);
                refuse_traps(&self.root_path.join(&path))
                    .map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
                Ok((self.base.dir.open(&path)?, known))
            }
            opened => opened,
        }
    }

    /// Whether a file with several hard links must not be shown under this
    /// path.
    pub(crate) fn is_protected_file(&self, real: &Path, file: (u64, u64)) -> bool {
        self.filter.is_protected_file(real, file)
    }

    pub(crate) fn max_filesize(&self) -> Option<u64> {
        self.filter.max_filesize
    }

    /// Returns the first task and its key.
    pub(crate) fn start(&self, above: &[IgnoreRules]) -> (OrderKey, DirTask) {
        let rules =
            self.filter.ignore_files.then(|| DirIgnoreRules::from_parents(&self.root_path, above));
        (OrderKey::new(), DirTask { relative: PathBuf::new(), depth: 0, rules })
    }

    /// Holds a directory open for the files in it, unless too many already are.
    pub(crate) fn hold_dir(&self, listing: &DirListing) -> HeldDir {
        if Arc::strong_count(&self.held) > MAX_HELD_DIRS {
            return HeldDir::NONE;
        }
        HeldDir { dir: Some(Arc::clone(&listing.dir)), _ticket: Some(Arc::clone(&self.held)) }
    }

    /// Returns the task for a listed subdirectory; `None` if it is too deep.
    pub(crate) fn descend(
        &self,
        task: &DirTask,
        key: &OrderKey,
        listing: &DirListing,
        name: &OsString,
    ) -> Option<(OrderKey, DirTask)> {
        let depth = listing.depth + 1;
        if depth >= self.filter.max_depth {
            return None;
        }
        let relative = task.relative.join(name);
        let key = key_in(key, name.as_bytes());
        Some((key, DirTask { relative, depth, rules: listing.rules.clone() }))
    }

    /// Lists the subdirectories of a directory and the selected entries that
    /// `wants` accepts. Skips entries that have vanished or changed type;
    /// records unreadable ones.
    pub(crate) fn list(
        &self,
        task: &DirTask,
        watch: &SearchMonitor<'_>,
        wants: impl Fn(WalkEntry<'_>) -> bool,
    ) -> Option<DirListing> {
        match self.try_list(task, watch, wants) {
            Ok(listing) => Some(listing),
            Err(error) => {
                if is_access_error(&error) {
                    watch.skip(SkipReason::Unreadable, &task.relative);
                }
                None
            }
        }
    }

    fn try_list(
        &self,
        task: &DirTask,
        watch: &SearchMonitor<'_>,
        wants: impl Fn(WalkEntry<'_>) -> bool,
    ) -> io::Result<DirListing> {
        let directory = self.root_handle().open_dir(&task.relative)?;
        let mut raw = RawEntries::default();
        let read = directory.for_each_entry(|name, kind| {
            raw.push(name, kind);
            raw.len() % CANCEL_CHECK_ENTRIES != 0 || watch.early_stop().is_none()
        });
        if read.is_err() {
            watch.skip(SkipReason::Unreadable, &task.relative);
        }
        let place = self.root_path.join(&task.relative);
        let open = |name: &Path| directory.open_file(name).map(|(file, _)| file);
        let rules = task.rules.as_ref().map(|rules| rules.for_dir(&place, raw.markers, open));
        let mut kept = Vec::new();
        let (mut files, mut directories) = (0, 0);
        let mut place = PathBuffer::new(&self.root_path, &task.relative);
        for (name, kind) in raw.entries() {
            let (real, path) = place.set_name(name);
            if !self.is_selected(rules.as_ref(), real, WalkEntry { path, name, kind }, watch) {
                continue;
            }
            match kind {
                FileKind::Directory => directories += 1,
                FileKind::File | FileKind::Link => files += 1,
                _ => {}
            }
            let is_wanted = wants(WalkEntry { path, name, kind });
            if is_wanted || kind == FileKind::Directory {
                kept.push(ListedEntry { name: name.to_owned(), kind, is_wanted });
            }
        }
        kept.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let (directory, depth) = (Arc::new(directory), task.depth);
        Ok(DirListing { dir: directory, kept, files, dirs: directories, rules, depth })
    }

    /// Globs override ignore files, which override types; the hidden-file rule
    /// applies only if none of them matches.
    fn is_selected(
        &self,
        rules: Option<&DirIgnoreRules>,
        place: &Path,
        entry: WalkEntry<'_>,
        watch: &SearchMonitor<'_>,
    ) -> bool {
        let is_folder = entry.kind == FileKind::Directory;
        let is_kept = match self.filter.glob_verdict(place, is_folder) {
            Some(is_kept) => is_kept,
            None => {
                let left_out = rules.and_then(|rules| rules.is_ignored(place, is_folder));
                let by_type = self.filter.type_verdict(place, is_folder);
                match (left_out, by_type) {
                    (Some(true), _) | (_, Some(false)) => false,
                    (Some(false), _) | (_, Some(true)) => true,
                    (None, None) => self.filter.hidden || !is_hidden(entry.name),
                }
            }
        };
        // Git's internal files are never search results.
        let is_closed = || self.filter.ignore_files && entry.name == ".git";
        if !is_kept || is_closed() {
            return false;
        }
        if self.filter.is_protected(place) {
            watch.skip(SkipReason::Protected, place);
            return false;
        }
        true
    }
}

/// Joins a task's directory and a name.
pub(crate) fn join_path(dir: &Path, name: &OsString) -> PathBuf {
    if dir.as_os_str().is_empty() { PathBuf::from(name) } else { dir.join(name) }
}

/// Whether an error means that a path exists but is unreadable, rather than
/// having vanished or changed type.
pub(crate) fn is_access_error(error: &io::Error) -> bool {
    let is_other = WrongFileKind::from_error(error).is_some() || is_loop(error);
    !is_other && !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".")
}
