//! Resolution of real paths, which path rules are checked against.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags};
use rustix::io::Errno;

use crate::metadata::{FileKind, FileMetadata};

/// The kernel's limit on followed symlinks.
const MAX_LINK_HOPS: usize = 40;

/// Resolves an absolute path: follows every symlink, including the last one,
/// even if nothing exists there; `..` means the parent of what precedes it.
/// Missing components are kept as written, so the result is the path that would
/// be created. It contains neither symlinks nor `.` nor `..`.
///
/// Kernel links (`/proc/self/root`, `/proc/self/fd/3`) are followed to the path
/// that they show, if that is the same file. A pipe, a deleted file or a
/// directory in another mount namespace has no path and is an error.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    resolve_path(path).map(|found| found.path)
}

/// A resolved path and its metadata.
#[derive(Debug, Clone)]
pub struct ResolvedPath {
    /// The real path.
    pub path: PathBuf,
    /// Its metadata, if read during resolution.
    pub metadata: Option<FileMetadata>,
}

/// Like [`real_path`], and returns the metadata seen at the end.
pub fn resolve_path(path: &Path) -> io::Result<ResolvedPath> {
    if let Some(found) = is_absolute(path)?.then(|| resolve_without_links(path)).flatten() {
        return Ok(found);
    }
    let path = follow_links(path, &mut |_| {})?;
    let facts = rustix::fs::lstat(&path).ok().map(|stat| FileMetadata::from_stat(&stat));
    Ok(ResolvedPath { path, metadata: facts })
}

fn is_absolute(path: &Path) -> io::Result<bool> {
    if path.is_absolute() {
        return Ok(true);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not absolute"))
}

/// Resolves the parent of an absolute path as [`real_path`] does, and keeps the
/// last component. A removal acts on this path.
pub fn real_entry(path: &Path) -> io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => Ok(real_path(dir)?.join(name)),
        _ => real_path(path),
    }
}

/// Like [`real_path`], and reports the path of each symlink it follows.
pub(crate) fn trace_links(path: &Path, met: &mut dyn FnMut(&Path)) -> io::Result<PathBuf> {
    is_absolute(path)?;
    match resolve_without_links(path) {
        Some(found) => Ok(found.path),
        None => follow_links(path, met),
    }
}

/// Resolves a path without symlinks, the most common case.
fn resolve_without_links(path: &Path) -> Option<ResolvedPath> {
    let mut parts = path.as_os_str().as_bytes().split(|byte| *byte == b'/').skip(1);
    let is_straight = parts.all(|part| !matches!(part, b"" | b"." | b".."));
    if is_straight { resolve_straight(path) } else { resolve_with_dots(path) }
}

/// [`resolve_without_links`] for a path without `.` and `..`. One system call
/// shows that no component is a symlink and whether the file exists: a symlink
/// before a missing component would give another error.
fn resolve_straight(path: &Path) -> Option<ResolvedPath> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let facts = match opened {
        Ok(there) => Some(FileMetadata::from_stat(&rustix::fs::fstat(&there).ok()?)),
        Err(Errno::NOENT) => None,
        Err(_) => return None,
    };
    Some(ResolvedPath { path: path.to_path_buf(), metadata: facts })
}

/// [`resolve_without_links`] for a path with empty, `.` or `..` components, of
/// which at most the last is missing.
fn resolve_with_dots(path: &Path) -> Option<ResolvedPath> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let open = |path: &Path| {
        rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
    };
    let (Some(dir), Some(Component::Normal(name))) = (path.parent(), path.components().next_back())
    else {
        open(path)?;
        return Some(ResolvedPath { path: normalize(path), metadata: None });
    };
    let dir = open(dir)?;
    let facts = match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(FileMetadata::from_stat(&stat)),
        Err(Errno::NOENT) => None,
        Err(_) => return None,
    };
    let is_link = facts.as_ref().is_some_and(|facts| facts.kind == FileKind::Link);
    (!is_link).then(|| ResolvedPath { path: normalize(path), metadata: facts })
}

/// Removes `.` and `..` lexically; correct only if no component is a symlink.
fn normalize(path: &Path) -> PathBuf {
    let mut folded = PathBuf::with_capacity(path.as_os_str().len());
    for part in path.components() {
        match part {
            Component::ParentDir => {
                folded.pop();
            }
            other => folded.push(other),
        }
    }
    folded
}

fn follow_links(path: &Path, met: &mut dyn FnMut(&Path)) -> io::Result<PathBuf> {
    let mut place = PathBuf::from("/");
    let mut ahead = Vec::new();
    push_components(&mut ahead, path);
    let mut hops = 0;
    while let Some(part) = ahead.pop() {
        if part == OsStr::new("..") {
            place.pop();
            continue;
        }
        place.push(&part);
        let Some(target) = link_target(&place)? else { continue };
        hops += 1;
        if hops > MAX_LINK_HOPS {
            return Err(Errno::LOOP.into());
        }
        met(&place);
        require_real_target(&place, &target)?;
        place.pop();
        if target.is_absolute() {
            place = PathBuf::from("/");
        }
        push_components(&mut ahead, &target);
    }
    Ok(place)
}

/// Pushes the components of a path on the stack, the first on top.
fn push_components(ahead: &mut Vec<OsString>, path: &Path) {
    let parts = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    ahead.extend(parts);
}

/// Returns the target of the symlink at `place`; `None` if it is not a symlink.
fn link_target(place: &Path) -> io::Result<Option<PathBuf>> {
    match rustix::fs::readlinkat(CWD, place, Vec::new()) {
        Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()).into())),
        // It is something else, missing, or below a file.
        Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Fails if the link is a kernel link and the path it shows is not the path of
/// its target.
fn require_real_target(link: &Path, target: &Path) -> io::Result<()> {
    let dir = link.parent().unwrap_or(link);
    if rustix::fs::statfs(dir)?.f_type != PROC_SUPER_MAGIC {
        return Ok(());
    }
    let is_place = if target.is_relative() {
        // `pipe:[7]` is not a path; `self` and `self/net` are.
        !target.as_os_str().as_bytes().contains(&b':')
    } else {
        match (fs::metadata(link), fs::metadata(target)) {
            (Ok(led), Ok(shown)) => (led.dev(), led.ino()) == (shown.dev(), shown.ino()),
            (Err(led), Err(_)) => led.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    };
    if is_place {
        return Ok(());
    }
    let what = format!("it leads to {}, which is not a path in the file system", target.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}
