//! Patterns that somebody waits for in the output of a job.

mod breaker;
mod escape_stripper;
mod lines;

use std::time::{Duration, Instant};

pub use breaker::{BreakerLimits, NoticeAdmission, NoticeBreaker, SuppressedSummary};
use lines::{PatternLine, PatternScanner};

/// How much is told, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchSettings {
    /// The least time between two notifications of one job.
    pub min_interval: Duration,
    /// After so many such times in a row in which something had to be held
    /// back, the patterns are switched off.
    pub strikes: u32,
    /// The most lines in one notification.
    pub max_lines: usize,
    /// The most characters in one notification.
    pub max_chars: usize,
}

impl Default for WatchSettings {
    fn default() -> Self {
        Self { min_interval: Duration::from_secs(15), strikes: 3, max_lines: 20, max_chars: 2000 }
    }
}

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchNotice {
    /// A pattern was found.
    PatternHit(PatternHit),
    /// There was too much to tell. The patterns are switched off, and the end
    /// of the job is to be told instead.
    Disabled {
        /// How many lines matched since the last notification.
        suppressed: u64,
    },
}

/// A notification of what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternHit {
    /// The pattern of the first line.
    pub pattern: String,
    /// The other patterns that were found, in the order of the output.
    pub others: Vec<String>,
    /// The lines, as far as they were written by now.
    pub lines: Vec<String>,
    /// How many more lines matched since the last notification, and are not
    /// shown.
    pub suppressed: u64,
}

/// Looks for patterns in the output of one job.
///
/// A pattern is plain text within one line. It is found as soon as it was
/// written, also when the line has no end yet, and once per line. A line
/// beyond 64 KB counts as a new one for each further 64 KB.
#[derive(Debug)]
pub struct PatternWatch {
    settings: WatchSettings,
    matcher: PatternScanner,
    /// Until when nothing may be told, once something was.
    quiet_until: Option<Instant>,
    has_strike: bool,
    strikes: u32,
    suppressed: u64,
    is_disabled: bool,
}

impl PatternWatch {
    /// Watches for these patterns. Empty ones, and ones of several lines, are
    /// never found.
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

    /// Whether there was too much to tell.
    pub fn is_disabled(&self) -> bool {
        self.is_disabled
    }

    /// How many lines matched and were not told yet.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }

    /// Takes the next bytes of the output, and says what is to be told: at
    /// most one notice.
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
            // One character is for the end of the line.
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
