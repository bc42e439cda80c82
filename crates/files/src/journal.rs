//! A change of several files, written down before the first of them changes.
//! If its maker is killed on the way, whoever works in one of the folders next
//! takes it back: all of the files, or none.
//!
//! Each of the folders has a copy. Files are known by their identity, so that
//! nothing is done to one that somebody has changed since; that is told.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::open::{Spot, Walk};
use crate::scratch::{Scratch, is_abandoned, open_there};
use crate::temporary::move_entry;
use crate::write::{Existing, PRIVATE};

/// Bytes of a journal that are read.
const LONGEST: u64 = 64 * 1024 * 1024;

/// A path, byte by byte.
type Bytes = Vec<u8>;

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
/// the same folder; its identity is not known if the same change made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Entry {
    Write { path: Bytes, aside: String, old: Option<Id>, new: Fresh, is_new: bool },
    Remove { path: Bytes, aside: String, old: Option<Id> },
    Rename { from: Bytes, to: Bytes, old: Id },
}

#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    entries: Vec<Entry>,
    /// Folders that were made, from the top down.
    made: Vec<Bytes>,
    /// All copies of the journal.
    copies: Vec<Bytes>,
}

/// The copies of a journal; gone when dropped.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    copies: Vec<(OwnedFd, OsString, File)>,
}

/// A change that was cut off, and taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// How many files it was about.
    pub files: usize,
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
pub(crate) fn path_of(spot: &Spot) -> io::Result<Vec<u8>> {
    let folder = fs::read_link(format!("/proc/self/fd/{}", spot.folder.as_raw_fd()))?;
    Ok(folder.join(&spot.name).into_os_string().into_vec())
}

impl Journal {
    /// Writes down what is about to be done, in each of these folders.
    pub(crate) fn write(
        entries: Vec<Entry>,
        made: &[PathBuf],
        folders: &[&Spot],
    ) -> io::Result<Self> {
        let mut journal = Self::default();
        let mut seen: Vec<Id> = Vec::new();
        let mut plan = Plan {
            entries,
            made: made.iter().map(|path| bytes(path)).collect(),
            copies: Vec::new(),
        };
        for spot in folders {
            let id = Id::of(&Facts::of(&rustix::fs::fstat(&spot.folder)?));
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let name = Scratch::Journal.name();
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            let mode = Mode::from_raw_mode(PRIVATE);
            let opened = rustix::fs::openat(&spot.folder, &name, flags | OFlags::CLOEXEC, mode)?;
            crate::scratch::claim(&opened);
            let at = Spot { folder: spot.folder.try_clone()?, name: name.clone() };
            plan.copies.push(path_of(&at)?);
            journal.copies.push((at.folder, name, opened.into()));
        }
        let text = serde_json::to_vec(&plan)?;
        for (_, _, file) in &mut journal.copies {
            file.write_all(&text)?;
            file.sync_data()?;
        }
        Ok(journal)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        for (folder, name, _) in &self.copies {
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}

/// Takes back what the journal of that name tells, if its maker is dead.
pub(crate) fn recover(folder: BorrowedFd<'_>, name: &OsStr) -> Option<Recovered> {
    // As long as it is locked, nobody else does the same.
    let file = open_there(folder, name).filter(is_abandoned)?;
    let mut text = Vec::new();
    File::from(file.try_clone().ok()?).take(LONGEST).read_to_end(&mut text).ok()?;
    let Ok(plan) = serde_json::from_slice::<Plan>(&text) else {
        // It was cut off itself, so nothing had been done yet.
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        return None;
    };
    let mut recovered = Recovered { files: plan.entries.len(), left: Vec::new() };
    for entry in plan.entries.iter().rev() {
        if let Err(path) = entry.take_back() {
            recovered.left.push(path);
        }
    }
    for copy in &plan.copies {
        if let Ok(spot) = Spot::reach(&path(copy), Walk::default())
            && Scratch::of(&spot.name) == Some(Scratch::Journal)
        {
            let _ = rustix::fs::unlinkat(&spot.folder, &spot.name, AtFlags::empty());
        }
    }
    // It may have been moved with its folder.
    let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
    for made in plan.made.iter().rev() {
        if let Ok(spot) = Spot::reach(&path(made), Walk::default()) {
            let _ = rustix::fs::unlinkat(&spot.folder, &spot.name, AtFlags::REMOVEDIR);
        }
    }
    Some(recovered)
}

impl Entry {
    /// Puts one name back; the path if that cannot be done.
    fn take_back(&self) -> Result<(), PathBuf> {
        let (Self::Write { path: at, .. }
        | Self::Remove { path: at, .. }
        | Self::Rename { to: at, .. }) = self;
        self.undo().ok().flatten().ok_or_else(|| path(at))
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
                            parked.put_by()?;
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
                    parked.put_by()?;
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
        }
    }
}

impl Spot {
    fn remove(&self) {
        let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
    }

    /// Gives what must not be lost a name that nobody sweeps.
    fn put_by(&self) -> io::Result<()> {
        let kept = OsString::from(format!("{}.kept", self.name.to_string_lossy()));
        move_entry(&self.folder, &self.name, &self.folder, &kept, Existing::Refuse)
    }
}

/// A name of ours in the same folder.
fn beside(spot: &Spot, name: &str) -> io::Result<Spot> {
    if Scratch::of(OsStr::new(name)) != Some(Scratch::File) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(Spot { folder: spot.folder.as_fd().try_clone_to_owned()?, name: name.into() })
}

fn bytes(path: &Path) -> Bytes {
    path.as_os_str().as_bytes().to_vec()
}

fn path(bytes: &Bytes) -> PathBuf {
    OsString::from_vec(bytes.clone()).into()
}
