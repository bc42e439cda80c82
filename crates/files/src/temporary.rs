//! A file that is written beside its target and then takes its name.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::open::Spot;
use crate::write::Existing;

/// How many names are tried.
const NAMES: u64 = 64;

/// A new file in an open folder; removed when dropped, unless it was kept.
#[derive(Debug)]
pub(crate) struct Temporary<'a> {
    folder: BorrowedFd<'a>,
    name: OsString,
    pub(crate) file: File,
    is_kept: bool,
}

impl<'a> Temporary<'a> {
    /// Makes one that has these permissions, less the umask.
    pub(crate) fn create(folder: BorrowedFd<'a>, permissions: u32) -> io::Result<Self> {
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NOCTTY;
        let random = RandomState::new();
        for number in 0..NAMES {
            let name = OsString::from(format!(".hermes-{:016x}.tmp", random.hash_one(number)));
            match rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(permissions)) {
                Ok(file) => return Ok(Self { folder, name, file: file.into(), is_kept: false }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Gives it the name of its target.
    pub(crate) fn keep(mut self, name: &OsStr, existing: Existing) -> io::Result<()> {
        move_entry(self.folder, &self.name, self.folder, name, existing)?;
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Moves an entry from one open folder to another.
pub(crate) fn move_entry(
    from: impl AsFd,
    name: &OsStr,
    to: impl AsFd,
    new: &OsStr,
    existing: Existing,
) -> io::Result<()> {
    let (from, to) = (from.as_fd(), to.as_fd());
    if existing == Existing::Replace {
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
pub(crate) fn sync_folder(spot: &Spot) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(folder) = rustix::fs::openat(&spot.folder, ".", flags, Mode::empty()) {
        let _ = rustix::fs::fsync(folder);
    }
}
