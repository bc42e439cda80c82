//! Versions of files that this process has met lately, by hash: so that a
//! caller can be told what has changed since it looked, and not only that.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use hermes_files::FileContent;

use crate::known::Hash;

/// Bytes that are kept, of one file and of all together.
const ONE: usize = 1024 * 1024;
const ALL: usize = 16 * 1024 * 1024;

#[derive(Debug)]
struct Versions {
    size: usize,
    /// The oldest first.
    kept: VecDeque<(Hash, FileContent)>,
}

static VERSIONS: Mutex<Versions> = Mutex::new(Versions { size: 0, kept: VecDeque::new() });

/// Keeps a version for a while, unless it is too long, or known.
pub(crate) fn keep(hash: &Hash, len: usize, version: impl FnOnce() -> FileContent) {
    make_room(len);
    let mut versions = VERSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if len > ONE || versions.kept.iter().any(|(kept, _)| kept == hash) {
        return;
    }
    versions.size += len;
    versions.kept.push_back((hash.clone(), version()));
}

/// Clears old versions away until there is room for one of this length, if it
/// is to be kept.
pub(crate) fn make_room(len: usize) {
    let mut spent = Vec::new();
    let mut versions = VERSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    while len <= ONE && versions.size + len > ALL {
        let Some((_, oldest)) = versions.kept.pop_front() else { break };
        versions.size -= oldest.len();
        spent.push(oldest);
    }
    // Nobody waits for the lock while they go.
    drop(versions);
}

/// A version, if it is still known.
pub(crate) fn find(hash: &Hash) -> Option<FileContent> {
    let versions = VERSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    versions.kept.iter().find(|(kept, _)| kept == hash).map(|(_, version)| version.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_and_long_ones_are_not_kept() {
        let version = |number: u8| {
            let bytes = vec![number; ONE];
            (Hash::of(&bytes), bytes)
        };
        for number in 0..20 {
            let (hash, bytes) = version(number);
            keep(&hash, ONE, || bytes.clone().into());
            keep(&hash, ONE, || bytes.into());
        }
        assert!(find(&version(0).0).is_none());
        assert_eq!(find(&version(19).0).as_deref(), Some(&*version(19).1));
        let long = vec![b'x'; ONE + 1];
        keep(&Hash::of(&long), long.len(), || long.clone().into());
        assert!(find(&Hash::of(&long)).is_none());
    }
}
