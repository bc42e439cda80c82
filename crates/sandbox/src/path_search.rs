//! File system searches for planning masks.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use hermes_core::PendingSecrets;

use crate::mount_masks::DEVICE_DIR;

/// How deep a hidden directory is searched for sockets.
const MAX_SOCKET_DEPTH: usize = 2;
const MAX_SOCKET_ENTRIES: usize = 4096;
/// Maximum entries of a directory that are compared with pending secrets.
const MAX_SECRET_ENTRIES: usize = 4096;

/// Returns the nearest existing parent directory, and the first missing name
/// below it.
pub(crate) fn first_missing(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut below = path;
    for parent in path.ancestors().skip(1) {
        if let Ok(real) = fs::canonicalize(parent) {
            return Some((real, PathBuf::from(below.file_name()?)));
        }
        below = parent;
    }
    None
}

/// Returns the pending secrets that now exist.
pub(crate) fn appeared_secrets(awaited: &PendingSecrets) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        awaited.paths.iter().filter(|path| path.exists()).cloned().collect();
    for dir in &awaited.dirs {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let paths = entries.take(MAX_SECRET_ENTRIES).map(|entry| entry.path());
        found.extend(paths.filter(|path| awaited.contains(path)));
    }
    found
}

/// Returns the disks that this user may read, and with them every file on them.
pub(crate) fn readable_disks() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(DEVICE_DIR) else { return Vec::new() };
    let blocks = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_block_device()))
        .map(|entry| entry.path());
    blocks.filter(|path| rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()).collect()
}

/// Whether the path is a socket, or a directory that contains one.
pub(crate) fn holds_socket(path: &Path) -> bool {
    let mut left = MAX_SOCKET_ENTRIES;
    let mut dirs = vec![(path.to_owned(), 0)];
    while let Some((path, level)) = dirs.pop() {
        let Ok(kind) = fs::symlink_metadata(&path).map(|it| it.file_type()) else { continue };
        if kind.is_socket() {
            return true;
        }
        if !kind.is_dir() || level > MAX_SOCKET_DEPTH {
            continue;
        }
        let Ok(entries) = fs::read_dir(&path) else { continue };
        for entry in entries.flatten() {
            // A directory too large to search is assumed to contain one.
            if left == 0 {
                return true;
            }
            left -= 1;
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_socket() {
                return true;
            }
            if kind.is_dir() {
                dirs.push((entry.path(), level + 1));
            }
        }
    }
    false
}
