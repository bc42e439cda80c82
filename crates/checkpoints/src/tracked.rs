//! Files tracked by git, read from the index. Tracked files are not ignored,
//! even if a `.gitignore` matches them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::names::hex;
use crate::state::FileStamp;
use crate::tree::file_stamp;

/// Larger indexes are treated as missing.
const MAX_INDEX_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum bytes of all names, which version 4 stores prefix-compressed.
const MAX_NAMES_BYTES: usize = 128 * 1024 * 1024;

/// Indexes cached in memory; others are read again.
const MAX_CACHED_INDEXES: usize = 16;

/// Cache of repository indexes, each reread only after it changes.
#[derive(Debug, Default)]
pub(crate) struct IndexCache {
    read: Mutex<HashMap<PathBuf, (FileStamp, Arc<TrackedFiles>)>>,
}

impl IndexCache {
    /// Returns the files tracked in this git directory: none if the index is
    /// missing, damaged or too large.
    pub(crate) fn load(&self, git: &Path) -> Arc<TrackedFiles> {
        let path = git.join("index");
        let Some(stamp) = fs::metadata(&path).ok().map(|found| file_stamp(&found)) else {
            return Arc::default();
        };
        if let Some((known, tracked)) = self.read.lock().get(&path)
            && *known == stamp
        {
            return Arc::clone(tracked);
        }
        let tracked = Arc::new(TrackedFiles::read(&path).unwrap_or_default());
        let mut read = self.read.lock();
        if read.len() >= MAX_CACHED_INDEXES {
            read.clear();
        }
        read.insert(path, (stamp, Arc::clone(&tracked)));
        tracked
    }
}

/// Names in an index, relative to the root of the repository.
#[derive(Debug, Default)]
pub(crate) struct TrackedFiles {
    /// All names, concatenated.
    text: Vec<u8>,
    /// Range of each name in `text`, sorted by name.
    spans: Vec<Range<usize>>,
}

impl TrackedFiles {
    /// Whether a file, or anything in a directory, is tracked.
    pub(crate) fn contains(&self, path: &Path, is_folder: bool) -> bool {
        let mut name = path.as_os_str().as_bytes().to_vec();
        if self.first_at_or_after(&name) == Some(&name) {
            return true;
        }
        name.push(b'/');
        is_folder && self.first_at_or_after(&name).is_some_and(|next| next.starts_with(&name))
    }

    /// Returns the first name not less than this one.
    fn first_at_or_after(&self, name: &[u8]) -> Option<&[u8]> {
        let at = self.spans.partition_point(|span| self.name(span) < name);
        self.spans.get(at).map(|span| self.name(span))
    }

    fn name(&self, span: &Range<usize>) -> &[u8] {
        self.text.get(span.clone()).unwrap_or_default()
    }

    fn read(path: &Path) -> Option<Self> {
        let bytes = read_index(path)?;
        let (mut tracked, shared) = parse(&bytes)?;
        if let Some(shared) = shared {
            // Names deleted from the shared index count as tracked until git
            // rewrites it: rather save too much than too little.
            let bytes = read_index(&path.with_file_name(format!("sharedindex.{}", hex(shared))))?;
            tracked.join(&parse(&bytes)?.0);
        }
        let is_sorted = tracked.spans.is_sorted_by_key(|span| tracked.name(span));
        if !is_sorted {
            let mut spans = std::mem::take(&mut tracked.spans);
            spans.sort_by(|one, other| tracked.name(one).cmp(tracked.name(other)));
            tracked.spans = spans;
        }
        Some(tracked)
    }

    fn join(&mut self, other: &Self) {
        other.spans.iter().for_each(|span| self.add(other.name(span)));
    }

    /// Adds a name. Split indexes use empty names for entries of the shared
    /// index.
    fn add(&mut self, name: &[u8]) {
        if !name.is_empty() {
            let start = self.text.len();
            self.text.extend_from_slice(name);
            self.spans.push(start..self.text.len());
        }
    }
}

fn read_index(path: &Path) -> Option<Vec<u8>> {
    let found = fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > MAX_INDEX_BYTES {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).ok()?);
    File::open(path).ok()?.take(MAX_INDEX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Parses the names in an index, and the hash of its shared index. `None` if it
/// is damaged or of an unsupported version.
fn parse(bytes: &[u8]) -> Option<(TrackedFiles, Option<&[u8]>)> {
    // The index does not record which hash algorithm the repository uses.
    const SHA1_BYTES: usize = 20;
    const SHA256_BYTES: usize = 32;
    let of = |hash| IndexReader { rest: bytes, hash }.index();
    of(SHA1_BYTES).or_else(|| of(SHA256_BYTES))
}

/// Parser over the remaining bytes of an index.
struct IndexReader<'a> {
    rest: &'a [u8],
    /// Length of a hash in bytes.
    hash: usize,
}

impl<'a> IndexReader<'a> {
    fn index(mut self) -> Option<(TrackedFiles, Option<&'a [u8]>)> {
        let magic = self.take(4)?;
        let version = self.read_u32()?;
        let count = self.read_u32()?;
        if magic != b"DIRC" || !(2..=4).contains(&version) {
            return None;
        }
        let mut tracked = TrackedFiles::default();
        let mut name = Vec::new();
        for _ in 0..count {
            self.entry(version, &mut name)?;
            tracked.add(&name);
            if tracked.text.len() > MAX_NAMES_BYTES {
                return None;
            }
        }
        let shared = self.extensions()?;
        Some((tracked, shared))
    }

    /// Reads one entry; `name` holds the previous entry's name.
    fn entry(&mut self, version: u32, name: &mut Vec<u8>) -> Option<()> {
        const STAT_BYTES: usize = 40;
        const EXTENDED_FLAG: u16 = 0x4000;
        const NAME_LENGTH_MASK: u16 = 0x0fff;
        let mut fixed = STAT_BYTES + self.hash + 2;
        self.take(STAT_BYTES + self.hash)?;
        let flags = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        if version > 2 && flags & EXTENDED_FLAG != 0 {
            self.take(2)?;
            fixed += 2;
        }
        if version == 4 {
            let kept = name.len().checked_sub(self.varint()?)?;
            name.truncate(kept);
        } else {
            name.clear();
        }
        name.extend_from_slice(self.until_nul()?);
        let shown = usize::from(flags & NAME_LENGTH_MASK);
        if shown != name.len().min(usize::from(NAME_LENGTH_MASK)) {
            return None;
        }
        if version < 4 {
            // Padded to a multiple of eight, including the terminating NUL.
            let end = fixed + name.len() + 1;
            self.take(end.next_multiple_of(8) - end)?;
        }
        Some(())
    }

    /// Skips the extensions; returns the shared index of a split index.
    fn extensions(&mut self) -> Option<Option<&'a [u8]>> {
        let mut shared = None;
        while self.rest.len() > self.hash {
            let kind = self.take(4)?;
            let len = usize::try_from(self.read_u32()?).ok()?;
            let content = self.take(len)?;
            if kind == b"link" {
                let hash = content.get(..self.hash)?;
                shared = Some(hash).filter(|hash| hash.iter().any(|byte| *byte != 0));
            }
        }
        (self.rest.len() == self.hash).then_some(shared)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn read_u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Offset varint: seven bits per byte, plus one for each continuation.
    fn varint(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        loop {
            let [byte] = self.take(1)? else { return None };
            value = value.checked_add(usize::from(byte & 0x7f))?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?.checked_mul(128)?;
        }
    }

    fn until_nul(&mut self) -> Option<&'a [u8]> {
        let len = self.rest.iter().position(|byte| *byte == 0)?;
        let text = self.take(len)?;
        self.take(1)?;
        Some(text)
    }
}

#[cfg(test)]
#[path = "tracked_tests.rs"]
mod tests;
