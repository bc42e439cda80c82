//! Temporary files that replace their target, and parked files, which are kept
//! until they may be removed.
//!
//! A killed process can leave both behind. They have scratch names, and their
//! creator holds a lock on them, so the next process that writes to the
//! directory recognizes abandoned ones and removes them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::attributes::AttributeSource;
use crate::metadata::FileMetadata;
use crate::open::AnchoredName;
use crate::scratch::{ScratchKind, claim, is_still_at, open_for_lock};
use crate::write::{ExistingFile, PRIVATE_FILE_MODE};

/// How many names are tried.
const MAX_NAME_ATTEMPTS: usize = 32;

/// A new file in an open directory; removed when dropped, unless persisted.
#[derive(Debug)]
pub(crate) struct TempFile {
    dir: OwnedFd,
    /// `None` while it has no name, and after it took the name of its target.
    name: Option<OsString>,
    pub(crate) file: File,
}

impl TempFile {
    /// Creates a file with these permissions, minus the umask. It has no name
    /// if the file system supports that: then a crash leaves nothing behind.
    pub(crate) fn create(dir: BorrowedFd<'_>, permissions: u32) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(permissions);
        match rustix::fs::openat(dir, ".", flags, mode) {
            Ok(file) => {
                claim(&file);
                let dir = dir.try_clone_to_owned()?;
                Ok(Self { dir, name: None, file: file.into() })
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::NOSYS) => {
                Self::create_named(dir, permissions)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a file that has a name from the start.
    fn create_named(dir: BorrowedFd<'_>, permissions: u32) -> io::Result<Self> {
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NOCTTY;
        let mode = Mode::from_raw_mode(permissions);
        let (name, file) = with_free_name(|name| {
            let file = rustix::fs::openat(dir, name, flags, mode)?;
            claim(&file);
            // Another process may have swept it before it was locked.
            if is_still_at(dir, name, &file) { Ok(file) } else { Err(Errno::EXIST) }
        })?;
        let dir = dir.try_clone_to_owned()?;
        Ok(Self { dir, name: Some(name), file: file.into() })
    }

    /// Gives it the name of its target.
    pub(crate) fn persist(self, name: &OsStr, existing: ExistingFile) -> io::Result<()> {
        // If the target does not exist, no intermediate name is needed.
        if self.name.is_none() {
            match self.link_as(name) {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) if existing == ExistingFile::Refuse => {
                    return Err(Errno::EXIST.into());
                }
                Err(_) => {}
            }
        }
        self.rename_over(name, existing)
    }

    /// Like [`Self::persist`], for a target that is known to exist.
    pub(crate) fn persist_over(self, name: &OsStr) -> io::Result<()> {
        self.rename_over(name, ExistingFile::Replace)
    }

    fn rename_over(mut self, name: &OsStr, existing: ExistingFile) -> io::Result<()> {
        let own = self.own_name()?;
        move_entry(&self.dir, &own, &self.dir, name, existing)?;
        self.name = None;
        Ok(())
    }

    /// Gives it the name of its target, and parks the old target under an
    /// unused name.
    pub(crate) fn persist_parking_old(self, name: &OsStr, aside: &OsStr) -> io::Result<ParkedFile> {
        self.persist_parking_with(name, aside, |dir, one, other| {
            rustix::fs::renameat_with(dir, one, dir, other, RenameFlags::EXCHANGE)
        })
    }

    fn persist_parking_with(
        mut self,
        name: &OsStr,
        aside: &OsStr,
        exchange: impl FnOnce(BorrowedFd<'_>, &OsStr, &OsStr) -> Result<(), Errno>,
    ) -> io::Result<ParkedFile> {
        let own = self.own_name()?;
        move_entry(&self.dir, &own, &self.dir, aside, ExistingFile::Refuse)?;
        self.name = Some(aside.to_owned());
        let held = hold_open(self.dir.as_fd(), name);
        match exchange(self.dir.as_fd(), aside, name) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                self.replace_with_link(name, aside)?;
            }
            Err(error) => return Err(error.into()),
        }
        self.name = None;
        let name = Some(aside.to_owned());
        Ok(ParkedFile { dir: self.dir.try_clone()?, name, _held: held })
    }

    /// Does the same without an exchange: hard links the old file as `aside`,
    /// where the rollback of an interrupted change looks for it, and renames the
    /// new one.
    fn replace_with_link(&mut self, name: &OsStr, aside: &OsStr) -> io::Result<()> {
        let own = ScratchKind::File.new_name();
        move_entry(&self.dir, aside, &self.dir, &own, ExistingFile::Refuse)?;
        self.name = Some(own.clone());
        let dir = self.dir.as_fd();
        rustix::fs::linkat(dir, name, dir, aside, AtFlags::empty())?;
        if let Err(error) = rustix::fs::renameat(dir, &own, dir, name) {
            let _ = rustix::fs::unlinkat(dir, aside, AtFlags::empty());
            return Err(error.into());
        }
        Ok(())
    }

    fn link_as(&self, name: &OsStr) -> Result<(), Errno> {
        let handle = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(CWD, &handle, &self.dir, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Returns its scratch name, creating one if it has none.
    fn own_name(&mut self) -> io::Result<OsString> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let name = match with_free_name(|name| self.link_as(name)) {
            Ok((name, ())) => name,
            // Without /proc an unnamed file cannot be linked.
            Err(_) => self.switch_to_named_copy()?,
        };
        self.name = Some(name.clone());
        Ok(name)
    }

    /// Replaces the file with a named copy.
    fn switch_to_named_copy(&mut self) -> io::Result<OsString> {
        let mut copy = Self::create_named(self.dir.as_fd(), PRIVATE_FILE_MODE)?;
        self.file.rewind()?;
        io::copy(&mut self.file, &mut copy.file)?;
        let facts = FileMetadata::from_stat(&rustix::fs::fstat(&self.file)?);
        let model = AttributeSource { metadata: facts, file: Some(self.file.try_clone()?) };
        model.apply_to(&copy.file)?;
        rustix::fs::fchmod(&copy.file, Mode::from_raw_mode(facts.mode))?;
        copy.file.sync_all()?;
        let name = copy.name.take().unwrap_or_default();
        self.file = copy.file.try_clone()?;
        Ok(name)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
        }
    }
}

/// A parked file; removed when dropped.
#[derive(Debug)]
pub(crate) struct ParkedFile {
    dir: OwnedFd,
    name: Option<OsString>,
    /// Its lock shows that the owner is alive.
    _held: Option<OwnedFd>,
}

impl ParkedFile {
    /// Parks a file under an unused name.
    pub(crate) fn park(spot: &AnchoredName, aside: &OsStr) -> io::Result<Self> {
        let dir = spot.dir.as_fd();
        let held = hold_open(dir, &spot.name);
        move_entry(dir, &spot.name, dir, aside, ExistingFile::Refuse)?;
        Ok(Self { dir: spot.dir.try_clone()?, name: Some(aside.to_owned()), _held: held })
    }

    /// Renames it back to its old name.
    pub(crate) fn restore(mut self, name: &OsStr, existing: ExistingFile) -> io::Result<()> {
        let aside = self.name.take().unwrap_or_default();
        let moved = move_entry(&self.dir, &aside, &self.dir, name, existing);
        if moved.is_err() {
            // Its content must not be lost: use a name that is never swept.
            let kept = OsString::from(format!("{}.kept", aside.to_string_lossy()));
            let _ = move_entry(&self.dir, &aside, &self.dir, &kept, ExistingFile::Refuse);
        }
        moved
    }
}

impl Drop for ParkedFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
        }
    }
}

/// Calls `make` with scratch names until one is free.
fn with_free_name<T>(
    mut make: impl FnMut(&OsStr) -> Result<T, Errno>,
) -> io::Result<(OsString, T)> {
    for _ in 0..MAX_NAME_ATTEMPTS {
        let name = ScratchKind::File.new_name();
        match make(&name) {
            Err(Errno::EXIST) => {}
            made => return Ok((name, made?)),
        }
    }
    Err(Errno::EXIST.into())
}

fn hold_open(dir: BorrowedFd<'_>, name: &OsStr) -> Option<OwnedFd> {
    let file = open_for_lock(dir, name)?;
    claim(&file);
    Some(file)
}

/// Moves an entry from one open directory to another.
pub(crate) fn move_entry(
    from: impl AsFd,
    name: &OsStr,
    to: impl AsFd,
    new: &OsStr,
    existing: ExistingFile,
) -> io::Result<()> {
    let (from, to) = (from.as_fd(), to.as_fd());
    if existing == ExistingFile::Replace {
        return Ok(rustix::fs::renameat(from, name, to, new)?);
    }
    match rustix::fs::renameat_with(from, name, to, new, RenameFlags::NOREPLACE) {
        // The file system lacks that flag: a hard link does the same for a
        // file; directories cannot have one.
        Err(Errno::INVAL | Errno::NOSYS) => {
            match rustix::fs::linkat(from, name, to, new, AtFlags::empty()) {
                Err(Errno::PERM) => return Err(Errno::INVAL.into()),
                linked => linked?,
            }
            Ok(rustix::fs::unlinkat(from, name, AtFlags::empty())?)
        }
        moved => Ok(moved?),
    }
}

/// Makes a name change in a directory survive a power failure, if the file
/// system supports it.
pub(crate) fn sync_dir(spot: &AnchoredName) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(dir) = rustix::fs::openat(&spot.dir, ".", flags, Mode::empty()) {
        let _ = rustix::fs::fsync(dir);
    }
}

#[cfg(test)]
#[path = "temp_file_tests.rs"]
mod tests;
