//! Opening a real place without following a single link: the place that was
//! judged, or nothing.

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

/// How often the kernel is asked again when the tree changed under its feet.
const MAX_OPEN_ATTEMPTS: usize = 16;

/// How a path is walked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WalkMode {
    /// In one call to the kernel; step by step where it does not know the call.
    #[default]
    Kernel,
    /// One part at a time, each from the handle of the one before.
    Stepwise,
}

/// Opens the regular file at a real path for reading. Pipes, sockets and
/// devices are refused before they are opened, and opening never waits.
pub fn open_file(real: &Path, walk: WalkMode) -> io::Result<File> {
    AnchoredName::resolve(real, walk)?.open(OFlags::RDONLY)
}

/// Opens the folder at a real path.
pub fn open_dir(real: &Path, walk: WalkMode) -> io::Result<OpenDir> {
    AnchoredName::resolve(real, walk)?.open_dir(walk)
}

/// A name in a folder that is held open: whatever happens to the paths that
/// led there, it stays this folder.
#[derive(Debug)]
pub(crate) struct AnchoredName {
    pub(crate) dir: OwnedFd,
    pub(crate) name: OsString,
}

impl AnchoredName {
    /// The spot at a real path.
    pub(crate) fn resolve(real: &Path, walk: WalkMode) -> io::Result<Self> {
        Self::resolve_below(root_handle()?, below_root(real)?, walk)
    }

    /// The spot at a path below an open folder.
    pub(crate) fn resolve_below(
        base: impl AsFd,
        relative: &Path,
        walk: WalkMode,
    ) -> io::Result<Self> {
        let (folder, name) = split_name(relative)?;
        Ok(Self { dir: open_dir_handle(base.as_fd(), folder, walk)?, name: name.to_owned() })
    }

    /// [`Self::reach`] that makes the folders that are missing.
    pub(crate) fn resolve_creating(real: &Path, walk: WalkMode) -> io::Result<Self> {
        Self::resolve_recording(real, walk, &mut Vec::new())
    }

    /// [`Self::reach_making`] that says which folders it made, from the top
    /// down, also if it fails in the end.
    pub(crate) fn resolve_recording(
        real: &Path,
        walk: WalkMode,
        made: &mut Vec<PathBuf>,
    ) -> io::Result<Self> {
        match Self::resolve(real, walk) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            reached => return reached,
        }
        let (folder, name) = split_name(below_root(real)?)?;
        let mut here = root_handle()?.try_clone()?;
        let mut path = PathBuf::from("/");
        for part in folder {
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

    /// Whether both are one name in one folder.
    pub(crate) fn is_same(&self, other: &Self) -> io::Result<bool> {
        let folder =
            |spot: &Self| Ok::<_, Errno>(FileMetadata::from_stat(&rustix::fs::fstat(&spot.dir)?));
        let (one, two) = (folder(self)?.identity, folder(other)?.identity);
        Ok(one.is_same(&two) && self.name == other.name)
    }

    /// What is there; a link is a link.
    pub(crate) fn metadata(&self) -> io::Result<FileMetadata> {
        let stat = rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileMetadata::from_stat(&stat))
    }

    /// [`Self::facts`], none if nothing is there.
    pub(crate) fn metadata_if_exists(&self) -> io::Result<Option<FileMetadata>> {
        match self.metadata() {
            Ok(facts) => Ok(Some(facts)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Where the link that is there leads, as it is written; none if it is no
    /// link.
    pub(crate) fn read_link(&self) -> io::Result<Option<PathBuf>> {
        match rustix::fs::readlinkat(&self.dir, &self.name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()).into())),
            Err(Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the regular file that is there.
    pub(crate) fn open(&self, flags: OFlags) -> io::Result<File> {
        // Merely opening some devices does something.
        self.metadata()?.require_kind(FileKind::File)?;
        refuse_trap_in(&self.dir, &self.name)?;
        let careful = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let opened = rustix::fs::openat(&self.dir, &self.name, flags | careful, Mode::empty())?;
        // Something else may have taken its place since the look.
        FileMetadata::from_stat(&rustix::fs::fstat(&opened)?).require_kind(FileKind::File)?;
        rustix::fs::fcntl_setfl(&opened, flags & OFlags::APPEND)?;
        Ok(opened.into())
    }

    /// Opens the folder that is there.
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

/// The handle of `/`, opened once.
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

/// The folder and the name of a path of plain names; `.` for the folder
/// itself.
fn split_name(relative: &Path) -> io::Result<(&Path, &OsStr)> {
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(not_plain_error());
    }
    match (relative.parent(), relative.file_name()) {
        (Some(folder), Some(name)) => Ok((folder, name)),
        _ => Ok((Path::new(""), OsStr::new("."))),
    }
}

fn not_plain_error() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the path is not a real one")
}

/// The handle of a folder below another.
fn open_dir_handle(base: impl AsFd, relative: &Path, walk: WalkMode) -> io::Result<OwnedFd> {
    if relative.as_os_str().is_empty() {
        return base.as_fd().try_clone_to_owned();
    }
    if walk == WalkMode::Stepwise {
        return Ok(open_stepwise(base, relative)?);
    }
    match open_in_one_call(base.as_fd(), relative) {
        // An old kernel does not know the call, a filter may forbid it.
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

/// The handle of the folder `name` in the folder `here`. A link is told from
/// a file: links lead astray, files are merely in the way.
fn open_component(here: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(here.as_fd(), name, flags, Mode::empty()) {
        Err(Errno::NOTDIR) => {
            let stat = rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileMetadata::from_stat(&stat).kind {
                // A folder by now: it was something else a moment ago.
                FileKind::Link | FileKind::Directory => Err(Errno::LOOP),
                _ => Err(Errno::NOTDIR),
            }
        }
        stepped => stepped,
    }
}
