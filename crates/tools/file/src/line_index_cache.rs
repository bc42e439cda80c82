//! Cache of line indexes, shared with other processes of the session, so the
//! next page of a large file is a seek.

use std::collections::VecDeque;

use hermes_core::ToolContext;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::lines::{LineIndex, NewlineEncoding};
use crate::source::{SeekableFile, VersionStamp};

/// The session document that stores shared indexes.
const INDEX_DOCUMENT: &str = "lines";
/// Minimum file size, and minimum newly counted bytes, for storing an index in
/// the session.
const SHARE_THRESHOLD_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum number of indexes, in this process and in the session.
const MAX_CACHED_INDEXES: usize = 32;
const MAX_SESSION_INDEXES: usize = 8;

static INDEX_CACHE: Mutex<VecDeque<CachedIndex>> = Mutex::new(VecDeque::new());

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CachedIndex {
    stamp: VersionStamp,
    index: LineIndex,
}

/// Returns the cached line index of a file, or an empty one.
pub(crate) fn load(
    cx: &ToolContext,
    source: &SeekableFile,
    newline: NewlineEncoding,
    start: u64,
) -> LineIndex {
    let unknown = || LineIndex::new(newline, start, source.len(), LineIndex::CHUNK_BYTES);
    if source.memory().is_some() {
        return unknown();
    }
    let stamp = source.stamp();
    let fits = |entry: &&CachedIndex| entry.stamp == stamp && entry.index.is_about(newline, start);
    let here = {
        let indexes = INDEX_CACHE.lock();
        indexes.iter().find(fits).map(|entry| entry.index.clone())
    };
    let there = || {
        if source.len() < SHARE_THRESHOLD_BYTES {
            return None;
        }
        let kept: Vec<CachedIndex> = cx.session.read(INDEX_DOCUMENT).ok()?;
        kept.iter().find(fits).map(|entry| entry.index.clone())
    };
    here.or_else(there).unwrap_or_else(unknown)
}

/// Caches an index; `before` is its [`LineIndex::counted`] at load time.
pub(crate) fn store(cx: &ToolContext, source: &SeekableFile, index: &LineIndex, before: u64) {
    let counted = index.counted();
    if source.memory().is_some() || counted == before || !source.stamp().is_settled() {
        return;
    }
    let entry = CachedIndex { stamp: source.stamp(), index: index.clone() };
    {
        let mut indexes = INDEX_CACHE.lock();
        indexes.retain(|old| !is_same_file(old, &entry));
        indexes.push_front(entry.clone());
        indexes.truncate(MAX_CACHED_INDEXES);
    }
    let is_news = index.total().is_some() || counted - before >= SHARE_THRESHOLD_BYTES;
    if source.len() >= SHARE_THRESHOLD_BYTES && is_news {
        // Best effort: without it the next process counts again.
        let _ = cx.session.update(INDEX_DOCUMENT, |kept: &mut Vec<CachedIndex>| {
            kept.retain(|old| !is_same_file(old, &entry));
            kept.insert(0, entry);
            kept.truncate(MAX_SESSION_INDEXES);
        });
    }
}

fn is_same_file(a: &CachedIndex, b: &CachedIndex) -> bool {
    a.stamp.is_same_file(&b.stamp)
}
