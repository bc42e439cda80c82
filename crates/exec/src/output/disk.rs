//! The file of a long log.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::index::count_newlines;
use super::{Mask, Spill};

/// A secret is not longer.
const TAIL: usize = 4096;

/// How many names are tried.
const NAMES: u32 = 100;

/// The first bytes of a log, in a file that grows as long as it can.
#[derive(Debug)]
pub(super) struct Disk {
    file: File,
    path: PathBuf,
    most: u64,
    len: u64,
    newlines: u64,
    is_full: bool,
    mask: Option<Arc<dyn Mask>>,
    /// The last bytes as they came: a secret may begin in them.
    tail: Vec<u8>,
}

impl Disk {
    pub(super) fn create(spill: &Spill) -> io::Result<Self> {
        let mut parts = Path::new(&spill.name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not the name of a file"));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&spill.folder)?;
        let (file, path) = open_new(spill)?;
        let mask = spill.mask.clone();
        let (most, tail) = (spill.most, Vec::new());
        Ok(Self { file, path, most, len: 0, newlines: 0, is_full: false, mask, tail })
    }

    /// Adds as much of `bytes` as there is room for. Once something did not go
    /// in, nothing does: the file has no holes.
    pub(super) fn add(&mut self, bytes: &[u8], newlines: u64) {
        if self.is_full {
            return;
        }
        let room = usize::try_from(self.most - self.len).unwrap_or(usize::MAX);
        let wanted = &bytes[..bytes.len().min(room)];
        let masked = self.masked(wanted);
        let written = self.write(masked.as_deref().unwrap_or(wanted));
        self.len += written as u64;
        self.is_full = written < bytes.len();
        self.newlines += if self.is_full { count_newlines(&bytes[..written]) } else { newlines };
    }

    /// The same bytes without secrets; what came before is put right, if a
    /// secret began there.
    fn masked(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mask = self.mask.as_ref()?;
        let before = self.tail.len();
        let mut all = [self.tail.as_slice(), bytes].concat();
        let tail = all[all.len().saturating_sub(TAIL)..].to_vec();
        let mut old = self.tail.clone();
        mask.mask(&mut old);
        mask.mask(&mut all);
        if all[..before] != old {
            let at = self.len - before as u64;
            // The next one is put right, or nothing is left to write to.
            let _ = self.file.write_all_at(&all[..before], at);
        }
        self.tail = tail;
        Some(all.split_off(before))
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        let mut written = 0;
        while written < bytes.len() {
            match self.file.write(&bytes[written..]) {
                Ok(0) => break,
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        written
    }

    /// Reads up to `most` bytes from `offset` on to the end of `bytes`.
    pub(super) fn read(&self, offset: u64, most: usize, bytes: &mut Vec<u8>) -> usize {
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let before = bytes.len();
        bytes.resize(before + most.min(left), 0);
        let mut end = before;
        while end < bytes.len() {
            let at = offset + (end - before) as u64;
            match self.file.read_at(&mut bytes[end..], at) {
                Ok(0) => break,
                Ok(count) => end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        bytes.truncate(end);
        end - before
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// How many lines end in the file.
    pub(super) fn newlines(&self) -> u64 {
        self.newlines
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn remove(self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

/// A new file, under another name if there is one of this name.
fn open_new(spill: &Spill) -> io::Result<(File, PathBuf)> {
    let mut path = spill.folder.join(&spill.name);
    for number in 2..=NAMES {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        match options.open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                path.set_file_name(format!("{}.{number}", spill.name));
            }
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
