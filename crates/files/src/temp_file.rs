//! A file that is made beside its target and then takes its name, and one
//! that is put aside until it is clear that it may go.
//!
//! Both can be left behind by a process that is killed. They have names of
//! ours, and their maker holds a lock on them: whoever writes into the folder
//! next sees which of them belong to nobody, and removes those.

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

/// A new file in an open folder; removed when dropped, unless it was kept.
#[derive(Debug)]
pub(crate) struct TempFile {
    folder: OwnedFd,
    /// None as long as it has no name, and when it has that of its target.
    name: Option<OsString>,
    pub(crate) file: File,
}

impl TempFile {
    /// Makes one that has these permissions, less the umask. It has no name
    /// where the file system can do that: then nothing can be left of it.
    pub(crate) fn create(folder: BorrowedFd<'_>, permissions: u32) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(permissions);
        match rustix::fs::openat(folder, ".", flags, mode) {
            Ok(file) => {
                claim(&file);
                let folder = folder.try_clone_to_owned()?;
                Ok(Self { folder, name: None, file: file.into() })
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::NOSYS) => {
                Self::create_named(folder, permissions)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes one that has a name from the beginning.
    fn create_named(folder: BorrowedFd<'_>, permissions: u32) -> io::Result<Self> {
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NOCTTY;
        let mode = Mode::from_raw_mode(permissions);
        let (name, file) = with_free_name(|name| {
            let file = rustix::fs::openat(folder, name, flags, mode)?;
            claim(&file);
            // Somebody may have taken it for abandoned before it was locked.
            if is_still_at(folder, name, &file) { Ok(file) } else { Err(Errno::EXIST) }
        })?;
        let folder = folder.try_clone_to_owned()?;
        Ok(Self { folder, name: Some(name), file: file.into() })
    }

    /// Gives it the name of its target.
    pub(crate) fn persist(self, name: &OsStr, existing: ExistingFile) -> io::Result<()> {
        // Where nothing is, it needs no name of its own on the way.
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

    /// [`Self::keep`] where something is known to be.
    pub(crate) fn persist_over(self, name: &OsStr) -> io::Result<()> {
        self.rename_over(name, ExistingFile::Replace)
    }

    fn rename_over(mut self, name: &OsStr, existing: ExistingFile) -> io::Result<()> {
        let own = self.own_name()?;
        move_entry(&self.folder, &own, &self.folder, name, existing)?;
        self.name = None;
        Ok(())
    }

    /// Gives it the name of its target, and puts the target aside under a name
    /// that nobody has.
    pub(crate) fn persist_parking_old(
        mut self,
        name: &OsStr,
        aside: &OsStr,
    ) -> io::Result<ParkedFile> {
        let own = self.own_name()?;
        move_entry(&self.folder, &own, &self.folder, aside, ExistingFile::Refuse)?;
        self.name = Some(aside.to_owned());
        let own = aside.to_owned();
        let held = hold_open(self.folder.as_fd(), name);
        let exchange = RenameFlags::EXCHANGE;
        let aside =
            match rustix::fs::renameat_with(&self.folder, &own, &self.folder, name, exchange) {
                Ok(()) => own,
                // A file system that cannot do that: the old one gets a second name.
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    let folder = self.folder.as_fd();
                    let (aside, ()) = with_free_name(|aside| {
                        rustix::fs::linkat(folder, name, folder, aside, AtFlags::empty())
                    })?;
                    if let Err(error) = rustix::fs::renameat(folder, &own, folder, name) {
                        let _ = rustix::fs::unlinkat(folder, &aside, AtFlags::empty());
                        return Err(error.into());
                    }
                    aside
                }
                Err(error) => return Err(error.into()),
            };
        self.name = None;
        Ok(ParkedFile { folder: self.folder.try_clone()?, name: Some(aside), _held: held })
    }

    fn link_as(&self, name: &OsStr) -> Result<(), Errno> {
        let handle = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(CWD, &handle, &self.folder, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Its own name, which it gets now if it had none.
    fn own_name(&mut self) -> io::Result<OsString> {
        if let Some(name) = &self.name {
            return Ok(name.clone());
        }
        let name = match with_free_name(|name| self.link_as(name)) {
            Ok((name, ())) => name,
            // Without /proc a nameless file stays nameless.
            Err(_) => self.switch_to_named_copy()?,
        };
        self.name = Some(name.clone());
        Ok(name)
    }

    /// Goes on with a copy that has a name.
    fn switch_to_named_copy(&mut self) -> io::Result<OsString> {
        let mut copy = Self::create_named(self.folder.as_fd(), PRIVATE_FILE_MODE)?;
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
            let _ = rustix::fs::unlinkat(&self.folder, name, AtFlags::empty());
        }
    }
}

/// A file that was put aside; it goes when dropped.
#[derive(Debug)]
pub(crate) struct ParkedFile {
    folder: OwnedFd,
    name: Option<OsString>,
    /// Shows that its owner lives.
    _held: Option<OwnedFd>,
}

impl ParkedFile {
    /// Puts aside what is at a spot, under a name that nobody has.
    pub(crate) fn park(spot: &AnchoredName, aside: &OsStr) -> io::Result<Self> {
        let folder = spot.dir.as_fd();
        let held = hold_open(folder, &spot.name);
        move_entry(folder, &spot.name, folder, aside, ExistingFile::Refuse)?;
        Ok(Self { folder: spot.dir.try_clone()?, name: Some(aside.to_owned()), _held: held })
    }

    /// Gives it its old name back.
    pub(crate) fn restore(mut self, name: &OsStr, existing: ExistingFile) -> io::Result<()> {
        let aside = self.name.take().unwrap_or_default();
        let moved = move_entry(&self.folder, &aside, &self.folder, name, existing);
        if moved.is_err() {
            // It holds what must not be lost: give it a name that nobody sweeps.
            let kept = OsString::from(format!("{}.kept", aside.to_string_lossy()));
            let _ = move_entry(&self.folder, &aside, &self.folder, &kept, ExistingFile::Refuse);
        }
        moved
    }
}

impl Drop for ParkedFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(&self.folder, name, AtFlags::empty());
        }
    }
}

/// Does something with the first name that is free.
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

fn hold_open(folder: BorrowedFd<'_>, name: &OsStr) -> Option<OwnedFd> {
    let file = open_for_lock(folder, name)?;
    claim(&file);
    Some(file)
}

/// Moves an entry from one open folder to another.
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
        // A file system without that flag: a second name does the same for a
        // file, and folders cannot have one.
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

/// Makes the change of names in a folder outlast a power cut, where the file
/// system can do that.
pub(crate) fn sync_dir(spot: &AnchoredName) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(folder) = rustix::fs::openat(&spot.dir, ".", flags, Mode::empty()) {
        let _ = rustix::fs::fsync(folder);
    }
}

#[cfg(test)]
#[path = "temp_file_tests.rs"]
mod tests;
