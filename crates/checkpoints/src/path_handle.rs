//! A name in an open directory, resolved without following symlinks, so
//! inspection and replacement affect exactly the named path.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;

use crate::attributes::{ReplacedFile, SavedAttributes, read_xattrs};
use crate::state::{FileStamp, HardLinks};

/// Name prefix of temporary files during a restore.
pub(crate) const RESTORE_TEMP_PREFIX: &str = ".hermes-restore-";

/// Handle to the path of one file, directory or symlink.
#[derive(Debug)]
pub(crate) struct PathHandle {
    dir: OwnedFd,
    name: OsString,
}

/// Metadata of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathStat {
    pub(crate) kind: FileType,
    pub(crate) mode: u32,
    /// User and group id.
    pub(crate) owner: (u32, u32),
    pub(crate) stamp: FileStamp,
    /// Number of hard links.
    pub(crate) link_count: u64,
}

impl PathStat {
    /// Returns the hard link information of a file with several links.
    pub(crate) fn hard_links(&self) -> Option<HardLinks> {
        let linked = HardLinks { inode: self.stamp.inode, names: self.link_count };
        (self.link_count > 1).then_some(linked)
    }
}

impl PathHandle {
    /// Resolves an absolute path; `None` if its parent directory does not exist
    /// or is reached through a symlink.
    pub(crate) fn resolve(path: &Path) -> io::Result<Option<Self>> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Some(Self {
                dir: open_dir_without_links(Path::new("/"))?,
                name: ".".into(),
            }));
        };
        match open_dir_without_links(dir) {
            Ok(dir) => Ok(Some(Self { dir, name: name.to_owned() })),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the metadata without following symlinks.
    pub(crate) fn stat(&self) -> io::Result<Option<PathStat>> {
        match rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(file_stat(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the target of the symlink.
    pub(crate) fn read_link(&self) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.dir, &self.name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// Opens the regular file.
    pub(crate) fn open(&self) -> io::Result<(File, PathStat)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty())?;
        let found = file_stat(&rustix::fs::fstat(&file)?);
        if found.kind != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok((file.into(), found))
    }

    /// Atomically puts a file in place of a file or symlink. Returns the
    /// attributes that could not be restored.
    pub(crate) fn put_file(
        &self,
        kept: SavedAttributes<'_>,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<Vec<String>> {
        let there = self.existing_file()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let private = Mode::from_raw_mode(0o600);
        let temporary = self.create_temporary(|name| {
            rustix::fs::openat(&self.dir, name, flags | OFlags::CLOEXEC, private)
        });
        let (opened, name) = temporary?;
        let mut file = File::from(opened);
        let finish = || {
            fill(&mut file)?;
            let lost = kept.apply_to(&file, there.as_ref())?;
            file.sync_all()?;
            rustix::fs::renameat(&self.dir, &name, &self.dir, &self.name)?;
            Ok(lost)
        };
        finish().inspect_err(|_| self.discard(&name))
    }

    /// Returns the existing regular file, if any.
    fn existing_file(&self) -> io::Result<Option<ReplacedFile>> {
        let found = self.stat()?.filter(|found| found.kind == FileType::RegularFile);
        Ok(found.map(|found| match self.open() {
            Ok((file, found)) => ReplacedFile { stat: found, file: Some(file) },
            Err(_) => ReplacedFile { stat: found, file: None },
        }))
    }

    /// Puts a symlink in place of a file or symlink and sets its owner. Returns
    /// which of owner and group could not be set.
    pub(crate) fn put_link(
        &self,
        target: &Path,
        owner: Option<(u32, u32)>,
    ) -> io::Result<Vec<String>> {
        let ((), name) =
            self.create_temporary(|name| rustix::fs::symlinkat(target, &self.dir, name))?;
        let lost = owner.map_or(Ok(Vec::new()), |owner| self.chown_link(&name, owner));
        let moved = rustix::fs::renameat(&self.dir, &name, &self.dir, &self.name);
        moved.inspect_err(|_| self.discard(&name))?;
        Ok(lost?)
    }

    /// Changes the owner of a new symlink. Only root can change the user, but
    /// the group may be one of the caller's.
    fn chown_link(&self, name: &OsStr, (user, group): (u32, u32)) -> Result<Vec<String>, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let made = file_stat(&rustix::fs::statat(&self.dir, name, flags)?).owner;
        let give = |user, group| rustix::fs::chownat(&self.dir, name, user, group, flags);
        let mut lost = Vec::new();
        if made.0 != user && give(Some(Uid::from_raw(user)), None).is_err() {
            lost.push("owner".to_owned());
        }
        if made.1 != group && give(None, Some(Gid::from_raw(group))).is_err() {
            lost.push("group".to_owned());
        }
        Ok(lost)
    }

    /// Hard-links the file at `first` to this path, in place of a file or
    /// symlink. Returns false if that fails or `first` no longer has this
    /// inode.
    pub(crate) fn put_hard_link(&self, first: &Self, inode: u64) -> bool {
        let made = self.create_temporary(|name| {
            let (from, to) = (&first.dir, &self.dir);
            rustix::fs::linkat(from, &first.name, to, name, AtFlags::empty())
        });
        let Ok(((), name)) = made else { return false };
        let found = rustix::fs::statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW);
        let is_done = found.is_ok_and(|found| file_stat(&found).stamp.inode == inode)
            && rustix::fs::renameat(&self.dir, &name, &self.dir, &self.name).is_ok();
        // A rename between two links to one file does nothing.
        self.discard(&name);
        is_done
    }

    /// Creates a directory if none exists.
    pub(crate) fn put_dir(&self) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.dir, &self.name, Mode::from_raw_mode(0o700)) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) if self.stat()?.is_some_and(|l| l.kind == FileType::Directory) => {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Sets the permission bits of the file or directory.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mode = Mode::from_raw_mode(mode);
        match rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty()) {
            Ok(opened) => Ok(rustix::fs::fchmod(opened, mode)?),
            // The owner can chmod an unreadable file. A symlink is refused,
            // since its target would change.
            Err(Errno::ACCESS) if self.stat()?.is_some_and(|l| l.kind != FileType::Symlink) => {
                Ok(rustix::fs::chmodat(&self.dir, &self.name, mode, AtFlags::empty())?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Applies saved attributes to the file. Returns those that could not be
    /// restored.
    pub(crate) fn apply_attributes(&self, kept: SavedAttributes<'_>) -> io::Result<Vec<String>> {
        // An unreadable file cannot be opened before its mode is reset.
        self.set_mode(kept.mode & 0o777)?;
        if kept.is_plain() {
            self.set_mode(kept.mode)?;
            return Ok(Vec::new());
        }
        kept.reapply_to(&self.open()?.0)
    }

    /// [`Self::apply_attributes`] for a directory.
    pub(crate) fn apply_dir_attributes(
        &self,
        kept: SavedAttributes<'_>,
    ) -> io::Result<Vec<String>> {
        if kept.is_plain() {
            self.set_mode(kept.mode)?;
            return Ok(Vec::new());
        }
        let dir = match self.open_dir() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.set_mode(0o700)?;
                self.open_dir()?
            }
            opened => opened?,
        };
        kept.reapply_to(&dir)
    }

    /// Returns the extended attributes of the directory; `None` if it cannot be
    /// opened.
    pub(crate) fn dir_xattrs(&self) -> Option<BTreeMap<String, String>> {
        self.open_dir().ok().map(read_xattrs)
    }

    /// Opens the directory.
    pub(crate) fn open_dir(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty())?.into())
    }

    /// Removes a file, a symlink or an empty directory.
    pub(crate) fn remove(&self, is_folder: bool) -> io::Result<()> {
        let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match rustix::fs::unlinkat(&self.dir, &self.name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn create_temporary<T>(
        &self,
        make: impl Fn(&OsStr) -> Result<T, Errno>,
    ) -> io::Result<(T, OsString)> {
        static NEXT_TEMP_NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT_TEMP_NUMBER.fetch_add(1, Ordering::Relaxed);
            let name: OsString =
                format!("{RESTORE_TEMP_PREFIX}{:x}-{number:x}.tmp", std::process::id()).into();
            match make(&name) {
                Ok(made) => return Ok((made, name)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn discard(&self, name: &OsStr) {
        let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
    }
}

/// Opens a directory whose path must not contain symlinks.
fn open_dir_without_links(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Old kernels lack `openat2`, and seccomp filters may forbid it.
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return opened,
    }
    let mut here = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
    for part in path.strip_prefix("/").map_err(|_| Errno::INVAL)? {
        here = rustix::fs::openat(&here, part, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(here)
}

pub(crate) fn file_stat(stat: &rustix::fs::Stat) -> PathStat {
    // Widened first, since the field types differ between architectures.
    let moment = |seconds: i128, nanoseconds: i128| {
        i64::try_from(seconds * 1_000_000_000 + nanoseconds).unwrap_or(i64::MAX)
    };
    let stamp = FileStamp {
        len: u64::try_from(i128::from(stat.st_size)).unwrap_or(0),
        modified: moment(i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec)),
        changed: moment(i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec)),
        inode: stat.st_ino,
    };
    let kind = FileType::from_raw_mode(stat.st_mode);
    let names = u64::try_from(i128::from(stat.st_nlink)).unwrap_or(0);
    PathStat {
        kind,
        mode: stat.st_mode & 0o7777,
        owner: (stat.st_uid, stat.st_gid),
        stamp,
        link_count: names,
    }
}
