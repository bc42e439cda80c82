//! A server that keeps failing is left alone for a while.

use std::time::{Duration, Instant};

/// So many failures in a row are too many.
const FAILURE_THRESHOLD: u32 = 3;

/// How long it is left alone.
const OPEN_DURATION: Duration = Duration::from_secs(60);

/// How a server has done lately. Only what speaks against the server counts,
/// not what it answers.
#[derive(Debug, Default)]
pub(crate) struct CircuitBreaker {
    /// Failures in a row: to start, and in calls. A server that starts every
    /// time and dies in every call is no better than one that does not start.
    start_failures: u32,
    call_failures: u32,
    open_until: Option<Instant>,
    last_failure: Option<Instant>,
}

impl CircuitBreaker {
    /// Whether a call may be tried at `now`; if not, after how many failures
    /// and for how long. After the pause one call is let through.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<(), (u32, Duration)> {
        match self.open_until {
            None => Ok(()),
            Some(until) if now < until => Err((self.failures(), until - now)),
            Some(_) => {
                self.open_until = Some(now + OPEN_DURATION);
                Ok(())
            }
        }
    }

    /// A call has got its answer.
    pub(crate) fn record_success(&mut self) {
        *self = Self { last_failure: self.last_failure, ..Self::default() };
    }

    /// The server has started, which says nothing of its calls.
    pub(crate) fn record_start(&mut self) {
        self.start_failures = 0;
        if self.call_failures < FAILURE_THRESHOLD {
            self.open_until = None;
        }
    }

    /// A call that was tried since `began` has failed. What was under way
    /// when another failed went down with it, and is no failure of its own.
    pub(crate) fn record_failure(&mut self, began: Instant, now: Instant) {
        if self.is_new_failure(began, now) {
            self.call_failures = self.call_failures.saturating_add(1);
            self.trip_if_exceeded(now);
        }
    }

    /// The same for the server itself, which was started at `began`.
    pub(crate) fn record_start_failure(&mut self, began: Instant, now: Instant) {
        if self.is_new_failure(began, now) {
            self.start_failures = self.start_failures.saturating_add(1);
            self.trip_if_exceeded(now);
        }
    }

    fn failures(&self) -> u32 {
        self.start_failures.saturating_add(self.call_failures)
    }

    fn is_new_failure(&mut self, began: Instant, now: Instant) -> bool {
        let is_new = self.last_failure.is_none_or(|last| began >= last);
        if is_new {
            self.last_failure = Some(now);
        }
        is_new
    }

    fn trip_if_exceeded(&mut self, now: Instant) {
        if self.failures() >= FAILURE_THRESHOLD {
            self.open_until = Some(now + OPEN_DURATION);
        }
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
