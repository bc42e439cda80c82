//! Where a path really leads: what a rule about paths has to judge.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags};
use rustix::io::Errno;

use crate::metadata::{FileKind, FileMetadata};

/// As many links as the kernel follows.
const MAX_LINK_HOPS: usize = 40;

/// Where an absolute path leads: every link followed, also the last one, even
/// if nothing is there; `..` means the folder above whatever came before it.
/// What does not exist is added as written, so the answer is the place that
/// would be created. It holds neither links nor `.` nor `..`.
///
/// The links of the kernel (`/proc/self/root`, `/proc/self/fd/3`) are followed
/// to the path that they show, if that is the same place; a pipe, a deleted
/// file or the folder of another file system view has no path and is an error.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    resolve_path(path).map(|found| found.path)
}

/// Where a path leads, and what is there.
#[derive(Debug, Clone)]
pub struct ResolvedPath {
    /// The real place.
    pub path: PathBuf,
    /// What is there, if that was learnt on the way.
    pub metadata: Option<FileMetadata>,
}

/// [`real_path`] that also tells what it has seen at the end of the way.
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

/// Where an absolute path itself is: its folder followed as [`real_path`]
/// does, its own name kept. That is what a removal takes away.
pub fn real_entry(path: &Path) -> io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok(real_path(folder)?.join(name)),
        _ => real_path(path),
    }
}

/// [`real_path`] that shows each link that it meets, by the link's own place.
pub(crate) fn trace_links(path: &Path, met: &mut dyn FnMut(&Path)) -> io::Result<PathBuf> {
    is_absolute(path)?;
    match resolve_without_links(path) {
        Some(found) => Ok(found.path),
        None => follow_links(path, met),
    }
}

/// The answer for a path without links: nearly all of them.
fn resolve_without_links(path: &Path) -> Option<ResolvedPath> {
    let mut parts = path.as_os_str().as_bytes().split(|byte| *byte == b'/').skip(1);
    let is_straight = parts.all(|part| !matches!(part, b"" | b"." | b".."));
    if is_straight { resolve_straight(path) } else { resolve_with_dots(path) }
}

/// [`without_links`] for a path that does not climb. The kernel says in one
/// breath that no part of it is a link, and whether something is there: had it
/// met a link before the part that is missing, it would have said so.
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

/// [`without_links`] for a path with parts that say nothing or climb, of which
/// at most the last is missing.
fn resolve_with_dots(path: &Path) -> Option<ResolvedPath> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let open = |path: &Path| {
        rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
    };
    let (Some(folder), Some(Component::Normal(name))) =
        (path.parent(), path.components().next_back())
    else {
        open(path)?;
        return Some(ResolvedPath { path: normalize(path), metadata: None });
    };
    let folder = open(folder)?;
    let facts = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(FileMetadata::from_stat(&stat)),
        Err(Errno::NOENT) => None,
        Err(_) => return None,
    };
    let is_link = facts.as_ref().is_some_and(|facts| facts.kind == FileKind::Link);
    (!is_link).then(|| ResolvedPath { path: normalize(path), metadata: facts })
}

/// The path without `.` and `..`; right where no part is a link.
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

/// Puts the parts of a path on the stack, the first on top.
fn push_components(ahead: &mut Vec<OsString>, path: &Path) {
    let parts = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    ahead.extend(parts);
}

/// The target of the link at `place`; none if there is no link.
fn link_target(place: &Path) -> io::Result<Option<PathBuf>> {
    match rustix::fs::readlinkat(CWD, place, Vec::new()) {
        Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()).into())),
        // There is something else, or nothing, or a file on the way.
        Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// An error if the link is one of the kernel's own and what it shows is not
/// the path of what it leads to.
fn require_real_target(link: &Path, target: &Path) -> io::Result<()> {
    let folder = link.parent().unwrap_or(link);
    if rustix::fs::statfs(folder)?.f_type != PROC_SUPER_MAGIC {
        return Ok(());
    }
    let is_place = if target.is_relative() {
        // `pipe:[7]` is no path; `self` and `self/net` are.
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
    let what = format!("it leads to {}, which is no place among the files", target.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}
