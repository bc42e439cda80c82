//! Watch for patterns in the output of a job.

mod breaker;
mod escape_stripper;
mod lines;

use std::time::{Duration, Instant};

pub use breaker::{BreakerLimits, NoticeAdmission, NoticeBreaker, SuppressedSummary};
use lines::{PatternLine, PatternScanner};

/// Limits of pattern notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchSettings {
    /// Minimum time between two notifications of one job.
    pub min_interval: Duration,
    /// Number of consecutive intervals with suppressed matches after which the
    /// patterns are disabled.
    pub strikes: u32,
    /// Maximum lines in one notification.
    pub max_lines: usize,
    /// Maximum characters in one notification.
    pub max_chars: usize,
}

impl Default for WatchSettings {
    fn default() -> Self {
        Self { min_interval: Duration::from_secs(15), strikes: 3, max_lines: 20, max_chars: 2000 }
    }
}

/// A notification to deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchNotice {
    /// A pattern was found.
    PatternHit(PatternHit),
    /// There were too many matches. The patterns are disabled, and the end of
    /// the job should be reported instead.
    Disabled {
        /// Number of lines that matched since the last notification.
        suppressed: u64,
    },
}

/// A notification of matching lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternHit {
    /// The first pattern of the first line.
    pub pattern: String,
    /// The other patterns found, in output order.
    pub others: Vec<String>,
    /// The lines, as far as they have been written.
    pub lines: Vec<String>,
    /// Number of further lines that matched since the last notification and are
    /// not shown.
    pub suppressed: u64,
}

/// Searches the output of one job for patterns.
///
/// A pattern is plain text within one line. It is found as soon as it is
/// written, even if the line is unfinished, and once per line. A line beyond 64
/// KB counts as a new one for each further 64 KB.
#[derive(Debug)]
pub struct PatternWatch {
    settings: WatchSettings,
    matcher: PatternScanner,
    /// Until when matches are suppressed after a notification.
    quiet_until: Option<Instant>,
    has_strike: bool,
    strikes: u32,
    suppressed: u64,
    is_disabled: bool,
}

impl PatternWatch {
    /// Creates a watch for these patterns. Empty and multi-line patterns never
    /// match.
    pub fn new(patterns: &[String], settings: WatchSettings) -> Self {
        Self {
            settings,
            matcher: PatternScanner::new(patterns),
            quiet_until: None,
            has_strike: false,
            strikes: 0,
            suppressed: 0,
            is_disabled: false,
        }
    }

    /// Whether the patterns were disabled because of too many matches.
    pub fn is_disabled(&self) -> bool {
        self.is_disabled
    }

    /// Returns the number of matching lines not yet reported.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }

    /// Processes the next bytes of the output and returns at most one notice.
    pub fn feed(&mut self, bytes: &[u8], now: Instant) -> Vec<WatchNotice> {
        if self.is_disabled {
            return Vec::new();
        }
        let most = if self.is_quiet(now) { 0 } else { self.settings.max_lines };
        let found = self.matcher.feed(bytes, most);
        if found.count == 0 {
            return Vec::new();
        }
        let notice = if self.is_quiet(now) {
            self.hold_back(found.count)
        } else {
            self.notify(found.matches, found.count, now)
        };
        notice.into_iter().collect()
    }

    fn is_quiet(&self, now: Instant) -> bool {
        self.quiet_until.is_some_and(|until| now < until)
    }

    fn hold_back(&mut self, count: u64) -> Option<WatchNotice> {
        self.suppressed = self.suppressed.saturating_add(count);
        if !self.has_strike {
            self.has_strike = true;
            self.strikes += 1;
        }
        if self.strikes < self.settings.strikes {
            return None;
        }
        self.is_disabled = true;
        Some(WatchNotice::Disabled { suppressed: std::mem::take(&mut self.suppressed) })
    }

    fn notify(
        &mut self,
        matches: Vec<PatternLine>,
        count: u64,
        now: Instant,
    ) -> Option<WatchNotice> {
        if !self.has_strike {
            self.strikes = 0;
        }
        self.has_strike = false;
        self.quiet_until = now.checked_add(self.settings.min_interval);
        let mut room = self.settings.max_chars;
        let mut lines = Vec::new();
        let mut patterns: Vec<String> = Vec::new();
        for found in matches {
            for pattern in found.patterns {
                if !patterns.contains(&pattern) {
                    patterns.push(pattern);
                }
            }
            // Count the line end as one character.
            let text: String = found.text.chars().take(room).collect();
            room = room.saturating_sub(text.chars().count() + 1);
            if !text.is_empty() {
                lines.push(text);
            }
        }
        let shown = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        let held_back = std::mem::take(&mut self.suppressed);
        let suppressed = held_back.saturating_add(count.saturating_sub(shown));
        let mut patterns = patterns.into_iter();
        let pattern = patterns.next()?;
        Some(WatchNotice::PatternHit(PatternHit {
            pattern,
            others: patterns.collect(),
            lines,
            suppressed,
        }))
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
