//! Line indexes that outlive a call, so that the next page of a large file is
//! a seek: in this process, and for others in the session.

use std::collections::VecDeque;

use hermes_core::ToolContext;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::lines::{LineIndex, NewlineEncoding};
use crate::source::{SeekableFile, VersionStamp};

/// The session document.
const INDEX_DOCUMENT: &str = "lines";
/// Files from this size on are worth telling other processes about, and so is
/// having counted this much more of one.
const SHARE_THRESHOLD_BYTES: u64 = 64 * 1024 * 1024;
/// How many indexes are kept, here and in the session.
const MAX_CACHED_INDEXES: usize = 32;
const MAX_SESSION_INDEXES: usize = 8;

static INDEX_CACHE: Mutex<VecDeque<CachedIndex>> = Mutex::new(VecDeque::new());

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CachedIndex {
    stamp: VersionStamp,
    index: LineIndex,
}

/// What is known of the lines of a file, which may be nothing.
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

/// Keeps what was learnt; `before` is how much was counted when it was loaded.
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
        // Without it the next process counts again; that is no reason to fail.
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
