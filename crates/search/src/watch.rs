//! Whoever waits for a search: may stop it, sets it a time, sees how it goes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::ToolContext;
use hermes_text::codec::{TextFormat, detect_format};

/// How many of the paths that were skipped are told by name.
const NAMED: usize = 5;
/// The part of the remaining time that is left for the answer.
const RESERVE: u32 = 10;
const MOST_RESERVE: Duration = Duration::from_millis(500);
const BETWEEN_REPORTS: u64 = 1_000;

/// Why a search ended before it was through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The caller stopped it.
    Cancelled,
    /// Its time was up.
    TimeUp,
}

/// How the text of a file is spelled: of its path, its beginning, and whether
/// that is all of it.
pub type Spelling<'a> = dyn Fn(&Path, &[u8], bool) -> TextFormat + Sync + 'a;

/// The caller of a search.
pub struct Watch<'a> {
    cx: &'a ToolContext,
    spelling: Option<&'a Spelling<'a>>,
    begun: Instant,
    until: Option<Instant>,
    looked_at: AtomicU64,
    reported: AtomicU64,
    skipped: Tally,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { begun, until, looked_at, skipped, .. } = self;
        let mut shown = f.debug_struct("Watch");
        shown.field("begun", begun).field("until", until);
        shown.field("looked_at", looked_at).field("skipped", skipped).finish_non_exhaustive()
    }
}

/// What a search left out against its will.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Files and folders that the account may not read.
    pub unreadable: usize,
    /// Files above the size that was allowed, or with lines too long to hold.
    pub too_large: usize,
    /// Pipes, sockets and devices.
    pub special: usize,
    /// Files that turned out to be binary.
    pub binary: usize,
    /// Files and folders that a rule keeps closed.
    pub protected: usize,
    /// Some of the unreadable and too large ones.
    pub paths: Vec<PathBuf>,
}

#[derive(Debug, Default)]
struct Tally {
    unreadable: AtomicUsize,
    too_large: AtomicUsize,
    special: AtomicUsize,
    binary: AtomicUsize,
    protected: AtomicUsize,
    paths: Mutex<Vec<PathBuf>>,
}

/// One reason to leave something out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Unreadable,
    TooLarge,
    Special,
    Binary,
    Protected,
}

impl<'a> Watch<'a> {
    /// The caller of a running tool.
    pub fn new(cx: &'a ToolContext) -> Self {
        let begun = Instant::now();
        let until = cx.deadline.map(|at| {
            let left = at.saturating_duration_since(begun);
            at.checked_sub((left / RESERVE).min(MOST_RESERVE)).unwrap_or(at)
        });
        Self {
            cx,
            spelling: None,
            begun,
            until,
            looked_at: AtomicU64::new(0),
            reported: AtomicU64::new(0),
            skipped: Tally::default(),
        }
    }

    /// The same caller, who knows more of encodings than the bytes of a file
    /// tell.
    #[must_use]
    pub fn knowing(mut self, spelling: &'a Spelling<'a>) -> Self {
        self.spelling = Some(spelling);
        self
    }

    /// How the text of a file is spelled.
    pub(crate) fn spelling(&self, path: &Path, sample: &[u8], is_all: bool) -> TextFormat {
        match self.spelling {
            Some(spelling) => spelling(path, sample, is_all),
            None => detect_format(sample, is_all),
        }
    }

    /// The same caller, who gives it this much time and no more.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        let end = self.begun.checked_add(time);
        self.until = match (self.until, end) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (until, end) => until.or(end),
        };
        self
    }

    /// Why the search has to end, if it has to.
    pub(crate) fn ended(&self) -> Option<Ended> {
        if self.cx.cancel.is_cancelled() {
            return Some(Ended::Cancelled);
        }
        self.until.is_some_and(|at| Instant::now() >= at).then_some(Ended::TimeUp)
    }

    pub(crate) fn look_at(&self, files: usize) {
        let before = self.looked_at.fetch_add(files as u64, Ordering::Relaxed);
        let Some(sink) = &self.cx.progress else { return };
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let last = self.reported.load(Ordering::Relaxed);
        if now.saturating_sub(last) < BETWEEN_REPORTS {
            return;
        }
        let swapped =
            self.reported.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed);
        if swapped.is_ok() {
            let message = format!("{} files looked at", before + files as u64);
            sink.report(&self.cx.tool, &hermes_core::ProgressUpdate { fraction: None, message });
        }
    }

    pub(crate) fn looked_at(&self) -> u64 {
        self.looked_at.load(Ordering::Relaxed)
    }

    pub(crate) fn skip(&self, reason: Reason, path: &Path) {
        let tally = &self.skipped;
        let counter = match reason {
            Reason::Unreadable => &tally.unreadable,
            Reason::TooLarge => &tally.too_large,
            Reason::Special => &tally.special,
            Reason::Binary => &tally.binary,
            Reason::Protected => &tally.protected,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if !matches!(reason, Reason::Unreadable | Reason::TooLarge) {
            return;
        }
        let mut paths = tally.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if paths.len() < NAMED {
            paths.push(path.to_path_buf());
        }
    }

    pub(crate) fn skipped(&self) -> Skipped {
        let tally = &self.skipped;
        let number = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let mut paths = tally.paths.lock().unwrap_or_else(PoisonError::into_inner).clone();
        paths.sort();
        Skipped {
            unreadable: number(&tally.unreadable),
            too_large: number(&tally.too_large),
            special: number(&tally.special),
            binary: number(&tally.binary),
            protected: number(&tally.protected),
            paths,
        }
    }
}
