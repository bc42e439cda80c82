//! Directories and files below a root, opened with few system calls and without
//! following symlinks.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::time::{Duration, SystemTime};

use hermes_files::{FileKind, OpenDir};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat};
use rustix::io::Errno;

/// Retries when the tree changes during an open.
const MAX_OPEN_ATTEMPTS: usize = 16;
/// Size of the buffer for directory entries.
const READDIR_BUFFER_BYTES: usize = 32 * 1024;

/// An open directory.
#[derive(Debug)]
pub(crate) struct DirHandle {
    fd: OwnedFd,
}

/// Metadata of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryStat {
    pub(crate) kind: FileKind,
    pub(crate) len: u64,
    pub(crate) modified: Option<SystemTime>,
    /// Whether it occupies disk blocks, so it is not a kernel file such as in
    /// `/proc`.
    pub(crate) is_stored: bool,
    /// Device and inode, if it has several hard links.
    pub(crate) hard_link_id: Option<(u64, u64)>,
}

impl DirHandle {
    /// Opens the directory at a canonical path, if it is the one already open.
    pub(crate) fn open_verified(dir: &OpenDir, real: &Path) -> io::Result<Self> {
        let wanted = dir.metadata(Path::new(""))?.identity;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
        let below = real.strip_prefix("/").unwrap_or(real);
        let handle = Self { fd: top }.open_dir(below)?;
        let stat = rustix::fs::fstat(&handle.fd)?;
        if (stat.st_dev, stat.st_ino) == (wanted.dev, wanted.ino) {
            return Ok(handle);
        }
        Err(Errno::LOOP.into())
    }

    /// Opens a directory below this one; the empty path is the directory
    /// itself.
    pub(crate) fn open_dir(&self, relative: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { fd: self.open_beneath(relative, flags)? })
    }

    /// Opens a regular file below this directory. Never blocks, and rejects
    /// anything but regular files.
    pub(crate) fn open_file(&self, relative: &Path) -> io::Result<(File, EntryStat)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = self.open_beneath(relative, flags | OFlags::NOCTTY | OFlags::NONBLOCK)?;
        let known = EntryStat::from_stat(&rustix::fs::fstat(&fd)?);
        if known.kind != FileKind::File {
            // It was a regular file when its directory was listed.
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok((fd.into(), known))
    }

    /// Returns the metadata of a path below. Does not follow a symlink.
    pub(crate) fn stat(&self, relative: &Path) -> io::Result<EntryStat> {
        let stat = if is_single_name(relative) {
            rustix::fs::statat(&self.fd, relative, AtFlags::SYMLINK_NOFOLLOW)?
        } else {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Some(name) = relative.file_name() else { return Err(Errno::NOENT.into()) };
            let dir = relative.parent().unwrap_or(Path::new(""));
            let dir = self.open_beneath(dir, flags | OFlags::DIRECTORY)?;
            rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?
        };
        Ok(EntryStat::from_stat(&stat))
    }

    /// Passes every entry except `.` and `..` to `see`, in no particular order.
    /// Stops at an error, or when `see` returns false. Works only once per
    /// handle.
    pub(crate) fn for_each_entry(
        &self,
        mut see: impl FnMut(&OsStr, FileKind) -> bool,
    ) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(READDIR_BUFFER_BYTES);
        let mut listing = RawDir::new(self.fd.as_fd(), buffer.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let name = OsStr::from_bytes(name);
            let kind = match entry.file_type() {
                // Not every file system reports the type in the listing.
                FileType::Unknown => match self.stat(Path::new(name)) {
                    Ok(known) => known.kind,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                },
                shown => shown.into(),
            };
            if !see(name, kind) {
                break;
            }
        }
        Ok(())
    }

    fn open_beneath(&self, relative: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let fd = self.fd.as_fd();
        if relative.as_os_str().is_empty() {
            return Ok(rustix::fs::openat(fd, ".", flags, Mode::empty())?);
        }
        if is_single_name(relative) {
            return Ok(rustix::fs::openat(fd, relative, flags, Mode::empty())?);
        }
        match open_with_openat2(fd, relative, flags) {
            // An old kernel lacks the call; a seccomp filter may forbid it.
            Err(Errno::NOSYS | Errno::PERM) => Ok(open_stepwise(fd, relative, flags)?),
            reached => Ok(reached?),
        }
    }
}

impl EntryStat {
    fn from_stat(stat: &Stat) -> Self {
        let seconds = i128::from(stat.st_mtime);
        let nanoseconds = u64::try_from(i128::from(stat.st_mtime_nsec)).unwrap_or(0);
        Self {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            len: u64::try_from(i128::from(stat.st_size)).unwrap_or(0),
            is_stored: stat.st_blocks > 0,
            hard_link_id: (stat.st_nlink > 1).then_some((stat.st_dev, stat.st_ino)),
            modified: system_time(seconds).map(|at| at + Duration::from_nanos(nanoseconds)),
        }
    }
}

fn system_time(seconds: i128) -> Option<SystemTime> {
    let whole = Duration::from_secs(u64::try_from(seconds.unsigned_abs()).ok()?);
    if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    }
}

/// Whether a path is a single name.
fn is_single_name(relative: &Path) -> bool {
    let mut parts = relative.components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

fn open_with_openat2(
    base: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let bounds = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    let mut last = Errno::AGAIN;
    for _ in 0..MAX_OPEN_ATTEMPTS {
        match rustix::fs::openat2(base, relative, flags, Mode::empty(), bounds) {
            Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
            done => return done,
        }
    }
    Err(last)
}

fn open_stepwise(base: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let way = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = base.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    let mut parts = relative.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Err(Errno::INVAL) };
        let flags = if parts.peek().is_some() { way } else { flags };
        here = rustix::fs::openat(&here, name, flags, Mode::empty())?;
    }
    Ok(here)
}

#[cfg(test)]
#[path = "dir_handle_tests.rs"]
mod tests;
