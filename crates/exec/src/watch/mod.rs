//! Patterns that somebody waits for in the output of a job.

mod breaker;
mod lines;
mod strip;

use std::time::{Duration, Instant};

pub use breaker::{Admission, Breaker, Limits, Summary};
use lines::{Lines, Match};

/// How much is told, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The least time between two notifications of one job.
    pub between: Duration,
    /// After so many such times in a row in which something had to be held
    /// back, the patterns are switched off.
    pub strikes: u32,
    /// The most lines in one notification.
    pub lines: usize,
    /// The most characters in one notification.
    pub chars: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { between: Duration::from_secs(15), strikes: 3, lines: 20, chars: 2000 }
    }
}

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A pattern was found.
    Hit(Hit),
    /// There was too much to tell. The patterns are switched off, and the end
    /// of the job is to be told instead.
    SwitchedOff {
        /// How many lines matched since the last notification.
        suppressed: u64,
    },
}

/// A notification of what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
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
pub struct Watch {
    settings: Settings,
    lines: Lines,
    /// Until when nothing may be told, once something was.
    quiet_until: Option<Instant>,
    is_strike: bool,
    strikes: u32,
    suppressed: u64,
    is_off: bool,
}

impl Watch {
    /// Watches for these patterns. Empty ones, and ones of several lines, are
    /// never found.
    pub fn new(patterns: &[String], settings: Settings) -> Self {
        Self {
            settings,
            lines: Lines::new(patterns),
            quiet_until: None,
            is_strike: false,
            strikes: 0,
            suppressed: 0,
            is_off: false,
        }
    }

    /// Whether there was too much to tell.
    pub fn is_off(&self) -> bool {
        self.is_off
    }

    /// How many lines matched and were not told yet.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }

    /// Takes the next bytes of the output, and says what is to be told: at
    /// most one notice.
    pub fn feed(&mut self, bytes: &[u8], now: Instant) -> Vec<Notice> {
        if self.is_off {
            return Vec::new();
        }
        let most = if self.is_quiet(now) { 0 } else { self.settings.lines };
        let found = self.lines.feed(bytes, most);
        if found.count == 0 {
            return Vec::new();
        }
        let notice = if self.is_quiet(now) {
            self.hold_back(found.count)
        } else {
            self.tell(found.matches, found.count, now)
        };
        notice.into_iter().collect()
    }

    fn is_quiet(&self, now: Instant) -> bool {
        self.quiet_until.is_some_and(|until| now < until)
    }

    fn hold_back(&mut self, count: u64) -> Option<Notice> {
        self.suppressed = self.suppressed.saturating_add(count);
        if !self.is_strike {
            self.is_strike = true;
            self.strikes += 1;
        }
        if self.strikes < self.settings.strikes {
            return None;
        }
        self.is_off = true;
        Some(Notice::SwitchedOff { suppressed: std::mem::take(&mut self.suppressed) })
    }

    fn tell(&mut self, matches: Vec<Match>, count: u64, now: Instant) -> Option<Notice> {
        if !self.is_strike {
            self.strikes = 0;
        }
        self.is_strike = false;
        self.quiet_until = now.checked_add(self.settings.between);
        let mut room = self.settings.chars;
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
        Some(Notice::Hit(Hit { pattern, others: patterns.collect(), lines, suppressed }))
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
