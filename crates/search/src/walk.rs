//! The way down: one folder after the other, from the handle of the root.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_files::{IgnoreRules, FileKind, WrongFileKind, is_loop, refuse_traps};

use crate::entry::{Entry, Growing, Raw};
use crate::error::SearchError;
use crate::handle::{Handle, Known};
use crate::order::{Key, key_in};
use crate::root::Base;
use crate::rules::Rules;
use crate::selection::{Filter, Selection};
use crate::watch::{Reason, Watch};

/// Folders that are held open for the files in them.
const HELD: usize = 128;
/// Entries of a folder after which somebody may have stopped the walk.
const LOOK: usize = 4096;

/// A folder that is still to be listed.
#[derive(Debug)]
pub(crate) struct Task {
    /// Relative to the root.
    pub(crate) relative: PathBuf,
    /// 0 for the root itself.
    depth: usize,
    rules: Option<Rules>,
}

/// What a folder holds, as far as it was selected and is wanted, ordered by
/// name.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) folder: Arc<Handle>,
    pub(crate) kept: Vec<Kept>,
    /// How many files and links were selected, wanted or not.
    pub(crate) files: usize,
    /// How many folders were.
    pub(crate) folders: usize,
    rules: Option<Rules>,
    depth: usize,
}

/// One entry that was selected.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) name: OsString,
    pub(crate) kind: FileKind,
    /// If not, it is a folder, which is on the way to others.
    pub(crate) is_wanted: bool,
}

/// A walk through all that is below a root.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    base: &'a Base,
    place: Arc<Path>,
    filter: Filter,
    /// Its copies count the folders that are held open.
    held: Arc<()>,
}

/// A folder that stays open for the files in it, as long as there are not too
/// many of them.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    folder: Option<Arc<Handle>>,
    _ticket: Option<Arc<()>>,
}

impl Held {
    /// None at all.
    pub(crate) const NONE: Self = Self { folder: None, _ticket: None };

    pub(crate) fn folder(&self) -> Option<&Handle> {
        self.folder.as_deref()
    }
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        base: &'a Base,
        place: Arc<Path>,
        selection: &Selection,
    ) -> Result<Self, SearchError> {
        let filter = Filter::new(selection, &place)?;
        Ok(Self { base, place, filter, held: Arc::new(()) })
    }

    pub(crate) fn root(&self) -> &Handle {
        &self.base.handle
    }

    /// Opens a file, by its path from the root or by its name in a folder that
    /// is held.
    pub(crate) fn open(
        &self,
        held: &Held,
        folder: &Path,
        name: &OsString,
    ) -> io::Result<(File, Known)> {
        let opened = match held.folder() {
            Some(folder) => folder.open(Path::new(name)),
            None => self.root().open(&path_in(folder, name)),
        };
        match opened {
            // It may be one of the kernel's, which can be a trap.
            Ok((_, known)) if !known.is_stored => {
                let path = path_in(folder, name);
                refuse_traps(&self.place.join(&path))
                    .map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
                Ok((self.base.folder.open(&path)?, known))
            }
            opened => opened,
        }
    }

    /// Whether a file with several names must not be shown under this one.
    pub(crate) fn is_veiled_file(&self, real: &Path, file: (u64, u64)) -> bool {
        self.filter.is_veiled_file(real, file)
    }

    pub(crate) fn max_filesize(&self) -> Option<u64> {
        self.filter.max_filesize
    }

    /// The first task, and its key.
    pub(crate) fn start(&self, above: &[IgnoreRules]) -> (Key, Task) {
        let rules = self.filter.ignore_files.then(|| Rules::above(&self.place, above));
        (Key::new(), Task { relative: PathBuf::new(), depth: 0, rules })
    }

    /// The folder for the files in it; not held if too many are.
    pub(crate) fn hold(&self, listing: &Listing) -> Held {
        if Arc::strong_count(&self.held) > HELD {
            return Held::NONE;
        }
        Held { folder: Some(Arc::clone(&listing.folder)), _ticket: Some(Arc::clone(&self.held)) }
    }

    /// The task for a folder of a listing; none if it lies too deep.
    pub(crate) fn descend(
        &self,
        task: &Task,
        key: &Key,
        listing: &Listing,
        name: &OsString,
    ) -> Option<(Key, Task)> {
        let depth = listing.depth + 1;
        if depth >= self.filter.max_depth {
            return None;
        }
        let relative = task.relative.join(name);
        let key = key_in(key, name.as_bytes());
        Some((key, Task { relative, depth, rules: listing.rules.clone() }))
    }

    /// Lists the folders in a folder, and of all that was selected in it what
    /// is wanted. What is gone meanwhile, or has become something else, is
    /// passed over; what may not be read is noted.
    pub(crate) fn list(
        &self,
        task: &Task,
        watch: &Watch<'_>,
        wants: impl Fn(Entry<'_>) -> bool,
    ) -> Option<Listing> {
        match self.try_list(task, watch, wants) {
            Ok(listing) => Some(listing),
            Err(error) => {
                if is_refusal(&error) {
                    watch.skip(Reason::Unreadable, &task.relative);
                }
                None
            }
        }
    }

    fn try_list(
        &self,
        task: &Task,
        watch: &Watch<'_>,
        wants: impl Fn(Entry<'_>) -> bool,
    ) -> io::Result<Listing> {
        let folder = self.root().folder(&task.relative)?;
        let mut raw = Raw::default();
        let read = folder.entries(|name, kind| {
            raw.see(name, kind);
            raw.len() % LOOK != 0 || watch.ended().is_none()
        });
        if read.is_err() {
            watch.skip(Reason::Unreadable, &task.relative);
        }
        let place = self.place.join(&task.relative);
        let open = |name: &Path| folder.open(name).map(|(file, _)| file);
        let rules = task.rules.as_ref().map(|rules| rules.within(&place, raw.marks, open));
        let mut kept = Vec::new();
        let (mut files, mut folders) = (0, 0);
        let mut place = Growing::new(&self.place, &task.relative);
        for (name, kind) in raw.entries() {
            let (real, path) = place.with(name);
            if !self.keeps(rules.as_ref(), real, Entry { path, name, kind }, watch) {
                continue;
            }
            match kind {
                FileKind::Directory => folders += 1,
                FileKind::File | FileKind::Link => files += 1,
                _ => {}
            }
            let is_wanted = wants(Entry { path, name, kind });
            if is_wanted || kind == FileKind::Directory {
                kept.push(Kept { name: name.to_owned(), kind, is_wanted });
            }
        }
        kept.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let (folder, depth) = (Arc::new(folder), task.depth);
        Ok(Listing { folder, kept, files, folders, rules, depth })
    }

    /// Globs count more than ignore files, those more than types, and a dot
    /// only where all are silent.
    fn keeps(
        &self,
        rules: Option<&Rules>,
        place: &Path,
        entry: Entry<'_>,
        watch: &Watch<'_>,
    ) -> bool {
        let is_folder = entry.kind == FileKind::Directory;
        let is_kept = match self.filter.by_glob(place, is_folder) {
            Some(is_kept) => is_kept,
            None => {
                let left_out = rules.and_then(|rules| rules.leave_out(place, is_folder));
                let by_type = self.filter.by_type(place, is_folder);
                match (left_out, by_type) {
                    (Some(true), _) | (_, Some(false)) => false,
                    (Some(false), _) | (_, Some(true)) => true,
                    (None, None) => self.filter.hidden || !is_hidden(entry.name),
                }
            }
        };
        // Git's own objects are never what somebody looks for.
        let is_closed = || self.filter.ignore_files && entry.name == ".git";
        if !is_kept || is_closed() {
            return false;
        }
        if self.filter.is_veiled(place) {
            watch.skip(Reason::Protected, place);
            return false;
        }
        true
    }
}

/// The path of something in the folder of a task.
pub(crate) fn path_in(folder: &Path, name: &OsString) -> PathBuf {
    if folder.as_os_str().is_empty() { PathBuf::from(name) } else { folder.join(name) }
}

/// Whether an error means that something is there but may not be read, and
/// not that it is gone or no longer what it was.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    let is_other = WrongFileKind::from_error(error).is_some() || is_loop(error);
    !is_other && !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".")
}
