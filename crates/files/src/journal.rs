//! A change of several files, written down before the first of them changes.
//! If its maker is killed on the way, whoever looks next takes it back: all of
//! the files, or none.
//!
//! It is written where only we write: what a folder of the user's says could
//! have been put there by a command, and would have us move what that cannot
//! reach. There a mark stands for it, so that nobody sweeps away what was put
//! aside. Files are known by their identity, so that nothing is done to one
//! that somebody has changed since; that is told.

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

/// Times of folders are this coarse.
const DIR_MTIME_GRANULARITY: Duration = Duration::from_millis(20);

/// How long one look at the journals counts.
const RECOVERY_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The ending of a journal whose change is complete.
const DONE_EXTENSION: &str = "done";
/// The ending of a process's note of the one folder in which it is about to
/// rename a file.
const NOTE_EXTENSION: &str = "note";
/// Bytes of a journal that are read.
const MAX_JOURNAL_BYTES: u64 = 256 * 1024 * 1024;

/// A path, byte by byte. One that is text is written as text: there may be many
/// of them.
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

/// Which file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InodeId {
    dev: u64,
    ino: u64,
}

/// A file that the change makes, as it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NewFileStamp {
    id: InodeId,
    len: u64,
    modified: Option<SystemTime>,
}

/// One name that changes. What was there has the name `aside` meanwhile, in
/// the same folder; its identity is not known if the same change made it. What
/// arrives comes from a tree of ours, and what was there goes to its name there.
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
    /// Folders that were made, from the top down.
    made: Vec<PathBytes>,
    /// What stands for the journal in the folders.
    marks: Vec<PathBytes>,
}

/// Where changes are written down. Nobody else may write there.
#[derive(Debug)]
pub struct JournalDir {
    dir: PathBuf,
    /// When somebody looked last.
    last_recovery: Mutex<Option<Instant>>,
    /// The last change of the folder, if there was nothing in it of others. As
    /// long as it is the last one, there is nothing.
    clean_mtime: Mutex<Option<SystemTime>>,
    note: Mutex<Option<NoteFile>>,
}

/// A file that is there as long as this process.
#[derive(Debug)]
struct NoteFile {
    path: PathBuf,
    /// Shows that its maker lives.
    file: File,
    /// How much was ever written in it.
    len: usize,
}

/// A folder that is noted, until this is dropped. That it stands there for
/// longer does no harm: whoever reads it looks for what is left, and finds
/// nothing.
#[derive(Debug)]
pub(crate) struct NoteGuard<'a> {
    _note: MutexGuard<'a, Option<NoteFile>>,
}

impl Drop for NoteFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A change that is written down, until this is dropped.
#[derive(Debug)]
pub struct ChangeJournal {
    path: PathBuf,
    marks: Vec<(OwnedFd, OsString)>,
    /// Shows that its maker lives.
    file: File,
}

/// A change that was cut off, and taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredChange {
    /// The files that it was about.
    pub files: Vec<PathBuf>,
    /// What was not put back, since somebody has changed it in the meantime.
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

/// The path of a spot, as far as the system tells.
pub(crate) fn anchored_path_bytes(spot: &AnchoredName) -> io::Result<PathBytes> {
    Ok(path_bytes(&dir_path(&spot.dir)?.join(&spot.name)))
}

/// The path of an open folder, as far as the system tells.
pub(crate) fn dir_path(folder: &OwnedFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

impl JournalDir {
    /// Those in this folder, which is made when it is needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            dir: folder.into(),
            last_recovery: Mutex::new(None),
            clean_mtime: Mutex::new(None),
            note: Mutex::new(None),
        }
    }

    /// Takes back what somebody was killed at. Says what that was.
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

    /// [`Self::recover`], unless somebody has looked at this very moment.
    pub(crate) fn recover_if_due(&self) {
        let mut looked = self.last_recovery.lock();
        if looked.is_none_or(|at| at.elapsed() > RECOVERY_CHECK_INTERVAL) {
            *looked = Some(Instant::now());
            drop(looked);
            self.recover();
        }
    }

    /// Notes the folder of a single file that is about to be replaced: for a
    /// moment the new one has a name of ours there. It takes two short system
    /// calls, since every write has them. Nothing if it cannot be noted.
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
        // Over what stood there, to its end.
        text.resize(text.len().max(made.len), b' ');
        made.len = text.len();
        made.file.write_all_at(&text, 0).ok()?;
        Some(NoteGuard { _note: note })
    }

    /// Writes down what is about to be done, and marks these folders.
    pub(crate) fn write(
        &self,
        entries: Vec<RollbackEntry>,
        made: &[PathBuf],
        folders: &[&AnchoredName],
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
        for spot in folders {
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
            let what = "there is too much of it to be written down";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        let mut file = &journal.file;
        file.write_all(&text)?;
        file.sync_data()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for (folder, name) in &journal.marks {
            rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(PRIVATE_FILE_MODE))?;
        }
        Ok(journal)
    }
}

impl ChangeJournal {
    /// The change is made: from here on nobody takes it back, but what was put
    /// aside for it is still there.
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
            for (folder, name) in &self.marks {
                let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
            }
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Takes back what this journal tells, if its maker is dead.
fn recover_journal(at: &Path) -> Option<RecoveredChange> {
    let is_done = at.extension() == Some(OsStr::new(DONE_EXTENSION));
    let name = at.with_extension("tmp");
    if ScratchKind::from_name(name.file_name()?) != Some(ScratchKind::Journal) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(at, flags, Mode::empty()).ok()?;
    // As long as it is locked, nobody else does the same.
    if !is_abandoned(&file) || !at.exists() {
        return None;
    }
    let mut text = Vec::new();
    File::from(file.try_clone().ok()?).take(MAX_JOURNAL_BYTES).read_to_end(&mut text).ok()?;
    let Ok(plan) = serde_json::from_slice::<JournalPlan>(&text) else {
        // It was cut off itself, before anything was done; or is being made. An
        // empty note has nothing to say.
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
            // It may have been cut off while a file had no name of its own yet.
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

    /// Those that were made for it, as far as nobody uses them.
    fn remove_created_dirs(&self) {
        for made in self.made.iter().rev() {
            if let Ok(spot) = AnchoredName::resolve(&to_path(made), WalkMode::default()) {
                let _ = rustix::fs::unlinkat(&spot.dir, &spot.name, AtFlags::REMOVEDIR);
            }
        }
    }
}

impl RollbackEntry {
    /// Puts one name back; the path if that cannot be done.
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

    /// None if somebody has changed it.
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
                    // It had not come to it.
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

/// Takes back what came from a tree of ours. None if somebody has changed it.
fn undo_arrival(
    at: &PathBytes,
    from: &PathBytes,
    old: Option<InodeId>,
    new: NewFileStamp,
) -> io::Result<Option<()>> {
    // Without the folder it has not come, or has gone again.
    let Some(spot) = resolve_if_exists(at)? else { return Ok(Some(())) };
    let tree = resolve_if_exists(from)?;
    let kept = tree.as_ref().map(AnchoredName::metadata_if_exists).transpose()?.flatten();
    let there = spot.metadata_if_exists()?;
    let is_ours = there.as_ref().is_some_and(|found| NewFileStamp::from_metadata(found) == new);
    match (tree, kept, old) {
        // It had not come to it.
        (_, Some(kept), _) if InodeId::from_metadata(&kept) == new.id => Ok(Some(())),
        (Some(tree), Some(kept), Some(old)) if InodeId::from_metadata(&kept) == old => {
            let put_back = || {
                let AnchoredName { dir: folder, name } = &spot;
                move_entry(&tree.dir, &tree.name, folder, name, ExistingFile::Replace)
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

/// The spot at a path; none without its folder.
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

    /// Gives what must not be lost a name that nobody sweeps, beside `other`.
    fn keep_under_new_name(&self, other: &Self, name: &OsStr) -> io::Result<()> {
        let kept = OsString::from(format!("{}.kept", name.to_string_lossy()));
        move_entry(&self.dir, &self.name, &other.dir, &kept, ExistingFile::Refuse)
    }
}

/// A name of ours in the same folder.
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
