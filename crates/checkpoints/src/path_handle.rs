//! A name in a folder that is held open, reached without following a link:
//! what is looked at or replaced is what was named, and nothing else.

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

/// How the name of a file begins that is being brought back.
pub(crate) const RESTORE_TEMP_PREFIX: &str = ".hermes-restore-";

/// The place of one file, folder or link.
#[derive(Debug)]
pub(crate) struct PathHandle {
    folder: OwnedFd,
    name: OsString,
}

/// What is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathStat {
    pub(crate) kind: FileType,
    pub(crate) mode: u32,
    /// User and group.
    pub(crate) owner: (u32, u32),
    pub(crate) stamp: FileStamp,
    /// How many names it has.
    pub(crate) link_count: u64,
}

impl PathStat {
    /// What is known of the other names of a file, if it has any.
    pub(crate) fn hard_links(&self) -> Option<HardLinks> {
        let linked = HardLinks { inode: self.stamp.inode, names: self.link_count };
        (self.link_count > 1).then_some(linked)
    }
}

impl PathHandle {
    /// The spot at an absolute path; none if the folder that it would be in is
    /// not there, or only by way of a link.
    pub(crate) fn resolve(path: &Path) -> io::Result<Option<Self>> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Some(Self {
                folder: open_dir_without_links(Path::new("/"))?,
                name: ".".into(),
            }));
        };
        match open_dir_without_links(folder) {
            Ok(folder) => Ok(Some(Self { folder, name: name.to_owned() })),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What is there; a link is a link.
    pub(crate) fn stat(&self) -> io::Result<Option<PathStat>> {
        match rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(file_stat(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Where the link that is there leads.
    pub(crate) fn read_link(&self) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.folder, &self.name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// Opens the regular file that is there.
    pub(crate) fn open(&self) -> io::Result<(File, PathStat)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?;
        let found = file_stat(&rustix::fs::fstat(&file)?);
        if found.kind != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        Ok((file.into(), found))
    }

    /// Puts a file there, whole or not at all, in place of a file or a link.
    /// Says what it could not be given besides its content.
    pub(crate) fn put_file(
        &self,
        kept: SavedAttributes<'_>,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<Vec<String>> {
        let there = self.existing_file()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let private = Mode::from_raw_mode(0o600);
        let temporary = self.create_temporary(|name| {
            rustix::fs::openat(&self.folder, name, flags | OFlags::CLOEXEC, private)
        });
        let (opened, name) = temporary?;
        let mut file = File::from(opened);
        let finish = || {
            fill(&mut file)?;
            let lost = kept.apply_to(&file, there.as_ref())?;
            file.sync_all()?;
            rustix::fs::renameat(&self.folder, &name, &self.folder, &self.name)?;
            Ok(lost)
        };
        finish().inspect_err(|_| self.discard(&name))
    }

    /// The regular file that is there.
    fn existing_file(&self) -> io::Result<Option<ReplacedFile>> {
        let found = self.stat()?.filter(|found| found.kind == FileType::RegularFile);
        Ok(found.map(|found| match self.open() {
            Ok((file, found)) => ReplacedFile { stat: found, file: Some(file) },
            Err(_) => ReplacedFile { stat: found, file: None },
        }))
    }

    /// Puts a link there, in place of a file or a link, for a user and a group.
    /// Says which of them it could not be given to.
    pub(crate) fn put_link(
        &self,
        target: &Path,
        owner: Option<(u32, u32)>,
    ) -> io::Result<Vec<String>> {
        let ((), name) =
            self.create_temporary(|name| rustix::fs::symlinkat(target, &self.folder, name))?;
        let lost = owner.map_or(Ok(Vec::new()), |owner| self.chown_link(&name, owner));
        let moved = rustix::fs::renameat(&self.folder, &name, &self.folder, &self.name);
        moved.inspect_err(|_| self.discard(&name))?;
        Ok(lost?)
    }

    /// Gives a new link away. Only root can, but the group may be one's own.
    fn chown_link(&self, name: &OsStr, (user, group): (u32, u32)) -> Result<Vec<String>, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let made = file_stat(&rustix::fs::statat(&self.folder, name, flags)?).owner;
        let give = |user, group| rustix::fs::chownat(&self.folder, name, user, group, flags);
        let mut lost = Vec::new();
        if made.0 != user && give(Some(Uid::from_raw(user)), None).is_err() {
            lost.push("owner".to_owned());
        }
        if made.1 != group && give(None, Some(Gid::from_raw(group))).is_err() {
            lost.push("group".to_owned());
        }
        Ok(lost)
    }

    /// Gives the file at another spot this name as well, in place of a file or
    /// a link. Says whether that could be done: not if another file than the
    /// one that is meant is there by now.
    pub(crate) fn put_hard_link(&self, first: &Self, inode: u64) -> bool {
        let made = self.create_temporary(|name| {
            let (from, to) = (&first.folder, &self.folder);
            rustix::fs::linkat(from, &first.name, to, name, AtFlags::empty())
        });
        let Ok(((), name)) = made else { return false };
        let found = rustix::fs::statat(&self.folder, &name, AtFlags::SYMLINK_NOFOLLOW);
        let is_done = found.is_ok_and(|found| file_stat(&found).stamp.inode == inode)
            && rustix::fs::renameat(&self.folder, &name, &self.folder, &self.name).is_ok();
        // Between two names of one file a rename does nothing.
        self.discard(&name);
        is_done
    }

    /// Makes a folder there, if there is none.
    pub(crate) fn put_dir(&self) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.folder, &self.name, Mode::from_raw_mode(0o700)) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) if self.stat()?.is_some_and(|l| l.kind == FileType::Directory) => {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Changes the permission bits of the file or folder that is there.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mode = Mode::from_raw_mode(mode);
        match rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty()) {
            Ok(opened) => Ok(rustix::fs::fchmod(opened, mode)?),
            // One that cannot be read can still be changed by its owner; a
            // link is refused, since its target would change.
            Err(Errno::ACCESS) if self.stat()?.is_some_and(|l| l.kind != FileType::Symlink) => {
                Ok(rustix::fs::chmodat(&self.folder, &self.name, mode, AtFlags::empty())?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the file that is there what was kept of it besides its content.
    /// Says what it could not be given.
    pub(crate) fn apply_attributes(&self, kept: SavedAttributes<'_>) -> io::Result<Vec<String>> {
        // What was made unreadable cannot be opened before.
        self.set_mode(kept.mode & 0o777)?;
        if kept.is_plain() {
            self.set_mode(kept.mode)?;
            return Ok(Vec::new());
        }
        kept.reapply_to(&self.open()?.0)
    }

    /// [`Self::dress`] for the folder that is there.
    pub(crate) fn apply_dir_attributes(
        &self,
        kept: SavedAttributes<'_>,
    ) -> io::Result<Vec<String>> {
        if kept.is_plain() {
            self.set_mode(kept.mode)?;
            return Ok(Vec::new());
        }
        let folder = match self.open_dir() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.set_mode(0o700)?;
                self.open_dir()?
            }
            opened => opened?,
        };
        kept.reapply_to(&folder)
    }

    /// What the folder that is there has of extended attributes; none if it
    /// cannot be opened.
    pub(crate) fn dir_xattrs(&self) -> Option<BTreeMap<String, String>> {
        self.open_dir().ok().map(read_xattrs)
    }

    /// Opens the folder that is there.
    pub(crate) fn open_dir(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?.into())
    }

    /// Removes a file or a link, or an empty folder.
    pub(crate) fn remove(&self, is_folder: bool) -> io::Result<()> {
        let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match rustix::fs::unlinkat(&self.folder, &self.name, flags) {
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
        let _ = rustix::fs::unlinkat(&self.folder, name, AtFlags::empty());
    }
}

/// A folder by its path, on which there must be no link.
fn open_dir_without_links(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // An old kernel does not know the call, a filter may forbid it.
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
    // Widened first, since the fields differ from one machine to another.
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
