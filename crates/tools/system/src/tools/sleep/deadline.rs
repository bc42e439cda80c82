//! Deadline of a wait.

use std::time::{Duration, Instant};

use hermes_core::{ToolContext, ToolError};
use jiff::Timestamp;

use super::{SleepAnswer, WakeCause, WakeEvent};
use crate::wall_time;

const MAX_SLEEP: Duration = Duration::from_secs(3_600);
/// Longer than the longest wait, so a wait ends before its call times out.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(3_700);
/// Timeout of a condition, if the caller gives none.
const DEFAULT_CONDITION_TIMEOUT: Duration = Duration::from_secs(600);
/// Interval between progress reports.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Time at which the wait ends, whatever the conditions.
#[derive(Debug)]
pub(super) struct SleepDeadline {
    begin: Instant,
    length: Duration,
    /// Wall-clock time, re-evaluated at each tick because the clock may be set
    /// and the machine may be suspended.
    at: Option<Timestamp>,
}

impl SleepDeadline {
    pub(super) fn from_args(
        seconds: Option<f64>,
        until: Option<&str>,
        has_condition: bool,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let begin = Instant::now();
        let at = until.map(wall_time::parse).transpose()?;
        let length = match (seconds, at) {
            (Some(_), Some(_)) => {
                return Err(ToolError::invalid(
                    "'seconds' and 'until' are mutually exclusive; give one",
                ));
            }
            (Some(seconds), None) => sleep_duration(seconds)?,
            (None, Some(at)) => time_until(at),
            (None, None) if has_condition => {
                let timeout = cx.remaining().map(|left| left.saturating_sub(PROGRESS_INTERVAL));
                timeout.map_or(DEFAULT_CONDITION_TIMEOUT, |timeout| {
                    timeout.min(DEFAULT_CONDITION_TIMEOUT)
                })
            }
            (None, None) => {
                return Err(ToolError::invalid("Nothing to wait for").with_hint(
                    "Give 'seconds', 'until', 'until_file', 'until_process' or 'until_port'.",
                ));
            }
        };
        if length > MAX_SLEEP {
            return Err(ToolError::limit(format!(
                "'until' is {} s away; the longest wait is {} s",
                length.as_secs(),
                MAX_SLEEP.as_secs()
            ))
            .with_hint("Wait in several steps, or schedule a job for that time."));
        }
        if let Some(left) = cx.remaining().filter(|left| *left < length) {
            return Err(ToolError::limit(format!(
                "The wait of {:.1} s exceeds the {:.1} s left for this call",
                length.as_secs_f64(),
                left.as_secs_f64()
            ))
            .with_hint("Shorten the wait, or raise the timeout of the call."));
        }
        Ok(Self { begin, length, at })
    }

    pub(super) fn remaining(&self) -> Duration {
        match self.at {
            Some(at) => time_until(at),
            None => self.length.saturating_sub(self.begin.elapsed()),
        }
    }

    pub(super) fn report(&self, left: Duration, standing: Option<&str>, cx: &ToolContext) {
        let whole = self.length.as_secs_f64();
        let fraction = (1.0 - left.as_secs_f64() / whole).clamp(0.0, 1.0);
        let mut message = format!("{} s left", left.as_secs_f64().ceil());
        if let Some(standing) = standing {
            message = format!("{message}; {standing}");
        }
        cx.report_progress(Some(fraction), message);
    }

    pub(super) fn wake_answer(&self, event: WakeEvent) -> SleepAnswer {
        let slept = self.begin.elapsed().as_secs_f64();
        SleepAnswer {
            slept_seconds: (slept * 1_000.0).round() / 1_000.0,
            woke: event.woke,
            reason: Some(event.reason).filter(|reason| !reason.is_empty()),
            exit_code: event.exit_code,
            line: event.line,
            note: None,
        }
    }

    /// Returns the answer of a wait that reached its deadline.
    pub(super) fn elapsed_answer(&self, standing: Option<String>) -> SleepAnswer {
        self.wake_answer(WakeEvent::new(WakeCause::Elapsed, standing.unwrap_or_default()))
    }
}

fn sleep_duration(seconds: f64) -> Result<Duration, ToolError> {
    if seconds > 0.0 && seconds <= MAX_SLEEP.as_secs_f64() {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(ToolError::invalid(format!(
        "'seconds' must be more than 0 and at most {}, not {seconds}",
        MAX_SLEEP.as_secs()
    )))
}

/// Returns zero for a time in the past.
fn time_until(at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(crate::wall_time::now())).unwrap_or_default()
}
