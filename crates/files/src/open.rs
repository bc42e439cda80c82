//! Opens a real path without following any symlink: exactly the path that the
//! policy checked, or nothing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::dir::OpenDir;
use crate::metadata::{FileKind, FileMetadata};
use crate::traps::refuse_trap_in;

/// How often `openat2` is retried when the tree changes meanwhile.
const MAX_OPEN_ATTEMPTS: usize = 16;

/// How a path is resolved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WalkMode {
    /// With `openat2`; component by component if the kernel lacks it.
    #[default]
    Kernel,
    /// Component by component, each relative to the previous handle.
    Stepwise,
}

/// Opens the regular file at a real path for reading. Pipes, sockets and
/// devices are refused before they are opened, and opening never blocks.
pub fn open_file(real: &Path, walk: WalkMode) -> io::Result<File> {
    AnchoredName::resolve(real, walk)?.open(OFlags::RDONLY)
}

/// Opens the directory at a real path.
pub fn open_dir(real: &Path, walk: WalkMode) -> io::Result<OpenDir> {
    AnchoredName::resolve(real, walk)?.open_dir(walk)
}

/// A name in an open directory. The handle refers to the same directory
/// whatever happens to its path.
#[derive(Debug)]
pub(crate) struct AnchoredName {
    pub(crate) dir: OwnedFd,
    pub(crate) name: OsString,
}

impl AnchoredName {
    /// Resolves a real path.
    pub(crate) fn resolve(real: &Path, walk: WalkMode) -> io::Result<Self> {
        Self::resolve_below(root_handle()?, below_root(real)?, walk)
    }

    /// Resolves a path below an open directory.
    pub(crate) fn resolve_below(
        base: impl AsFd,
        relative: &Path,
        walk: WalkMode,
    ) -> io::Result<Self> {
        let (directory, name) = split_name(relative)?;
        Ok(Self { dir: open_dir_handle(base.as_fd(), directory, walk)?, name: name.to_owned() })
    }

    /// Like [`Self::resolve`], and creates missing directories.
    pub(crate) fn resolve_creating(real: &Path, walk: WalkMode) -> io::Result<Self> {
        Self::resolve_recording(real, walk, &mut Vec::new())
    }

    /// Like [`Self::resolve_creating`], and records the directories created,
    /// from the top down, even on failure.
    pub(crate) fn resolve_recording(
        real: &Path,
        walk: WalkMode,
        made: &mut Vec<PathBuf>,
    ) -> io::Result<Self> {
        match Self::resolve(real, walk) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            reached => return reached,
        }
        let (directory, name) = split_name(below_root(real)?)?;
        let mut here = root_handle()?.try_clone()?;
        let mut path = PathBuf::from("/");
        for part in directory {
            path.push(part);
            here = match open_component(&here, part) {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&here, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) => {
                            made.push(path.clone());
                            open_component(&here, part)?
                        }
                        Err(Errno::EXIST) => open_component(&here, part)?,
                        Err(error) => return Err(error.into()),
                    }
                }
                other => other?,
            };
        }
        Ok(Self { dir: here, name: name.to_owned() })
    }

    /// Whether both are the same name in the same directory.
    pub(crate) fn is_same(&self, other: &Self) -> io::Result<bool> {
        let dir =
            |spot: &Self| Ok::<_, Errno>(FileMetadata::from_stat(&rustix::fs::fstat(&spot.dir)?));
        let (one, two) = (dir(self)?.identity, dir(other)?.identity);
        Ok(one.is_same(&two) && self.name == other.name)
    }

    /// Returns the metadata; symlinks are not followed.
    pub(crate) fn metadata(&self) -> io::Result<FileMetadata> {
        let stat = rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileMetadata::from_stat(&stat))
    }

    /// Like [`Self::metadata`]; `None` if it does not exist.
    pub(crate) fn metadata_if_exists(&self) -> io::Result<Option<FileMetadata>> {
        match self.metadata() {
            Ok(facts) => Ok(Some(facts)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the target of the symlink as written; `None` if it is not a
    /// symlink.
    pub(crate) fn read_link(&self) -> io::Result<Option<PathBuf>> {
        match rustix::fs::readlinkat(&self.dir, &self.name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()).into())),
            Err(Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the regular file.
    pub(crate) fn open(&self, flags: OFlags) -> io::Result<File> {
        // Opening some devices has side effects.
        self.metadata()?.require_kind(FileKind::File)?;
        refuse_trap_in(&self.dir, &self.name)?;
        let careful = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let opened = rustix::fs::openat(&self.dir, &self.name, flags | careful, Mode::empty())?;
        // The file may have been replaced since the check.
        FileMetadata::from_stat(&rustix::fs::fstat(&opened)?).require_kind(FileKind::File)?;
        rustix::fs::fcntl_setfl(&opened, flags & OFlags::APPEND)?;
        Ok(opened.into())
    }

    /// Opens the directory.
    pub(crate) fn open_dir(&self, walk: WalkMode) -> io::Result<OpenDir> {
        self.metadata()?.require_kind(FileKind::Directory)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty()) {
            Ok(opened) => Ok(OpenDir::new(opened, walk)),
            Err(Errno::NOTDIR) => Err(Errno::LOOP.into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the handle of `/`, opened once.
fn root_handle() -> io::Result<&'static OwnedFd> {
    static ROOT_HANDLE: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(root) = ROOT_HANDLE.get() {
        return Ok(root);
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
    Ok(ROOT_HANDLE.get_or_init(|| opened))
}

fn below_root(real: &Path) -> io::Result<&Path> {
    real.strip_prefix("/").map_err(|_| not_plain_error())
}

/// Splits a path of plain names into parent and name; the name is `.` for the
/// directory itself.
fn split_name(relative: &Path) -> io::Result<(&Path, &OsStr)> {
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(not_plain_error());
    }
    match (relative.parent(), relative.file_name()) {
        (Some(dir), Some(name)) => Ok((dir, name)),
        _ => Ok((Path::new(""), OsStr::new("."))),
    }
}

fn not_plain_error() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the path is not canonical")
}

/// Opens a directory below another.
fn open_dir_handle(base: impl AsFd, relative: &Path, walk: WalkMode) -> io::Result<OwnedFd> {
    if relative.as_os_str().is_empty() {
        return base.as_fd().try_clone_to_owned();
    }
    if walk == WalkMode::Stepwise {
        return Ok(open_stepwise(base, relative)?);
    }
    match open_in_one_call(base.as_fd(), relative) {
        // An old kernel lacks the call, or a seccomp filter forbids it.
        Err(Errno::NOSYS | Errno::PERM) => Ok(open_stepwise(base, relative)?),
        entered => Ok(entered?),
    }
}

fn open_in_one_call(base: impl AsFd, relative: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let bounds = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    let mut last = Errno::AGAIN;
    for _ in 0..MAX_OPEN_ATTEMPTS {
        match rustix::fs::openat2(base.as_fd(), relative, flags, Mode::empty(), bounds) {
            Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
            done => return done,
        }
    }
    Err(last)
}

fn open_stepwise(base: impl AsFd, relative: &Path) -> Result<OwnedFd, Errno> {
    let mut parts = relative.iter();
    let first = parts.next().unwrap_or_default();
    let mut here = open_component(base, first)?;
    for part in parts {
        here = open_component(&here, part)?;
    }
    Ok(here)
}

/// Opens the directory `name` in the directory `here`. A symlink and a file
/// give different errors: a symlink may redirect the path, a file only blocks
/// it.
fn open_component(here: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(here.as_fd(), name, flags, Mode::empty()) {
        Err(Errno::NOTDIR) => {
            let stat = rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileMetadata::from_stat(&stat).kind {
                // A directory now, but something else a moment ago.
                FileKind::Link | FileKind::Directory => Err(Errno::LOOP),
                _ => Err(Errno::NOTDIR),
            }
        }
        stepped => stepped,
    }
}
