//! A server that keeps failing is left alone for a while.

use std::time::{Duration, Instant};

/// So many failures in a row are too many.
const TOO_MANY: u32 = 3;

/// How long it is left alone.
const PAUSE: Duration = Duration::from_secs(60);

/// How a server has done lately. Only what speaks against the server counts,
/// not what it answers.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    /// Failures in a row: to start, and in calls. A server that starts every
    /// time and dies in every call is no better than one that does not start.
    starts: u32,
    calls: u32,
    until: Option<Instant>,
    last: Option<Instant>,
}

impl Breaker {
    /// Whether a call may be tried at `now`; if not, after how many failures
    /// and for how long. After the pause one call is let through.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<(), (u32, Duration)> {
        match self.until {
            None => Ok(()),
            Some(until) if now < until => Err((self.failures(), until - now)),
            Some(_) => {
                self.until = Some(now + PAUSE);
                Ok(())
            }
        }
    }

    /// A call has got its answer.
    pub(crate) fn succeed(&mut self) {
        *self = Self { last: self.last, ..Self::default() };
    }

    /// The server has started, which says nothing of its calls.
    pub(crate) fn started(&mut self) {
        self.starts = 0;
        if self.calls < TOO_MANY {
            self.until = None;
        }
    }

    /// A call that was tried since `began` has failed. What was under way
    /// when another failed went down with it, and is no failure of its own.
    pub(crate) fn fail(&mut self, began: Instant, now: Instant) {
        if self.is_new(began, now) {
            self.calls = self.calls.saturating_add(1);
            self.judge(now);
        }
    }

    /// The same for the server itself, which was started at `began`.
    pub(crate) fn fail_to_start(&mut self, began: Instant, now: Instant) {
        if self.is_new(began, now) {
            self.starts = self.starts.saturating_add(1);
            self.judge(now);
        }
    }

    fn failures(&self) -> u32 {
        self.starts.saturating_add(self.calls)
    }

    fn is_new(&mut self, began: Instant, now: Instant) -> bool {
        let is_new = self.last.is_none_or(|last| began >= last);
        if is_new {
            self.last = Some(now);
        }
        is_new
    }

    fn judge(&mut self, now: Instant) {
        if self.failures() >= TOO_MANY {
            self.until = Some(now + PAUSE);
        }
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
