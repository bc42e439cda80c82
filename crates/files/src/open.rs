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

use crate::facts::{Facts, Kind};
use crate::folder::Folder;
use crate::traps::refuse_trap_in;

/// How often the kernel is asked again when the tree changed under its feet.
const ATTEMPTS: usize = 16;

/// How a path is walked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Walk {
    /// In one call to the kernel; step by step where it does not know the call.
    #[default]
    Kernel,
    /// One part at a time, each from the handle of the one before.
    Stepwise,
}

/// Opens the regular file at a real path for reading. Pipes, sockets and
/// devices are refused before they are opened, and opening never waits.
pub fn open_file(real: &Path, walk: Walk) -> io::Result<File> {
    Spot::reach(real, walk)?.open(OFlags::RDONLY)
}

/// Opens the folder at a real path.
pub fn open_folder(real: &Path, walk: Walk) -> io::Result<Folder> {
    Spot::reach(real, walk)?.folder(walk)
}

/// A name in a folder that is held open: whatever happens to the paths that
/// led there, it stays this folder.
#[derive(Debug)]
pub(crate) struct Spot {
    pub(crate) folder: OwnedFd,
    pub(crate) name: OsString,
}

impl Spot {
    /// The spot at a real path.
    pub(crate) fn reach(real: &Path, walk: Walk) -> io::Result<Self> {
        Self::below(root()?, below_root(real)?, walk)
    }

    /// The spot at a path below an open folder.
    pub(crate) fn below(base: impl AsFd, relative: &Path, walk: Walk) -> io::Result<Self> {
        let (folder, name) = split(relative)?;
        Ok(Self { folder: enter(base.as_fd(), folder, walk)?, name: name.to_owned() })
    }

    /// [`Self::reach`] that makes the folders that are missing.
    pub(crate) fn reach_making(real: &Path, walk: Walk) -> io::Result<Self> {
        Self::reach_noting(real, walk, &mut Vec::new())
    }

    /// [`Self::reach_making`] that says which folders it made, from the top
    /// down, also if it fails in the end.
    pub(crate) fn reach_noting(
        real: &Path,
        walk: Walk,
        made: &mut Vec<PathBuf>,
    ) -> io::Result<Self> {
        match Self::reach(real, walk) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            reached => return reached,
        }
        let (folder, name) = split(below_root(real)?)?;
        let mut here = root()?.try_clone()?;
        let mut path = PathBuf::from("/");
        for part in folder {
            path.push(part);
            here = match step(&here, part) {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&here, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) => {
                            made.push(path.clone());
                            step(&here, part)?
                        }
                        Err(Errno::EXIST) => step(&here, part)?,
                        Err(error) => return Err(error.into()),
                    }
                }
                other => other?,
            };
        }
        Ok(Self { folder: here, name: name.to_owned() })
    }

    /// Whether both are one name in one folder.
    pub(crate) fn is_same(&self, other: &Self) -> io::Result<bool> {
        let folder = |spot: &Self| Ok::<_, Errno>(Facts::of(&rustix::fs::fstat(&spot.folder)?));
        let (one, two) = (folder(self)?.identity, folder(other)?.identity);
        Ok(one.is_same(&two) && self.name == other.name)
    }

    /// What is there; a link is a link.
    pub(crate) fn facts(&self) -> io::Result<Facts> {
        let stat = rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Facts::of(&stat))
    }

    /// [`Self::facts`], none if nothing is there.
    pub(crate) fn look(&self) -> io::Result<Option<Facts>> {
        match self.facts() {
            Ok(facts) => Ok(Some(facts)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Where the link that is there leads, as it is written; none if it is no
    /// link.
    pub(crate) fn read_link(&self) -> io::Result<Option<PathBuf>> {
        match rustix::fs::readlinkat(&self.folder, &self.name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()).into())),
            Err(Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the regular file that is there.
    pub(crate) fn open(&self, flags: OFlags) -> io::Result<File> {
        // Merely opening some devices does something.
        self.facts()?.require(Kind::File)?;
        refuse_trap_in(&self.folder, &self.name)?;
        let careful = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let opened = rustix::fs::openat(&self.folder, &self.name, flags | careful, Mode::empty())?;
        // Something else may have taken its place since the look.
        Facts::of(&rustix::fs::fstat(&opened)?).require(Kind::File)?;
        rustix::fs::fcntl_setfl(&opened, flags & OFlags::APPEND)?;
        Ok(opened.into())
    }

    /// Opens the folder that is there.
    pub(crate) fn folder(&self, walk: Walk) -> io::Result<Folder> {
        self.facts()?.require(Kind::Folder)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty()) {
            Ok(opened) => Ok(Folder::new(opened, walk)),
            Err(Errno::NOTDIR) => Err(Errno::LOOP.into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The handle of `/`, opened once.
fn root() -> io::Result<&'static OwnedFd> {
    static ROOT: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(root) = ROOT.get() {
        return Ok(root);
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
    Ok(ROOT.get_or_init(|| opened))
}

fn below_root(real: &Path) -> io::Result<&Path> {
    real.strip_prefix("/").map_err(|_| not_plain())
}

/// The folder and the name of a path of plain names; `.` for the folder
/// itself.
fn split(relative: &Path) -> io::Result<(&Path, &OsStr)> {
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(not_plain());
    }
    match (relative.parent(), relative.file_name()) {
        (Some(folder), Some(name)) => Ok((folder, name)),
        _ => Ok((Path::new(""), OsStr::new("."))),
    }
}

fn not_plain() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the path is not a real one")
}

/// The handle of a folder below another.
fn enter(base: impl AsFd, relative: &Path, walk: Walk) -> io::Result<OwnedFd> {
    if relative.as_os_str().is_empty() {
        return base.as_fd().try_clone_to_owned();
    }
    if walk == Walk::Stepwise {
        return Ok(enter_stepwise(base, relative)?);
    }
    match enter_at_once(base.as_fd(), relative) {
        // An old kernel does not know the call, a filter may forbid it.
        Err(Errno::NOSYS | Errno::PERM) => Ok(enter_stepwise(base, relative)?),
        entered => Ok(entered?),
    }
}

fn enter_at_once(base: impl AsFd, relative: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let bounds = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    let mut last = Errno::AGAIN;
    for _ in 0..ATTEMPTS {
        match rustix::fs::openat2(base.as_fd(), relative, flags, Mode::empty(), bounds) {
            Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
            done => return done,
        }
    }
    Err(last)
}

fn enter_stepwise(base: impl AsFd, relative: &Path) -> Result<OwnedFd, Errno> {
    let mut parts = relative.iter();
    let first = parts.next().unwrap_or_default();
    let mut here = step(base, first)?;
    for part in parts {
        here = step(&here, part)?;
    }
    Ok(here)
}

/// The handle of the folder `name` in the folder `here`. A link is told from
/// a file: links lead astray, files are merely in the way.
fn step(here: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(here.as_fd(), name, flags, Mode::empty()) {
        Err(Errno::NOTDIR) => {
            let stat = rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match Facts::of(&stat).kind {
                // A folder by now: it was something else a moment ago.
                Kind::Link | Kind::Folder => Err(Errno::LOOP),
                _ => Err(Errno::NOTDIR),
            }
        }
        stepped => stepped,
    }
}
