//! Cancellation, deadline and progress of a search.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hermes_core::ToolContext;
use hermes_text::codec::{TextFormat, detect_format};
use parking_lot::Mutex;

/// Skipped paths listed by name.
const MAX_LISTED_SKIPS: usize = 5;
/// Fraction of the remaining time reserved for the response.
const RESERVE_DIVISOR: u32 = 10;
const MAX_RESERVE: Duration = Duration::from_millis(500);
const REPORT_INTERVAL_MS: u64 = 1_000;

/// Why a search stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyStop {
    /// The caller cancelled it.
    Cancelled,
    /// It reached its deadline.
    TimedOut,
}

/// Detects the encoding of a file from its path, its start, and whether that is
/// the whole file.
pub type FormatDetector<'a> = dyn Fn(&Path, &[u8], bool) -> TextFormat + Sync + 'a;

/// Cancellation, deadline, progress and skip counters of one search.
pub struct SearchMonitor<'a> {
    cx: &'a ToolContext,
    format_detector: Option<&'a FormatDetector<'a>>,
    begun: Instant,
    until: Option<Instant>,
    files_visited: AtomicU64,
    reported: AtomicU64,
    skipped: SkipCounters,
}

impl fmt::Debug for SearchMonitor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { begun, until, files_visited: looked_at, skipped, .. } = self;
        let mut shown = f.debug_struct("SearchMonitor");
        shown.field("begun", begun).field("until", until);
        shown.field("looked_at", looked_at).field("skipped", skipped).finish_non_exhaustive()
    }
}

/// What a search had to skip.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedFiles {
    /// Files and directories without read permission.
    pub unreadable: usize,
    /// Files above the size limit, or with lines too long to hold.
    pub too_large: usize,
    /// Pipes, sockets and devices.
    pub special: usize,
    /// Binary files.
    pub binary: usize,
    /// Protected files and directories.
    pub protected: usize,
    /// Some of the unreadable and too large ones.
    pub paths: Vec<PathBuf>,
}

#[derive(Debug, Default)]
struct SkipCounters {
    unreadable: AtomicUsize,
    too_large: AtomicUsize,
    special: AtomicUsize,
    binary: AtomicUsize,
    protected: AtomicUsize,
    paths: Mutex<Vec<PathBuf>>,
}

/// Why an entry is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkipReason {
    Unreadable,
    TooLarge,
    Special,
    Binary,
    Protected,
}

impl<'a> SearchMonitor<'a> {
    /// Creates the monitor of a tool call.
    pub fn new(cx: &'a ToolContext) -> Self {
        let begun = Instant::now();
        let until = cx.deadline.map(|at| {
            let left = at.saturating_duration_since(begun);
            at.checked_sub((left / RESERVE_DIVISOR).min(MAX_RESERVE)).unwrap_or(at)
        });
        Self {
            cx,
            format_detector: None,
            begun,
            until,
            files_visited: AtomicU64::new(0),
            reported: AtomicU64::new(0),
            skipped: SkipCounters::default(),
        }
    }

    /// Sets a format detector that uses more than the bytes of a file.
    #[must_use]
    pub fn with_format_detector(mut self, spelling: &'a FormatDetector<'a>) -> Self {
        self.format_detector = Some(spelling);
        self
    }

    /// Detects the encoding of a file.
    pub(crate) fn detect_format(&self, path: &Path, sample: &[u8], is_all: bool) -> TextFormat {
        match self.format_detector {
            Some(spelling) => spelling(path, sample, is_all),
            None => detect_format(sample, is_all),
        }
    }

    /// Limits the search to this duration.
    #[must_use]
    pub fn with_timeout(mut self, time: Duration) -> Self {
        let end = self.begun.checked_add(time);
        self.until = match (self.until, end) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (until, end) => until.or(end),
        };
        self
    }

    /// Returns why the search has to stop, if it has to.
    pub(crate) fn early_stop(&self) -> Option<EarlyStop> {
        if self.cx.cancel.is_cancelled() {
            return Some(EarlyStop::Cancelled);
        }
        self.until.is_some_and(|at| Instant::now() >= at).then_some(EarlyStop::TimedOut)
    }

    pub(crate) fn count_files(&self, files: usize) {
        let before = self.files_visited.fetch_add(files as u64, Ordering::Relaxed);
        let Some(sink) = &self.cx.progress else { return };
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let last = self.reported.load(Ordering::Relaxed);
        if now.saturating_sub(last) < REPORT_INTERVAL_MS {
            return;
        }
        let swapped =
            self.reported.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed);
        if swapped.is_ok() {
            let message = format!("{} files searched", before + files as u64);
            sink(&self.cx.tool, &hermes_core::ProgressUpdate { fraction: None, message });
        }
    }

    pub(crate) fn files_visited(&self) -> u64 {
        self.files_visited.load(Ordering::Relaxed)
    }

    pub(crate) fn skip(&self, reason: SkipReason, path: &Path) {
        let tally = &self.skipped;
        let counter = match reason {
            SkipReason::Unreadable => &tally.unreadable,
            SkipReason::TooLarge => &tally.too_large,
            SkipReason::Special => &tally.special,
            SkipReason::Binary => &tally.binary,
            SkipReason::Protected => &tally.protected,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if !matches!(reason, SkipReason::Unreadable | SkipReason::TooLarge) {
            return;
        }
        let mut paths = tally.paths.lock();
        if paths.len() < MAX_LISTED_SKIPS {
            paths.push(path.to_path_buf());
        }
    }

    pub(crate) fn skipped(&self) -> SkippedFiles {
        let tally = &self.skipped;
        let number = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let mut paths = tally.paths.lock().clone();
        paths.sort();
        SkippedFiles {
            unreadable: number(&tally.unreadable),
            too_large: number(&tally.too_large),
            special: number(&tally.special),
            binary: number(&tally.binary),
            protected: number(&tally.protected),
            paths,
        }
    }
}
