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
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::open::{Spot, Walk};
use crate::scratch::{Scratch, is_abandoned, is_old, sweep};
use crate::temporary::move_entry;
use crate::write::{Existing, PRIVATE};

/// Times of folders are this coarse.
const COARSE: Duration = Duration::from_millis(20);

/// How long one look at the journals counts.
const FRESH: Duration = Duration::from_millis(50);
/// The ending of a journal whose change is complete.
const DONE: &str = "done";
/// The ending of a process's note of the one folder in which it is about to
/// rename a file.
const NOTE: &str = "note";
/// Bytes of a journal that are read.
const LONGEST: u64 = 256 * 1024 * 1024;

/// A path, byte by byte. One that is text is written as text: there may be many
/// of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Spelled", into = "Spelled")]
pub(crate) struct Bytes(Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelled {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<Spelled> for Bytes {
    fn from(spelled: Spelled) -> Self {
        match spelled {
            Spelled::Text(text) => Self(text.into_bytes()),
            Spelled::Bytes(bytes) => Self(bytes),
        }
    }
}

impl From<Bytes> for Spelled {
    fn from(Bytes(bytes): Bytes) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }
}

/// Which file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Id {
    dev: u64,
    ino: u64,
}

/// A file that the change makes, as it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fresh {
    id: Id,
    len: u64,
    modified: Option<SystemTime>,
}

/// One name that changes. What was there has the name `aside` meanwhile, in
/// the same folder; its identity is not known if the same change made it. What
/// arrives comes from a tree of ours, and what was there goes to its name there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Entry {
    Write { path: Bytes, aside: String, old: Option<Id>, new: Fresh, is_new: bool },
    Remove { path: Bytes, aside: String, old: Option<Id> },
    Rename { from: Bytes, to: Bytes, old: Id },
    Arrive { path: Bytes, from: Bytes, old: Option<Id>, new: Fresh },
}

#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    entries: Vec<Entry>,
    /// Folders that were made, from the top down.
    made: Vec<Bytes>,
    /// What stands for the journal in the folders.
    marks: Vec<Bytes>,
}

/// Where changes are written down. Nobody else may write there.
#[derive(Debug)]
pub struct Journals {
    folder: PathBuf,
    /// When somebody looked last.
    looked: Mutex<Option<Instant>>,
    /// The last change of the folder, if there was nothing in it of others. As
    /// long as it is the last one, there is nothing.
    clean: Mutex<Option<SystemTime>>,
    note: Mutex<Option<Note>>,
}

/// A file that is there as long as this process.
#[derive(Debug)]
struct Note {
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
pub(crate) struct Noted<'a> {
    _note: MutexGuard<'a, Option<Note>>,
}

impl Drop for Note {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A change that is written down, until this is dropped.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    marks: Vec<(OwnedFd, OsString)>,
    /// Shows that its maker lives.
    file: File,
}

/// A change that was cut off, and taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The files that it was about.
    pub files: Vec<PathBuf>,
    /// What was not put back, since somebody has changed it in the meantime.
    pub left: Vec<PathBuf>,
}

impl Id {
    pub(crate) fn of(facts: &Facts) -> Self {
        Self { dev: facts.identity.dev, ino: facts.identity.ino }
    }
}

impl Fresh {
    pub(crate) fn of(facts: &Facts) -> Self {
        Self { id: Id::of(facts), len: facts.len, modified: facts.modified }
    }
}

/// The path of a spot, as far as the system tells.
pub(crate) fn path_of(spot: &Spot) -> io::Result<Bytes> {
    Ok(bytes(&place_of(&spot.folder)?.join(&spot.name)))
}

/// The path of an open folder, as far as the system tells.
pub(crate) fn place_of(folder: &OwnedFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

impl Journals {
    /// Those in this folder, which is made when it is needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            looked: Mutex::new(None),
            clean: Mutex::new(None),
            note: Mutex::new(None),
        }
    }

    /// Takes back what somebody was killed at. Says what that was.
    pub fn recover(&self) -> Vec<Recovered> {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let changed = fs::metadata(&self.folder).and_then(|found| found.modified()).ok();
        if changed.is_some() && *self.lock_clean() == changed {
            return Vec::new();
        }
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let note = self.note.try_lock().ok();
        let own = note.as_ref().and_then(|note| note.as_ref()).map(|note| note.path.clone());
        drop(note);
        let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        found.retain(|path| Some(path) != own.as_ref());
        let is_settled = |at: &SystemTime| at.elapsed().is_ok_and(|since| since > COARSE);
        *self.lock_clean() = changed.filter(is_settled).filter(|_| found.is_empty());
        found.sort();
        found.iter().filter_map(|path| recover(path)).collect()
    }

    fn lock_clean(&self) -> MutexGuard<'_, Option<SystemTime>> {
        self.clean.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Self::recover`], unless somebody has looked at this very moment.
    pub(crate) fn glance(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_none_or(|at| at.elapsed() > FRESH) {
            *looked = Some(Instant::now());
            drop(looked);
            self.recover();
        }
    }

    /// Notes the folder of a single file that is about to be replaced: for a
    /// moment the new one has a name of ours there. It takes two short system
    /// calls, since every write has them. Nothing if it cannot be noted.
    pub(crate) fn note(&self, spot: &Spot) -> Option<Noted<'_>> {
        let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        if note.is_none() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).ok()?;
            let path = self.folder.join(Scratch::Journal.name()).with_extension(NOTE);
            let made = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&path);
            let file = made.ok()?;
            crate::scratch::claim(&file);
            *note = Some(Note { path, file, len: 0 });
        }
        let at = Spot { folder: spot.folder.try_clone().ok()?, name: Scratch::Journal.name() };
        let marks = vec![path_of(&at).ok()?];
        let plan = Plan { entries: Vec::new(), made: Vec::new(), marks };
        let mut text = serde_json::to_vec(&plan).ok()?;
        let made = note.as_mut()?;
        // Over what stood there, to its end.
        text.resize(text.len().max(made.len), b' ');
        made.len = text.len();
        made.file.write_all_at(&text, 0).ok()?;
        Some(Noted { _note: note })
    }

    /// Writes down what is about to be done, and marks these folders.
    pub(crate) fn write(
        &self,
        entries: Vec<Entry>,
        made: &[PathBuf],
        folders: &[&Spot],
    ) -> io::Result<Journal> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let name = Scratch::Journal.name();
        let path = self.folder.join(&name);
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&path)?;
        crate::scratch::claim(&file);
        let mut journal = Journal { path, marks: Vec::new(), file };
        let mut seen: Vec<Id> = Vec::new();
        let mut marks = Vec::new();
        for spot in folders {
            let id = Id::of(&Facts::of(&rustix::fs::fstat(&spot.folder)?));
            if !seen.contains(&id) {
                seen.push(id);
                let at = Spot { folder: spot.folder.try_clone()?, name: name.clone() };
                marks.push(path_of(&at)?);
                journal.marks.push((at.folder, at.name));
            }
        }
        let made = made.iter().map(|path| bytes(path)).collect();
        let text = serde_json::to_vec(&Plan { entries, made, marks })?;
        if text.len() as u64 > LONGEST {
            let what = "there is too much of it to be written down";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        let mut file = &journal.file;
        file.write_all(&text)?;
        file.sync_data()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for (folder, name) in &journal.marks {
            rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(PRIVATE))?;
        }
        Ok(journal)
    }
}

impl Journal {
    /// The change is made: from here on nobody takes it back, but what was put
    /// aside for it is still there.
    pub fn complete(&mut self) {
        let done = self.path.with_extension(DONE);
        if fs::rename(&self.path, &done).is_ok() {
            self.path = done;
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.complete();
        if self.path.extension() == Some(OsStr::new(DONE)) {
            for (folder, name) in &self.marks {
                let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
            }
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Takes back what this journal tells, if its maker is dead.
fn recover(at: &Path) -> Option<Recovered> {
    let is_done = at.extension() == Some(OsStr::new(DONE));
    let name = at.with_extension("tmp");
    if Scratch::of(name.file_name()?) != Some(Scratch::Journal) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(at, flags, Mode::empty()).ok()?;
    // As long as it is locked, nobody else does the same.
    if !is_abandoned(&file) || !at.exists() {
        return None;
    }
    let mut text = Vec::new();
    File::from(file.try_clone().ok()?).take(LONGEST).read_to_end(&mut text).ok()?;
    let Ok(plan) = serde_json::from_slice::<Plan>(&text) else {
        // It was cut off itself, before anything was done; or is being made. An
        // empty note has nothing to say.
        if is_old(&file) || at.extension() == Some(OsStr::new(NOTE)) {
            let _ = fs::remove_file(at);
        }
        return None;
    };
    let recovered = (!is_done && !plan.entries.is_empty()).then(|| plan.take_back());
    for mark in &plan.marks {
        if let Ok(spot) = Spot::reach(&path(mark), Walk::default())
            && Scratch::of(&spot.name) == Some(Scratch::Journal)
        {
            spot.remove();
            // It may have been cut off while a file had no name of its own yet.
            sweep(&spot.folder);
        }
    }
    if !is_done {
        plan.remove_folders();
    }
    let _ = fs::remove_file(at);
    recovered
}

impl Plan {
    fn take_back(&self) -> Recovered {
        let back = self.entries.iter().rev().filter_map(|entry| entry.take_back().err());
        let left = back.collect();
        Recovered { files: self.entries.iter().map(|entry| path(entry.at())).collect(), left }
    }

    /// Those that were made for it, as far as nobody uses them.
    fn remove_folders(&self) {
        for made in self.made.iter().rev() {
            if let Ok(spot) = Spot::reach(&path(made), Walk::default()) {
                let _ = rustix::fs::unlinkat(&spot.folder, &spot.name, AtFlags::REMOVEDIR);
            }
        }
    }
}

impl Entry {
    /// Puts one name back; the path if that cannot be done.
    fn take_back(&self) -> Result<(), PathBuf> {
        self.undo().ok().flatten().ok_or_else(|| path(self.at()))
    }

    fn at(&self) -> &Bytes {
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
                let spot = Spot::reach(&path(at), Walk::default())?;
                let parked = beside(&spot, aside)?;
                let (there, kept) = (spot.look()?, parked.look()?);
                let is_ours = there.as_ref().is_some_and(|found| Fresh::of(found) == *new);
                match kept {
                    Some(kept) if Id::of(&kept) == new.id => {
                        parked.remove();
                        Ok(there.is_some().then_some(()).or(is_new.then_some(())))
                    }
                    Some(kept) if old.is_none_or(|old| old == Id::of(&kept)) => {
                        let is_twin = there.is_some_and(|there| Id::of(&there) == Id::of(&kept));
                        if is_twin {
                            parked.remove();
                        } else if is_ours {
                            move_entry(
                                &parked.folder,
                                &parked.name,
                                &spot.folder,
                                &spot.name,
                                Existing::Replace,
                            )?;
                        } else {
                            parked.put_by(&spot, &parked.name)?;
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
                let spot = Spot::reach(&path(at), Walk::default())?;
                let parked = beside(&spot, aside)?;
                let Some(kept) = parked.look()? else { return Ok(Some(())) };
                if old.is_some_and(|old| old != Id::of(&kept)) {
                    return Ok(None);
                }
                if spot.look()?.is_some() {
                    parked.put_by(&spot, &parked.name)?;
                    return Ok(None);
                }
                move_entry(
                    &parked.folder,
                    &parked.name,
                    &spot.folder,
                    &spot.name,
                    Existing::Refuse,
                )?;
                Ok(Some(()))
            }
            Self::Rename { from, to, old } => {
                let (from, to) = (
                    Spot::reach(&path(from), Walk::default())?,
                    Spot::reach(&path(to), Walk::default())?,
                );
                let is_old =
                    |found: Option<Facts>| found.is_some_and(|found| Id::of(&found) == *old);
                match (from.look()?, to.look()?) {
                    (None, there) if is_old(there) => {
                        move_entry(
                            &to.folder,
                            &to.name,
                            &from.folder,
                            &from.name,
                            Existing::Refuse,
                        )?;
                        Ok(Some(()))
                    }
                    (there, _) => Ok(is_old(there).then_some(())),
                }
            }
            Self::Arrive { path: at, from, old, new } => send_back(at, from, *old, *new),
        }
    }
}

/// Takes back what came from a tree of ours. None if somebody has changed it.
fn send_back(at: &Bytes, from: &Bytes, old: Option<Id>, new: Fresh) -> io::Result<Option<()>> {
    // Without the folder it has not come, or has gone again.
    let Some(spot) = reach_if_there(at)? else { return Ok(Some(())) };
    let tree = reach_if_there(from)?;
    let kept = tree.as_ref().map(Spot::look).transpose()?.flatten();
    let there = spot.look()?;
    let is_ours = there.as_ref().is_some_and(|found| Fresh::of(found) == new);
    match (tree, kept, old) {
        // It had not come to it.
        (_, Some(kept), _) if Id::of(&kept) == new.id => Ok(Some(())),
        (Some(tree), Some(kept), Some(old)) if Id::of(&kept) == old => {
            let put_back = || {
                let Spot { folder, name } = &spot;
                move_entry(&tree.folder, &tree.name, folder, name, Existing::Replace)
            };
            if is_ours && put_back().is_ok() {
                return Ok(Some(()));
            }
            tree.put_by(&spot, &Scratch::File.name())?;
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
fn reach_if_there(at: &Bytes) -> io::Result<Option<Spot>> {
    match Spot::reach(&path(at), Walk::default()) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        reached => reached.map(Some),
    }
}

impl Spot {
    fn remove(&self) {
        let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
    }

    /// Gives what must not be lost a name that nobody sweeps, beside `other`.
    fn put_by(&self, other: &Self, name: &OsStr) -> io::Result<()> {
        let kept = OsString::from(format!("{}.kept", name.to_string_lossy()));
        move_entry(&self.folder, &self.name, &other.folder, &kept, Existing::Refuse)
    }
}

/// A name of ours in the same folder.
fn beside(spot: &Spot, name: &str) -> io::Result<Spot> {
    if Scratch::of(OsStr::new(name)) != Some(Scratch::File) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(Spot { folder: spot.folder.as_fd().try_clone_to_owned()?, name: name.into() })
}

pub(crate) fn bytes(path: &Path) -> Bytes {
    Bytes(path.as_os_str().as_bytes().to_vec())
}

fn path(Bytes(bytes): &Bytes) -> PathBuf {
    OsString::from_vec(bytes.clone()).into()
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
