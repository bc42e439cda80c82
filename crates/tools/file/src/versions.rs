//! Cache of recent file versions by hash, so a conflict can show what has
//! changed and not only that it has.

use std::collections::VecDeque;

use hermes_files::FileContent;
use parking_lot::Mutex;

use crate::seen_files::FileHash;

/// Maximum bytes cached, per file and in total.
const MAX_VERSION_BYTES: usize = 1024 * 1024;
const MAX_CACHE_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug)]
struct VersionCache {
    size: usize,
    /// Oldest first.
    kept: VecDeque<(FileHash, FileContent)>,
}

static VERSION_CACHE: Mutex<VersionCache> =
    Mutex::new(VersionCache { size: 0, kept: VecDeque::new() });

/// Caches a version unless it is too long or already cached.
pub(crate) fn keep(hash: &FileHash, len: usize, version: impl FnOnce() -> FileContent) {
    make_room(len);
    let mut versions = VERSION_CACHE.lock();
    if len > MAX_VERSION_BYTES || versions.kept.iter().any(|(kept, _)| kept == hash) {
        return;
    }
    versions.size += len;
    versions.kept.push_back((hash.clone(), version()));
}

/// Evicts old versions until one of this length fits, if it is short enough to
/// be cached.
pub(crate) fn make_room(len: usize) {
    let mut spent = Vec::new();
    let mut versions = VERSION_CACHE.lock();
    while len <= MAX_VERSION_BYTES && versions.size + len > MAX_CACHE_BYTES {
        let Some((_, oldest)) = versions.kept.pop_front() else { break };
        versions.size -= oldest.len();
        spent.push(oldest);
    }
    // The evicted versions are freed after the lock is released.
    drop(versions);
}

/// A version, if it is still cached.
pub(crate) fn find(hash: &FileHash) -> Option<FileContent> {
    let versions = VERSION_CACHE.lock();
    versions.kept.iter().find(|(kept, _)| kept == hash).map(|(_, version)| version.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_and_long_ones_are_not_kept() {
        let version = |number: u8| {
            let bytes = vec![number; MAX_VERSION_BYTES];
            (FileHash::from_bytes(&bytes), bytes)
        };
        for number in 0..20 {
            let (hash, bytes) = version(number);
            keep(&hash, MAX_VERSION_BYTES, || bytes.clone().into());
            keep(&hash, MAX_VERSION_BYTES, || bytes.into());
        }
        assert!(find(&version(0).0).is_none());
        assert_eq!(find(&version(19).0).as_deref(), Some(&*version(19).1));
        let long = vec![b'x'; MAX_VERSION_BYTES + 1];
        keep(&FileHash::from_bytes(&long), long.len(), || long.clone().into());
        assert!(find(&FileHash::from_bytes(&long)).is_none());
    }
}
