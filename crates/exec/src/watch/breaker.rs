//! Rate limit on the notifications of all jobs together.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// When the breaker trips, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerLimits {
    /// Maximum notifications delivered within `window`.
    pub max_notices: usize,
    /// Length of the sliding window.
    pub window: Duration,
    /// Length of the silence after the breaker trips.
    pub silence: Duration,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { max_notices: 15, window: seconds(10), silence: seconds(30) }
    }
}

/// Decision about a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeAdmission {
    /// Deliver it.
    Deliver,
    /// Drop it; a silence begins, which should be reported once.
    Tripped,
    /// Drop it; the summary counts it.
    Silent,
}

/// Notifications dropped during a silence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuppressedSummary {
    /// Total number of notifications.
    pub dropped: u64,
    /// Number per job; jobs beyond the first hundred count only in the total.
    pub jobs: BTreeMap<String, u64>,
}

/// Suppresses the notifications of all jobs when there are too many.
#[derive(Debug)]
pub struct NoticeBreaker {
    limits: BreakerLimits,
    delivered: VecDeque<Instant>,
    silence: Option<(Instant, SuppressedSummary)>,
}

const MAX_SUMMARY_JOBS: usize = 100;

impl NoticeBreaker {
    /// Creates a breaker with no deliveries yet.
    pub fn new(limits: BreakerLimits) -> Self {
        Self { limits, delivered: VecDeque::new(), silence: None }
    }

    /// Decides on a notification of a job. Call [`NoticeBreaker::release`]
    /// first; a silence lasts until then.
    pub fn admit(&mut self, job: &str, now: Instant) -> NoticeAdmission {
        if let Some((_, summary)) = &mut self.silence {
            count_dropped(summary, job);
            return NoticeAdmission::Silent;
        }
        let is_old = |then: &Instant| now.saturating_duration_since(*then) >= self.limits.window;
        while self.delivered.front().is_some_and(is_old) {
            self.delivered.pop_front();
        }
        if self.delivered.len() < self.limits.max_notices {
            self.delivered.push_back(now);
            return NoticeAdmission::Deliver;
        }
        let mut summary = SuppressedSummary { dropped: 0, jobs: BTreeMap::new() };
        count_dropped(&mut summary, job);
        let until = now.checked_add(self.limits.silence).unwrap_or(now);
        self.silence = Some((until, summary));
        self.delivered.clear();
        NoticeAdmission::Tripped
    }

    /// Returns when the current silence ends, if any.
    pub fn silent_until(&self) -> Option<Instant> {
        self.silence.as_ref().map(|(until, _)| *until)
    }

    /// Ends a silence that is over and returns its summary, once.
    pub fn release(&mut self, now: Instant) -> Option<SuppressedSummary> {
        match self.silent_until() {
            Some(until) if now >= until => self.silence.take().map(|(_, summary)| summary),
            _ => None,
        }
    }
}

impl Default for NoticeBreaker {
    fn default() -> Self {
        Self::new(BreakerLimits::default())
    }
}

fn count_dropped(summary: &mut SuppressedSummary, job: &str) {
    summary.dropped = summary.dropped.saturating_add(1);
    if let Some(of_job) = summary.jobs.get_mut(job) {
        *of_job = of_job.saturating_add(1);
    } else if summary.jobs.len() < MAX_SUMMARY_JOBS {
        summary.jobs.insert(job.to_owned(), 1);
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
