//! Looking at files as they are now, and keeping their contents.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::deep;
use crate::likeness::kept_attributes;
use crate::limits::Limits;
use crate::objects::Objects;
use crate::spot::{Look, Spot};
use crate::state::{Hash, State, Unkept};

/// Looks at files; with a place for contents, keeps them as well.
#[derive(Debug)]
pub(crate) struct Capture<'a> {
    objects: Option<&'a Objects>,
    limits: Limits,
    /// Bytes of content that were kept so far.
    spent: u64,
}

impl<'a> Capture<'a> {
    /// One that keeps what it sees.
    pub(crate) fn keeping(objects: &'a Objects, limits: Limits) -> Self {
        Self { objects: Some(objects), limits, spent: 0 }
    }

    /// One that only looks.
    pub(crate) fn looking(limits: Limits) -> Self {
        Self { objects: None, limits, spent: 0 }
    }

    /// What is at a path that has no links on the way.
    pub(crate) fn state(&mut self, path: &Path) -> io::Result<State> {
        let Some(spot) = Spot::reach(path)? else { return Ok(State::Absent) };
        let Some(found) = spot.look()? else { return Ok(State::Absent) };
        if found.kind == FileType::Directory && deep::is_too_deep(path) {
            return Ok(deep::outline(&spot, found));
        }
        self.see(&spot, found)
    }

    /// [`Self::state`], compared with what it was: something that was not read
    /// then is not read now, if it looks untouched.
    pub(crate) fn state_since(&mut self, path: &Path, earlier: &State) -> io::Result<State> {
        let State::Unkept { stamp, .. } = earlier else { return self.state(path) };
        if deep::is_too_deep(path) {
            return self.state(path);
        }
        let Some(spot) = Spot::reach(path)? else { return Ok(State::Absent) };
        let Some(found) = spot.look()? else { return Ok(State::Absent) };
        if found.stamp == *stamp { Ok(earlier.clone()) } else { self.see(&spot, found) }
    }

    /// [`Self::state`] of a place whose content is known: a file is not read,
    /// and its hash says nothing.
    pub(crate) fn outline(&mut self, path: &Path) -> io::Result<State> {
        let Some(spot) = Spot::reach(path)? else { return Ok(State::Absent) };
        let Some(found) = spot.look()? else { return Ok(State::Absent) };
        if found.kind != FileType::RegularFile || found.stamp.len > self.limits.file_bytes {
            return self.see(&spot, found);
        }
        let Ok((file, found)) = spot.open() else { return self.see(&spot, found) };
        Ok(file_state(Hash::of(b""), found.stamp.len, found, &file))
    }

    fn see(&mut self, spot: &Spot, found: Look) -> io::Result<State> {
        match found.kind {
            FileType::Directory => {
                let (mode, owner) = (found.mode, Some(found.owner));
                Ok(State::Folder { mode, owner, attributes: spot.folder_attributes() })
            }
            FileType::Symlink => {
                let owner = Some(found.owner);
                Ok(State::Link { target: spot.read_link()?, owner })
            }
            FileType::RegularFile => self.read(spot, found),
            _ => Ok(unkept(Unkept::Special, found)),
        }
    }

    fn read(&mut self, spot: &Spot, found: Look) -> io::Result<State> {
        let len = found.stamp.len;
        if len > self.limits.file_bytes {
            return Ok(unkept(Unkept::TooLarge, found));
        }
        let (mut file, found) = match spot.open() {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Absent),
            Err(_) => return Ok(unkept(Unkept::Unreadable, found)),
        };
        let (hash, len) = match self.objects {
            None => {
                let mut hasher = blake3::Hasher::new();
                hasher.update_reader(&mut file)?;
                (Hash(hasher.finalize()), hasher.count())
            }
            Some(_) if self.spent.saturating_add(len) > self.limits.total_bytes => {
                return Ok(unkept(Unkept::NoRoom, found));
            }
            Some(objects) => match objects.put_file(&mut file, len) {
                Ok(kept) => kept,
                Err(error) => {
                    return no_room(&error).map(|why| unkept(why, found)).ok_or(error);
                }
            },
        };
        self.spent = self.spent.saturating_add(len);
        Ok(file_state(hash, len, found, &file))
    }
}

fn file_state(hash: Hash, len: u64, found: Look, file: &File) -> State {
    let (mode, owner) = (found.mode, Some(found.owner));
    let (attributes, linked) = (kept_attributes(file), found.linked());
    State::File { hash, len, mode, owner, attributes, linked }
}

fn unkept(why: Unkept, found: Look) -> State {
    State::Unkept { why, len: found.stamp.len, mode: found.mode, stamp: found.stamp }
}

/// Why a content found no room, if that is what went wrong.
fn no_room(error: &io::Error) -> Option<Unkept> {
    let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    is_full.then_some(Unkept::DiskFull)
}

/// A folder that was not kept with all that is in it, and why not.
pub(crate) fn not_as_a_whole(path: &Path, why: Unkept) -> io::Result<State> {
    let found = Spot::reach(path)?.map_or(Ok(None), |spot| spot.look())?;
    Ok(found.map_or(State::Absent, |found| unkept(why, found)))
}

/// Everything below a folder, folders before what is in them; links are not
/// followed. None if that is more than `most`.
pub(crate) fn below(folder: &Path, most: usize) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        // One that cannot be listed cannot be changed below either.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
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
