//! A limit on what all jobs together have to tell.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// When it breaks, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerLimits {
    /// As many may pass ...
    pub max_notices: usize,
    /// ... in this time.
    pub window: Duration,
    /// The silence after one too many.
    pub silence: Duration,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { max_notices: 15, window: seconds(10), silence: seconds(30) }
    }
}

/// What becomes of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeAdmission {
    /// It is delivered.
    Deliver,
    /// It is not, and a silence begins, which should be said once.
    Tripped,
    /// It is not; the summary will count it.
    Silent,
}

/// What was not delivered during a silence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuppressedSummary {
    /// How many notifications in all.
    pub dropped: u64,
    /// How many of each job; the jobs beyond the first hundred are only in
    /// the sum.
    pub jobs: BTreeMap<String, u64>,
}

/// Stops notifications of all jobs together when there are too many.
#[derive(Debug)]
pub struct NoticeBreaker {
    limits: BreakerLimits,
    delivered: VecDeque<Instant>,
    silence: Option<(Instant, SuppressedSummary)>,
}

const MAX_SUMMARY_JOBS: usize = 100;

impl NoticeBreaker {
    /// Nothing has passed yet.
    pub fn new(limits: BreakerLimits) -> Self {
        Self { limits, delivered: VecDeque::new(), silence: None }
    }

    /// Decides on a notification of a job. Ask [`NoticeBreaker::release`] first, or
    /// the silence goes on until somebody does.
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

    /// When the silence ends, if there is one.
    pub fn silent_until(&self) -> Option<Instant> {
        self.silence.as_ref().map(|(until, _)| *until)
    }

    /// Ends a silence that is over, with the one summary of it.
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
