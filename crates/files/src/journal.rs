//! Journals of multi-file changes, written before the first file changes. If
//! the process is killed, the next one to look rolls the change back: all of
//! the files, or none.
//!
//! Journals are in a private directory. One in a user's directory could be
//! planted by a command and make us move files that the command cannot reach.
//! There, a marker file represents the journal and keeps the parked files from
//! being swept. Files are identified by inode, so a file that another process
//! has changed since is not touched, but reported.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::metadata::FileMetadata;
use crate::open::{AnchoredName, WalkMode};
use crate::scratch::{ScratchKind, is_abandoned, is_old, sweep_scratch};
use crate::temp_file::move_entry;
use crate::write::{ExistingFile, PRIVATE_FILE_MODE};

/// Assumed resolution of directory mtimes.
const DIR_MTIME_GRANULARITY: Duration = Duration::from_millis(20);

/// Minimum time between two checks for journals.
const RECOVERY_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Extension of the journal of a complete change.
const DONE_EXTENSION: &str = "done";
/// Extension of a process's note of the one directory in which it is about to
/// rename a file.
const NOTE_EXTENSION: &str = "note";
/// Maximum size of a journal.
const MAX_JOURNAL_BYTES: u64 = 256 * 1024 * 1024;

/// Path bytes. A UTF-8 path is serialized as text, because a journal may hold
/// many paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PathEncoding", into = "PathEncoding")]
pub(crate) struct PathBytes(Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PathEncoding {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<PathEncoding> for PathBytes {
    fn from(spelled: PathEncoding) -> Self {
        match spelled {
            PathEncoding::Text(text) => Self(text.into_bytes()),
            PathEncoding::Bytes(bytes) => Self(bytes),
        }
    }
}

impl From<PathBytes> for PathEncoding {
    fn from(PathBytes(bytes): PathBytes) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }
}

/// Identity of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InodeId {
    dev: u64,
    ino: u64,
}

/// State of a file created by the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NewFileStamp {
    id: InodeId,
    len: u64,
    modified: Option<SystemTime>,
}

/// One name that changes. The old file is parked as `aside` in the same
/// directory; its identity is unknown if the same change created it. An
/// arriving file comes from a staged tree, and the old file takes its name
/// there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RollbackEntry {
    Write { path: PathBytes, aside: String, old: Option<InodeId>, new: NewFileStamp, is_new: bool },
    Remove { path: PathBytes, aside: String, old: Option<InodeId> },
    Rename { from: PathBytes, to: PathBytes, old: InodeId },
    Arrive { path: PathBytes, from: PathBytes, old: Option<InodeId>, new: NewFileStamp },
}

#[derive(Debug, Serialize, Deserialize)]
struct JournalPlan {
    entries: Vec<RollbackEntry>,
    /// Created directories, from the top down.
    made: Vec<PathBytes>,
    /// Marker files of the journal.
    marks: Vec<PathBytes>,
}

/// The directory of the journals. No other program may write to it.
#[derive(Debug)]
pub struct JournalDir {
    dir: PathBuf,
    /// When the journals were last checked.
    last_recovery: Mutex<Option<Instant>>,
    /// The mtime of the directory when it held no journals of other processes.
    /// While it is unchanged, there are none.
    clean_mtime: Mutex<Option<SystemTime>>,
    note: Mutex<Option<NoteFile>>,
}

/// A file that exists as long as this process.
#[derive(Debug)]
struct NoteFile {
    path: PathBuf,
    /// Its lock shows that the process is alive.
    file: File,
    /// Maximum length written so far.
    len: usize,
}

/// A noted directory, until dropped. A note that stays longer is harmless: its
/// reader looks for leftovers and finds none.
#[derive(Debug)]
pub(crate) struct NoteGuard<'a> {
    _note: MutexGuard<'a, Option<NoteFile>>,
}

impl Drop for NoteFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The journal of a change, until dropped.
#[derive(Debug)]
pub struct ChangeJournal {
    path: PathBuf,
    marks: Vec<(OwnedFd, OsString)>,
    /// Its lock shows that the process is alive.
    file: File,
}

/// An interrupted change that was rolled back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredChange {
    /// The files of the change.
    pub files: Vec<PathBuf>,
    /// Files that were not restored because another process has changed them
    /// since.
    pub not_restored: Vec<PathBuf>,
}

impl InodeId {
    pub(crate) fn from_metadata(facts: &FileMetadata) -> Self {
        Self { dev: facts.identity.dev, ino: facts.identity.ino }
    }
}

impl NewFileStamp {
    pub(crate) fn from_metadata(facts: &FileMetadata) -> Self {
        Self { id: InodeId::from_metadata(facts), len: facts.len, modified: facts.modified }
    }
}

/// Returns the path of an anchored name, if the system reports it.
pub(crate) fn anchored_path_bytes(spot: &AnchoredName) -> io::Result<PathBytes> {
    Ok(path_bytes(&dir_path(&spot.dir)?.join(&spot.name)))
}

/// Returns the path of an open directory, if the system reports it.
pub(crate) fn dir_path(dir: &OwnedFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

impl JournalDir {
    /// Creates journals in this directory, which is created when needed.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            dir: directory.into(),
            last_recovery: Mutex::new(None),
            clean_mtime: Mutex::new(None),
            note: Mutex::new(None),
        }
    }

    /// Rolls back changes interrupted by a crash, and returns them.
    pub fn recover(&self) -> Vec<RecoveredChange> {
        *self.last_recovery.lock() = Some(Instant::now());
        let changed = fs::metadata(&self.dir).and_then(|found| found.modified()).ok();
        if changed.is_some() && *self.lock_clean_mtime() == changed {
            return Vec::new();
        }
        let Ok(entries) = fs::read_dir(&self.dir) else { return Vec::new() };
        let note = self.note.try_lock();
        let own = note.as_ref().and_then(|note| note.as_ref()).map(|note| note.path.clone());
        drop(note);
        let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        found.retain(|path| Some(path) != own.as_ref());
        let is_settled =
            |at: &SystemTime| at.elapsed().is_ok_and(|since| since > DIR_MTIME_GRANULARITY);
        *self.lock_clean_mtime() = changed.filter(is_settled).filter(|_| found.is_empty());
        found.sort();
        found.iter().filter_map(|path| recover_journal(path)).collect()
    }

    fn lock_clean_mtime(&self) -> MutexGuard<'_, Option<SystemTime>> {
        self.clean_mtime.lock()
    }

    /// Calls [`Self::recover`], unless that happened a moment ago.
    pub(crate) fn recover_if_due(&self) {
        let mut looked = self.last_recovery.lock();
        if looked.is_none_or(|at| at.elapsed() > RECOVERY_CHECK_INTERVAL) {
            *looked = Some(Instant::now());
            drop(looked);
            self.recover();
        }
    }

    /// Notes the directory of a single file that is about to be replaced: for a
    /// moment the new file has a scratch name there. It takes only two short
    /// system calls, since every write pays for them. `None` if it cannot be
    /// noted.
    pub(crate) fn note_parent(&self, spot: &AnchoredName) -> Option<NoteGuard<'_>> {
        let mut note = self.note.lock();
        if note.is_none() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).ok()?;
            let path =
                self.dir.join(ScratchKind::Journal.new_name()).with_extension(NOTE_EXTENSION);
            let made =
                OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE_MODE).open(&path);
            let file = made.ok()?;
            crate::scratch::claim(&file);
            *note = Some(NoteFile { path, file, len: 0 });
        }
        let at =
            AnchoredName { dir: spot.dir.try_clone().ok()?, name: ScratchKind::Journal.new_name() };
        let marks = vec![anchored_path_bytes(&at).ok()?];
        let plan = JournalPlan { entries: Vec::new(), made: Vec::new(), marks };
        let mut text = serde_json::to_vec(&plan).ok()?;
        let made = note.as_mut()?;
        // Overwrite the previous note completely.
        text.resize(text.len().max(made.len), b' ');
        made.len = text.len();
        made.file.write_all_at(&text, 0).ok()?;
        Some(NoteGuard { _note: note })
    }

    /// Writes a journal of these entries and places markers in these
    /// directories.
    pub(crate) fn write(
        &self,
        entries: Vec<RollbackEntry>,
        made: &[PathBuf],
        dirs: &[&AnchoredName],
    ) -> io::Result<ChangeJournal> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let name = ScratchKind::Journal.new_name();
        let path = self.dir.join(&name);
        let file =
            OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE_MODE).open(&path)?;
        crate::scratch::claim(&file);
        let mut journal = ChangeJournal { path, marks: Vec::new(), file };
        let mut seen: Vec<InodeId> = Vec::new();
        let mut marks = Vec::new();
        for spot in dirs {
            let id =
                InodeId::from_metadata(&FileMetadata::from_stat(&rustix::fs::fstat(&spot.dir)?));
            if !seen.contains(&id) {
                seen.push(id);
                let at = AnchoredName { dir: spot.dir.try_clone()?, name: name.clone() };
                marks.push(anchored_path_bytes(&at)?);
                journal.marks.push((at.dir, at.name));
            }
        }
        let made = made.iter().map(|path| path_bytes(path)).collect();
        let text = serde_json::to_vec(&JournalPlan { entries, made, marks })?;
        if text.len() as u64 > MAX_JOURNAL_BYTES {
            let what = "the change has too many entries for its journal";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        let mut file = &journal.file;
        file.write_all(&text)?;
        file.sync_data()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for (directory, name) in &journal.marks {
            rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(PRIVATE_FILE_MODE))?;
        }
        Ok(journal)
    }
}

impl ChangeJournal {
    /// Marks the change as complete: it is no longer rolled back, but its
    /// parked files still exist.
    pub fn complete(&mut self) {
        let done = self.path.with_extension(DONE_EXTENSION);
        if fs::rename(&self.path, &done).is_ok() {
            self.path = done;
        }
    }
}

impl Drop for ChangeJournal {
    fn drop(&mut self) {
        self.complete();
        if self.path.extension() == Some(OsStr::new(DONE_EXTENSION)) {
            for (dir, name) in &self.marks {
                let _ = rustix::fs::unlinkat(dir, name, AtFlags::empty());
            }
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Rolls back the change in this journal, if its process is dead.
fn recover_journal(at: &Path) -> Option<RecoveredChange> {
    let is_done = at.extension() == Some(OsStr::new(DONE_EXTENSION));
    let name = at.with_extension("tmp");
    if ScratchKind::from_name(name.file_name()?) != Some(ScratchKind::Journal) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(at, flags, Mode::empty()).ok()?;
    // The lock keeps other processes from doing the same.
    if !is_abandoned(&file) || !at.exists() {
        return None;
    }
    let mut text = Vec::new();
    File::from(file.try_clone().ok()?).take(MAX_JOURNAL_BYTES).read_to_end(&mut text).ok()?;
    let Ok(plan) = serde_json::from_slice::<JournalPlan>(&text) else {
        // The journal is incomplete: its process died before any change, or is
        // still writing it. An empty note has no content.
        if is_old(&file) || at.extension() == Some(OsStr::new(NOTE_EXTENSION)) {
            let _ = fs::remove_file(at);
        }
        return None;
    };
    let recovered = (!is_done && !plan.entries.is_empty()).then(|| plan.roll_back());
    for mark in &plan.marks {
        if let Ok(spot) = AnchoredName::resolve(&to_path(mark), WalkMode::default())
            && ScratchKind::from_name(&spot.name) == Some(ScratchKind::Journal)
        {
            spot.remove();
            // Remove a temporary file that was not renamed yet.
            sweep_scratch(&spot.dir);
        }
    }
    if !is_done {
        plan.remove_created_dirs();
    }
    let _ = fs::remove_file(at);
    recovered
}

impl JournalPlan {
    fn roll_back(&self) -> RecoveredChange {
        let back = self.entries.iter().rev().filter_map(|entry| entry.roll_back().err());
        let left = back.collect();
        RecoveredChange {
            files: self.entries.iter().map(|entry| to_path(entry.changed_path())).collect(),
            not_restored: left,
        }
    }

    /// Removes the directories created for the change, unless they are in use.
    fn remove_created_dirs(&self) {
        for made in self.made.iter().rev() {
            if let Ok(spot) = AnchoredName::resolve(&to_path(made), WalkMode::default()) {
                let _ = rustix::fs::unlinkat(&spot.dir, &spot.name, AtFlags::REMOVEDIR);
            }
        }
    }
}

impl RollbackEntry {
    /// Restores one name; returns its path on failure.
    fn roll_back(&self) -> Result<(), PathBuf> {
        self.undo().ok().flatten().ok_or_else(|| to_path(self.changed_path()))
    }

    fn changed_path(&self) -> &PathBytes {
        let (Self::Write { path, .. }
        | Self::Remove { path, .. }
        | Self::Rename { to: path, .. }
        | Self::Arrive { path, .. }) = self;
        path
    }

    /// Returns `None` if another process has changed the file.
    fn undo(&self) -> io::Result<Option<()>> {
        match self {
            Self::Write { path: at, aside, old, new, is_new } => {
                let spot = AnchoredName::resolve(&to_path(at), WalkMode::default())?;
                let parked = sibling(&spot, aside)?;
                let (there, kept) = (spot.metadata_if_exists()?, parked.metadata_if_exists()?);
                let is_ours =
                    there.as_ref().is_some_and(|found| NewFileStamp::from_metadata(found) == *new);
                match kept {
                    Some(kept) if InodeId::from_metadata(&kept) == new.id => {
                        parked.remove();
                        Ok(there.is_some().then_some(()).or(is_new.then_some(())))
                    }
                    Some(kept) if old.is_none_or(|old| old == InodeId::from_metadata(&kept)) => {
                        let is_twin = there.is_some_and(|there| {
                            InodeId::from_metadata(&there) == InodeId::from_metadata(&kept)
                        });
                        if is_twin {
                            parked.remove();
                        } else if is_ours {
                            move_entry(
                                &parked.dir,
                                &parked.name,
                                &spot.dir,
                                &spot.name,
                                ExistingFile::Replace,
                            )?;
                        } else {
                            parked.keep_under_new_name(&spot, &parked.name)?;
                            return Ok(None);
                        }
                        Ok(Some(()))
                    }
                    _ if is_ours && *is_new => {
                        spot.remove();
                        Ok(Some(()))
                    }
                    _ if is_ours => Ok(None),
                    // This entry was not applied.
                    _ => Ok(Some(())),
                }
            }
            Self::Remove { path: at, aside, old } => {
                let spot = AnchoredName::resolve(&to_path(at), WalkMode::default())?;
                let parked = sibling(&spot, aside)?;
                let Some(kept) = parked.metadata_if_exists()? else { return Ok(Some(())) };
                if old.is_some_and(|old| old != InodeId::from_metadata(&kept)) {
                    return Ok(None);
                }
                if spot.metadata_if_exists()?.is_some() {
                    parked.keep_under_new_name(&spot, &parked.name)?;
                    return Ok(None);
                }
                move_entry(&parked.dir, &parked.name, &spot.dir, &spot.name, ExistingFile::Refuse)?;
                Ok(Some(()))
            }
            Self::Rename { from, to, old } => {
                let (from, to) = (
                    AnchoredName::resolve(&to_path(from), WalkMode::default())?,
                    AnchoredName::resolve(&to_path(to), WalkMode::default())?,
                );
                let is_old = |found: Option<FileMetadata>| {
                    found.is_some_and(|found| InodeId::from_metadata(&found) == *old)
                };
                match (from.metadata_if_exists()?, to.metadata_if_exists()?) {
                    (None, there) if is_old(there) => {
                        move_entry(&to.dir, &to.name, &from.dir, &from.name, ExistingFile::Refuse)?;
                        Ok(Some(()))
                    }
                    (there, _) => Ok(is_old(there).then_some(())),
                }
            }
            Self::Arrive { path: at, from, old, new } => undo_arrival(at, from, *old, *new),
        }
    }
}

/// Undoes an arrival from a staged tree. `None` if another process has changed
/// the file.
fn undo_arrival(
    at: &PathBytes,
    from: &PathBytes,
    old: Option<InodeId>,
    new: NewFileStamp,
) -> io::Result<Option<()>> {
    // Without the directory, the file has not arrived or is gone.
    let Some(spot) = resolve_if_exists(at)? else { return Ok(Some(())) };
    let tree = resolve_if_exists(from)?;
    let kept = tree.as_ref().map(AnchoredName::metadata_if_exists).transpose()?.flatten();
    let there = spot.metadata_if_exists()?;
    let is_ours = there.as_ref().is_some_and(|found| NewFileStamp::from_metadata(found) == new);
    match (tree, kept, old) {
        // This entry was not applied.
        (_, Some(kept), _) if InodeId::from_metadata(&kept) == new.id => Ok(Some(())),
        (Some(tree), Some(kept), Some(old)) if InodeId::from_metadata(&kept) == old => {
            let put_back = || {
                let AnchoredName { dir: directory, name } = &spot;
                move_entry(&tree.dir, &tree.name, directory, name, ExistingFile::Replace)
            };
            if is_ours && put_back().is_ok() {
                return Ok(Some(()));
            }
            tree.keep_under_new_name(&spot, &ScratchKind::File.new_name())?;
            Ok(None)
        }
        (_, _, None) if is_ours => {
            spot.remove();
            Ok(Some(()))
        }
        _ => Ok(there.is_none().then_some(())),
    }
}

/// Resolves a path; `None` if its directory does not exist.
fn resolve_if_exists(at: &PathBytes) -> io::Result<Option<AnchoredName>> {
    match AnchoredName::resolve(&to_path(at), WalkMode::default()) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        reached => reached.map(Some),
    }
}

impl AnchoredName {
    fn remove(&self) {
        let _ = rustix::fs::unlinkat(&self.dir, &self.name, AtFlags::empty());
    }

    /// Renames a file that must not be lost to a name that is never swept,
    /// beside `other`.
    fn keep_under_new_name(&self, other: &Self, name: &OsStr) -> io::Result<()> {
        let kept = OsString::from(format!("{}.kept", name.to_string_lossy()));
        move_entry(&self.dir, &self.name, &other.dir, &kept, ExistingFile::Refuse)
    }
}

/// Returns a scratch name in the same directory.
fn sibling(spot: &AnchoredName, name: &str) -> io::Result<AnchoredName> {
    if ScratchKind::from_name(OsStr::new(name)) != Some(ScratchKind::File) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(AnchoredName { dir: spot.dir.as_fd().try_clone_to_owned()?, name: name.into() })
}

pub(crate) fn path_bytes(path: &Path) -> PathBytes {
    PathBytes(path.as_os_str().as_bytes().to_vec())
}

fn to_path(PathBytes(bytes): &PathBytes) -> PathBuf {
    OsString::from_vec(bytes.clone()).into()
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
