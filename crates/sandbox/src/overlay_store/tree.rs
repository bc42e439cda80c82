//! Walks directory trees that other processes may change meanwhile: every step
//! is relative to an open directory, and no symlink is followed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Maximum depth of a tree. Each level holds a directory open.
const MAX_DEPTH: usize = 200;

const OPAQUE_XATTR: &str = "user.overlay.opaque";
const WHITEOUT_XATTR: &str = "user.overlay.whiteout";

/// Kind of an entry in an upper directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    File,
    Link,
    Directory,
    /// Marks an entry of the lower directory as deleted.
    Whiteout,
    /// A device, socket or pipe.
    Special,
}

/// An entry of an upper directory.
pub(super) struct UpperNode<'a> {
    /// The directory that contains it.
    pub(super) parent: BorrowedFd<'a>,
    pub(super) name: OsString,
    /// Path relative to the upper directory.
    pub(super) path: PathBuf,
    pub(super) kind: NodeKind,
    pub(super) stat: Stat,
}

impl UpperNode<'_> {
    pub(super) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or_default()
    }

    pub(super) fn modified(&self) -> Option<SystemTime> {
        super::system_time(self.stat.st_mtime, self.stat.st_mtime_nsec)
    }

    /// Returns the mode bits.
    pub(super) fn mode(&self) -> u32 {
        self.stat.st_mode & 0o7777
    }
}

/// Opens the root of a tree.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    open_directory(CWD, path.as_os_str()).map_err(|error| with_path(path, error))
}

/// Opens a directory in a directory; fails on a symlink.
pub(super) fn open_directory(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?)
}

/// Returns the `stat` of an entry without following a symlink; `None` if it
/// does not exist.
pub(super) fn stat(parent: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the sorted names in a directory.
pub(super) fn names(directory: impl AsFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name.to_vec()));
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the sorted entries of a directory in the upper tree.
pub(super) fn nodes<'a>(directory: BorrowedFd<'a>, path: &Path) -> io::Result<Vec<UpperNode<'a>>> {
    let mut nodes = Vec::new();
    for name in names(directory)? {
        // Skip what was deleted since.
        let Some(stat) = stat(directory, &name)? else { continue };
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => NodeKind::Directory,
            FileType::Symlink => NodeKind::Link,
            FileType::CharacterDevice if stat.st_rdev == 0 => NodeKind::Whiteout,
            FileType::RegularFile if stat.st_size == 0 && has_whiteout_xattr(directory, &name) => {
                NodeKind::Whiteout
            }
            FileType::RegularFile => NodeKind::File,
            _ => NodeKind::Special,
        };
        nodes.push(UpperNode { parent: directory, path: path.join(&name), name, kind, stat });
    }
    Ok(nodes)
}

/// Visits everything in a tree, each directory before its entries.
pub(super) fn visit(
    root: &OwnedFd,
    see: &mut dyn FnMut(&UpperNode<'_>) -> io::Result<()>,
) -> io::Result<()> {
    visit_below(root.as_fd(), Path::new(""), 0, see)
}

fn visit_below(
    directory: BorrowedFd<'_>,
    path: &Path,
    depth: usize,
    see: &mut dyn FnMut(&UpperNode<'_>) -> io::Result<()>,
) -> io::Result<()> {
    refuse_depth(path, depth)?;
    for node in nodes(directory, path).map_err(|error| with_path(path, error))? {
        see(&node)?;
        if node.kind == NodeKind::Directory {
            let child = open_directory(directory, &node.name);
            let child = child.map_err(|error| with_path(&node.path, error))?;
            visit_below(child.as_fd(), &node.path, depth + 1, see)?;
        }
    }
    Ok(())
}

/// Fails if a tree is too deep to walk.
pub(super) fn refuse_depth(path: &Path, depth: usize) -> io::Result<()> {
    if depth < MAX_DEPTH {
        return Ok(());
    }
    let error = io::Error::other(format!("more than {MAX_DEPTH} levels of directories"));
    Err(with_path(path, error))
}

/// Whether the directory hides the lower directory of the same name entirely.
pub(super) fn is_opaque(directory: impl AsFd) -> bool {
    let mut value = [0; 4];
    let read = rustix::fs::fgetxattr(directory, OPAQUE_XATTR, &mut value);
    read.is_ok_and(|length| value.get(..length) == Some(b"y"))
}

/// Whether an empty file is a whiteout.
fn has_whiteout_xattr(directory: BorrowedFd<'_>, name: &OsStr) -> bool {
    let mut value = [0; 4];
    rustix::fs::lgetxattr(proc_fd_path(directory, name), WHITEOUT_XATTR, &mut value).is_ok()
}

/// Returns a path to an entry of an open directory, for calls that take no
/// descriptor.
fn proc_fd_path(directory: BorrowedFd<'_>, name: &OsStr) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name)
}

/// Prefixes an error with its path.
pub(super) fn with_path(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Removes a tree or a file, if it exists.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = open_root(parent)?;
    remove_at(parent.as_fd(), name).map_err(|error| with_path(path, error))
}

/// Removes an entry of a directory, with everything in it.
pub(super) fn remove_at(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let mut removal = TreeRemoval { root: parent, top: vec![name.to_owned()], moved: 0 };
    while let Some(name) = removal.top.pop() {
        removal.remove(parent, &name, 0)?;
    }
    Ok(())
}

struct TreeRemoval<'a> {
    root: BorrowedFd<'a>,
    /// Entries of `root` still to be removed. Directories that are too deep are
    /// moved here.
    top: Vec<OsString>,
    moved: u64,
}

impl TreeRemoval<'_> {
    fn remove(&mut self, parent: BorrowedFd<'_>, name: &OsStr, depth: usize) -> io::Result<()> {
        let Some(stat) = stat(parent, name)? else { return Ok(()) };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return ignore_missing(rustix::fs::unlinkat(parent, name, AtFlags::empty()));
        }
        grant_owner_access(parent, name)?;
        if depth == MAX_DEPTH {
            self.moved += 1;
            let aside = format!(".removed-{}-{}", std::process::id(), self.moved);
            let aside = OsString::from(aside);
            rustix::fs::renameat(parent, name, self.root, &aside)?;
            self.top.push(aside);
            return Ok(());
        }
        let directory = open_directory(parent, name)?;
        for child in names(&directory)? {
            self.remove(directory.as_fd(), &child, depth + 1)?;
        }
        drop(directory);
        ignore_missing(rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR))
    }
}

/// Treats an entry that is already gone as removed.
fn ignore_missing(removed: Result<(), Errno>) -> io::Result<()> {
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Gives the owner full access to a directory, whatever its mode.
fn grant_owner_access(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let stat = rustix::fs::fstat(&directory)?;
    if stat.st_mode & 0o700 == 0o700 {
        return Ok(());
    }
    // An `O_PATH` descriptor cannot change the mode; its path in /proc refers
    // to the same directory, even if the name was replaced.
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    Ok(rustix::fs::chmod(path, Mode::RWXU)?)
}
