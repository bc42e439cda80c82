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
    failures: u32,
    until: Option<Instant>,
    last: Option<Instant>,
}

impl Breaker {
    /// Whether a call may be tried at `now`; if not, after how many failures
    /// and for how long. After the pause one call is let through.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<(), (u32, Duration)> {
        match self.until {
            None => Ok(()),
            Some(until) if now < until => Err((self.failures, until - now)),
            Some(_) => {
                self.until = Some(now + PAUSE);
                Ok(())
            }
        }
    }

    pub(crate) fn succeed(&mut self) {
        *self = Self { last: self.last, ..Self::default() };
    }

    /// Something that was tried since `began` has failed. What was under way
    /// when another failed went down with it, and is no failure of its own.
    pub(crate) fn fail(&mut self, began: Instant, now: Instant) {
        if self.last.is_some_and(|last| began < last) {
            return;
        }
        self.last = Some(now);
        self.failures = self.failures.saturating_add(1);
        if self.failures >= TOO_MANY {
            self.until = Some(now + PAUSE);
        }
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
