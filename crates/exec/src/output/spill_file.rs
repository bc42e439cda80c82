//! The spill file of a long log.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::line_index::count_newlines;
use super::{OutputMask, SpillTarget};

/// Upper bound on the length of a secret.
const MASK_TAIL_BYTES: usize = 4096;

/// How many file names to try.
const MAX_NAME_ATTEMPTS: u32 = 100;

/// The first bytes of a log, in a file that grows up to its limit.
#[derive(Debug)]
pub(super) struct SpillFile {
    file: File,
    path: PathBuf,
    max_bytes: u64,
    len: u64,
    newlines: u64,
    is_full: bool,
    mask: Option<Arc<dyn OutputMask>>,
    /// The last unmasked bytes, in which a secret may begin.
    tail: Vec<u8>,
}

impl SpillFile {
    pub(super) fn create(spill: &SpillTarget) -> io::Result<Self> {
        let mut parts = Path::new(&spill.name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a plain file name"));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&spill.directory)?;
        let (file, path) = open_new(spill)?;
        let mask = spill.mask.clone();
        let (most, tail) = (spill.max_bytes, Vec::new());
        Ok(Self { file, path, max_bytes: most, len: 0, newlines: 0, is_full: false, mask, tail })
    }

    /// Appends as much of `bytes` as fits. After the first bytes that do not
    /// fit, nothing more is appended, so the file has no gaps.
    pub(super) fn append(&mut self, bytes: &[u8], newlines: u64) {
        if self.is_full {
            return;
        }
        let room = usize::try_from(self.max_bytes - self.len).unwrap_or(usize::MAX);
        let wanted = &bytes[..bytes.len().min(room)];
        let Ok(masked) = self.masked_bytes(wanted) else {
            self.is_full = true;
            return;
        };
        let written = self.write(masked.as_deref().unwrap_or(wanted));
        self.len += written as u64;
        self.is_full = written < bytes.len();
        self.newlines += if self.is_full { count_newlines(&bytes[..written]) } else { newlines };
    }

    /// Returns the bytes with secrets masked. If a secret began in earlier
    /// bytes, masks those in the file.
    fn masked_bytes(&mut self, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let Some(mask) = &self.mask else { return Ok(None) };
        let before = self.tail.len();
        let mut all = [self.tail.as_slice(), bytes].concat();
        let tail = all[all.len().saturating_sub(MASK_TAIL_BYTES)..].to_vec();
        let mut old = self.tail.clone();
        mask.mask(&mut old);
        mask.mask(&mut all);
        if let Some(secret) = std::iter::zip(&all[..before], &old).position(|(new, old)| new != old)
        {
            let at = self.len - before as u64;
            if let Err(error) = self.file.write_all_at(&all[..before], at) {
                self.cut_tail(secret);
                return Err(error);
            }
        }
        self.tail = tail;
        Ok(Some(all.split_off(before)))
    }

    /// Removes the tail from this index on, where a secret begins that could not
    /// be masked.
    fn cut_tail(&mut self, secret: usize) {
        let cut = self.tail.split_off(secret);
        self.len -= cut.len() as u64;
        self.newlines = self.newlines.saturating_sub(count_newlines(&cut));
        if self.file.set_len(self.len).is_err() {
            let _ = fs::remove_file(&self.path);
        }
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

    /// Appends up to `most` bytes starting at `offset` to `bytes`.
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

    /// The number of newlines in the file.
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

/// Creates a new file; appends a number to its name if the file exists.
fn open_new(spill: &SpillTarget) -> io::Result<(File, PathBuf)> {
    let mut path = spill.directory.join(&spill.name);
    for number in 2..=MAX_NAME_ATTEMPTS {
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
#[path = "spill_file_tests.rs"]
mod tests;
