//! Captures the current state of files and saves their contents.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::attributes::read_xattrs;
use crate::deep_paths;
use crate::limits::CheckpointLimits;
use crate::objects::ObjectStore;
use crate::path_handle::{PathHandle, PathStat};
use crate::state::{ContentHash, SavedState, UnsavedReason};

/// Inspects files; with an object store, also saves their contents.
#[derive(Debug)]
pub(crate) struct FileCapture<'a> {
    objects: Option<&'a ObjectStore>,
    limits: CheckpointLimits,
    /// Bytes of content saved so far.
    stored_bytes: u64,
}

impl<'a> FileCapture<'a> {
    /// Creates a capture that saves contents.
    pub(crate) fn storing(objects: &'a ObjectStore, limits: CheckpointLimits) -> Self {
        Self { objects: Some(objects), limits, stored_bytes: 0 }
    }

    /// Creates a capture that only inspects.
    pub(crate) fn inspecting(limits: CheckpointLimits) -> Self {
        Self { objects: None, limits, stored_bytes: 0 }
    }

    /// Returns the state of a path without symlinks in its parents.
    pub(crate) fn state(&mut self, path: &Path) -> io::Result<SavedState> {
        let Some(spot) = PathHandle::resolve(path)? else { return Ok(SavedState::Absent) };
        let Some(found) = spot.stat()? else { return Ok(SavedState::Absent) };
        if found.kind == FileType::Directory && deep_paths::is_too_deep(path) {
            return Ok(deep_paths::deep_dir_state(&spot, found));
        }
        self.classify(&spot, found)
    }

    /// [`Self::state`], given an earlier state: something that was not read
    /// then is not read now if it looks unchanged.
    pub(crate) fn state_since(
        &mut self,
        path: &Path,
        earlier: &SavedState,
    ) -> io::Result<SavedState> {
        let SavedState::Unkept { stamp, .. } = earlier else { return self.state(path) };
        if deep_paths::is_too_deep(path) {
            return self.state(path);
        }
        let Some(spot) = PathHandle::resolve(path)? else { return Ok(SavedState::Absent) };
        let Some(found) = spot.stat()? else { return Ok(SavedState::Absent) };
        if found.stamp == *stamp { Ok(earlier.clone()) } else { self.classify(&spot, found) }
    }

    /// [`Self::state`] of a path whose content is known: a file is not read,
    /// and its hash is meaningless.
    pub(crate) fn state_without_content(&mut self, path: &Path) -> io::Result<SavedState> {
        let Some(spot) = PathHandle::resolve(path)? else { return Ok(SavedState::Absent) };
        let Some(found) = spot.stat()? else { return Ok(SavedState::Absent) };
        if found.kind != FileType::RegularFile || found.stamp.len > self.limits.file_bytes {
            return self.classify(&spot, found);
        }
        let Ok((file, found)) = spot.open() else { return self.classify(&spot, found) };
        Ok(file_state(ContentHash::for_content(b""), found.stamp.len, found, &file))
    }

    fn classify(&mut self, spot: &PathHandle, found: PathStat) -> io::Result<SavedState> {
        match found.kind {
            FileType::Directory => {
                let (mode, owner) = (found.mode, Some(found.owner));
                Ok(SavedState::Folder { mode, owner, attributes: spot.dir_xattrs() })
            }
            FileType::Symlink => {
                let owner = Some(found.owner);
                Ok(SavedState::Link { target: spot.read_link()?, owner })
            }
            FileType::RegularFile => self.capture_file(spot, found),
            _ => Ok(unsaved_state(UnsavedReason::Special, found)),
        }
    }

    fn capture_file(&mut self, spot: &PathHandle, found: PathStat) -> io::Result<SavedState> {
        let len = found.stamp.len;
        if len > self.limits.file_bytes {
            return Ok(unsaved_state(UnsavedReason::TooLarge, found));
        }
        let (mut file, found) = match spot.open() {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SavedState::Absent),
            Err(_) => return Ok(unsaved_state(UnsavedReason::Unreadable, found)),
        };
        let (hash, len) = match self.objects {
            None => {
                let mut hasher = blake3::Hasher::new();
                hasher.update_reader(&mut file)?;
                (ContentHash(hasher.finalize()), hasher.count())
            }
            Some(_) if self.stored_bytes.saturating_add(len) > self.limits.total_bytes => {
                return Ok(unsaved_state(UnsavedReason::NoRoom, found));
            }
            Some(objects) => match objects.put_file(&mut file, len) {
                Ok(kept) => kept,
                Err(error) => {
                    return out_of_space_reason(&error)
                        .map(|why| unsaved_state(why, found))
                        .ok_or(error);
                }
            },
        };
        self.stored_bytes = self.stored_bytes.saturating_add(len);
        Ok(file_state(hash, len, found, &file))
    }
}

fn file_state(hash: ContentHash, len: u64, found: PathStat, file: &File) -> SavedState {
    let (mode, owner) = (found.mode, Some(found.owner));
    let (attributes, linked) = (read_xattrs(file), found.hard_links());
    SavedState::File { hash, len, mode, owner, attributes, linked }
}

fn unsaved_state(why: UnsavedReason, found: PathStat) -> SavedState {
    SavedState::Unkept { why, len: found.stamp.len, mode: found.mode, stamp: found.stamp }
}

/// Returns the reason for an unsaved content if the disk is full.
fn out_of_space_reason(error: &io::Error) -> Option<UnsavedReason> {
    let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    is_full.then_some(UnsavedReason::DiskFull)
}

/// Returns the state of a directory that was not saved with its contents, with
/// the reason.
pub(crate) fn unsaved_dir_state(path: &Path, why: UnsavedReason) -> io::Result<SavedState> {
    let found = PathHandle::resolve(path)?.map_or(Ok(None), |spot| spot.stat())?;
    Ok(found.map_or(SavedState::Absent, |found| unsaved_state(why, found)))
}

/// Returns everything below a directory, directories before their contents;
/// does not follow symlinks. `None` if there are more than `most` entries.
pub(crate) fn descendants(dir: &Path, most: usize) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        // What is below a directory that cannot be listed cannot be changed
        // either.
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            if found.len() >= most {
                return None;
            }
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path.clone());
            }
            found.push(path);
        }
    }
    Some(found)
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
