//! Circuit breaker that suspends calls to a server that keeps failing.

use std::time::{Duration, Instant};

/// Consecutive failures that open the breaker.
const FAILURE_THRESHOLD: u32 = 3;

/// How long the breaker stays open.
const OPEN_DURATION: Duration = Duration::from_secs(60);

/// Recent failures of a server. Only failures of the server count, not error
/// responses.
#[derive(Debug, Default)]
pub(crate) struct CircuitBreaker {
    /// Consecutive failures, of starts and of calls. A server that starts every
    /// time and dies in every call is no better than one that does not start.
    start_failures: u32,
    call_failures: u32,
    open_until: Option<Instant>,
    last_failure: Option<Instant>,
}

impl CircuitBreaker {
    /// Admits a call at `now`, or returns the number of failures and the
    /// remaining time. After the pause, one call is admitted as a trial.
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

    /// Records that a call got its response.
    pub(crate) fn record_success(&mut self) {
        *self = Self { last_failure: self.last_failure, ..Self::default() };
    }

    /// Records a successful start, which does not reset call failures.
    pub(crate) fn record_start(&mut self) {
        self.start_failures = 0;
        if self.call_failures < FAILURE_THRESHOLD {
            self.open_until = None;
        }
    }

    /// Records that a call made at `began` failed. Calls that were in flight
    /// during another failure are not counted again.
    pub(crate) fn record_failure(&mut self, began: Instant, now: Instant) {
        if self.is_new_failure(began, now) {
            self.call_failures = self.call_failures.saturating_add(1);
            self.trip_if_exceeded(now);
        }
    }

    /// Records that the server, started at `began`, failed to start.
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
