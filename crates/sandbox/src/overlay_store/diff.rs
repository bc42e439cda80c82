//! Differences between the user's directory and what children see of it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};

use super::OverlayEntry;
use super::tree::{self, NodeKind, UpperNode};

/// Bytes of two files compared at a time.
const COMPARE_CHUNK_BYTES: usize = 64 * 1024;

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayChange {
    /// The path, relative to the user's directory.
    pub path: PathBuf,
    /// How it differs.
    pub kind: OverlayChangeKind,
}

/// How a path differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayChangeKind {
    /// It exists only in the overlay.
    Added,
    /// It differs from what the user has there.
    Changed,
    /// It is deleted in the overlay.
    Deleted,
}

/// Returns every difference, sorted by path. A directory is listed if it is
/// deleted, or added and empty; otherwise its entries are.
pub(super) fn changes(entry: &OverlayEntry, hidden: &[PathBuf]) -> io::Result<Vec<OverlayChange>> {
    let upper = tree::open_root(&entry.upper())?;
    let target = match tree::open_root(&entry.target) {
        Ok(target) => Some(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut comparison = OverlayComparison { hidden, changes: Vec::new() };
    comparison.compare_directory(upper.as_fd(), target.as_ref(), Path::new(""), 0)?;
    comparison.changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(comparison.changes)
}

struct OverlayComparison<'a> {
    hidden: &'a [PathBuf],
    changes: Vec<OverlayChange>,
}

impl OverlayComparison<'_> {
    fn add(&mut self, path: PathBuf, kind: OverlayChangeKind) {
        self.changes.push(OverlayChange { path, kind });
    }

    /// Compares a directory of the upper tree with the lower directory, if one
    /// exists.
    fn compare_directory(
        &mut self,
        upper: BorrowedFd<'_>,
        lower: Option<&OwnedFd>,
        path: &Path,
        depth: usize,
    ) -> io::Result<()> {
        tree::refuse_depth(path, depth)?;
        let nodes = tree::nodes(upper, path).map_err(|error| tree::with_path(path, error))?;
        if let Some(lower) = lower.filter(|_| tree::is_opaque(upper)) {
            let kept = |name: &std::ffi::OsStr| nodes.iter().any(|node| node.name == name);
            for name in tree::names(lower)?.into_iter().filter(|name| !kept(name)) {
                self.add(path.join(name), OverlayChangeKind::Deleted);
            }
        }
        let is_empty = nodes.is_empty();
        for node in nodes {
            self.compare_node(&node, lower, depth)?;
        }
        if is_empty && lower.is_none() && depth > 0 {
            self.add(path.to_owned(), OverlayChangeKind::Added);
        }
        Ok(())
    }

    fn compare_node(
        &mut self,
        node: &UpperNode<'_>,
        lower: Option<&OwnedFd>,
        depth: usize,
    ) -> io::Result<()> {
        let below = match lower {
            Some(lower) => tree::stat(lower, &node.name)?,
            None => None,
        };
        match (node.kind, below) {
            (NodeKind::Whiteout, None) => {}
            (NodeKind::Whiteout, Some(_)) => {
                if !self.hidden.contains(&node.path) {
                    self.add(node.path.clone(), OverlayChangeKind::Deleted);
                }
            }
            (NodeKind::Directory, below) => {
                let is_directory =
                    |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
                let child = match (lower, &below) {
                    (Some(lower), Some(stat)) if is_directory(stat) => {
                        Some(tree::open_directory(lower, &node.name)?)
                    }
                    _ => None,
                };
                if child.is_none() && below.is_some() {
                    self.add(node.path.clone(), OverlayChangeKind::Changed);
                }
                let upper = tree::open_directory(node.parent, &node.name)
                    .map_err(|error| tree::with_path(&node.path, error))?;
                self.compare_directory(upper.as_fd(), child.as_ref(), &node.path, depth + 1)?;
            }
            (_, None) => self.add(node.path.clone(), OverlayChangeKind::Added),
            (_, Some(below)) => {
                if !lower.is_some_and(|lower| is_same(node, lower, &below)) {
                    self.add(node.path.clone(), OverlayChangeKind::Changed);
                }
            }
        }
        Ok(())
    }
}

/// Whether the lower directory has an identical entry, as after a copy-up
/// without a change. An unreadable entry is not identical.
fn is_same(node: &UpperNode<'_>, lower: &OwnedFd, below: &Stat) -> bool {
    if node.stat.st_mode != below.st_mode || node.stat.st_size != below.st_size {
        return false;
    }
    match node.kind {
        NodeKind::Link => {
            let read = |parent: BorrowedFd<'_>| rustix::fs::readlinkat(parent, &node.name, []);
            matches!((read(node.parent), read(lower.as_fd())), (Ok(a), Ok(b)) if a == b)
        }
        NodeKind::File => {
            let open = |parent: BorrowedFd<'_>| open_file(parent, &node.name);
            match (open(node.parent), open(lower.as_fd())) {
                (Ok(a), Ok(b)) => has_same_content(a, b).unwrap_or(false),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Opens a regular file for reading; anything else is an error.
pub(super) fn open_file(parent: BorrowedFd<'_>, name: &std::ffi::OsStr) -> io::Result<File> {
    // Do not block on a pipe that has replaced the file.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(parent, name, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

fn has_same_content(mut a: File, mut b: File) -> io::Result<bool> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    loop {
        ours.clear();
        theirs.clear();
        a.by_ref().take(COMPARE_CHUNK_BYTES as u64).read_to_end(&mut ours)?;
        b.by_ref().take(COMPARE_CHUNK_BYTES as u64).read_to_end(&mut theirs)?;
        if ours != theirs {
            return Ok(false);
        }
        if ours.is_empty() {
            return Ok(true);
        }
    }
}
