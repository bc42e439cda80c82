//! Line indexes that outlive a call, so that the next page of a large file is
//! a seek: in this process, and for others in the session.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use hermes_core::ToolContext;
use serde::{Deserialize, Serialize};

use crate::lines::{LineIndex, Newline};
use crate::source::{Source, Stamp};

/// The session document.
const DOCUMENT: &str = "lines";
/// Files from this size on are worth telling other processes about, and so is
/// having counted this much more of one.
const SHARED: u64 = 64 * 1024 * 1024;
/// How many indexes are kept, here and in the session.
const KEPT: usize = 32;
const KEPT_IN_SESSION: usize = 8;

static INDEXES: Mutex<VecDeque<Entry>> = Mutex::new(VecDeque::new());

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    stamp: Stamp,
    index: LineIndex,
}

/// What is known of the lines of a file, which may be nothing.
pub(crate) fn load(cx: &ToolContext, source: &Source, newline: Newline, start: u64) -> LineIndex {
    let unknown = || LineIndex::new(newline, start, source.len(), LineIndex::CHUNK);
    if source.memory().is_some() {
        return unknown();
    }
    let stamp = source.stamp();
    let fits = |entry: &&Entry| entry.stamp == stamp && entry.index.is_about(newline, start);
    let here = {
        let indexes = INDEXES.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.iter().find(fits).map(|entry| entry.index.clone())
    };
    let there = || {
        if source.len() < SHARED {
            return None;
        }
        let kept: Vec<Entry> = cx.session.read(DOCUMENT).ok()?;
        kept.iter().find(fits).map(|entry| entry.index.clone())
    };
    here.or_else(there).unwrap_or_else(unknown)
}

/// Keeps what was learnt; `before` is how much was counted when it was loaded.
pub(crate) fn keep(cx: &ToolContext, source: &Source, index: &LineIndex, before: u64) {
    let counted = index.counted();
    if source.memory().is_some() || counted == before || !source.stamp().is_settled() {
        return;
    }
    let entry = Entry { stamp: source.stamp(), index: index.clone() };
    {
        let mut indexes = INDEXES.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.retain(|old| !is_same_file(old, &entry));
        indexes.push_front(entry.clone());
        indexes.truncate(KEPT);
    }
    let is_news = index.total().is_some() || counted - before >= SHARED;
    if source.len() >= SHARED && is_news {
        // Without it the next process counts again; that is no reason to fail.
        let _ = cx.session.update(DOCUMENT, |kept: &mut Vec<Entry>| {
            kept.retain(|old| !is_same_file(old, &entry));
            kept.insert(0, entry);
            kept.truncate(KEPT_IN_SESSION);
        });
    }
}

fn is_same_file(a: &Entry, b: &Entry) -> bool {
    a.stamp.is_same_file(&b.stamp)
}
