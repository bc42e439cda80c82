//! Progress notifications of a call.

use std::fmt;
use std::time::{Duration, Instant};

use hermes_core::ProgressUpdate;
use hermes_engine::CallObserver;
use parking_lot::Mutex;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use tokio::sync::mpsc;

use super::call::CallEvent;

/// Minimum time between notifications.
const MIN_NOTIFY_INTERVAL: Duration = Duration::from_millis(20);

/// A call without progress for this long is reported as running, since some
/// clients time out on silence.
pub(crate) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// Minimum step. The protocol requires increasing values, even if the tool
/// reports none.
const MIN_PROGRESS_STEP: f64 = 0.001;

/// Notifies the client of a call's progress.
pub(crate) struct ProgressNotifier {
    call: String,
    token: ProgressToken,
    events: mpsc::Sender<CallEvent>,
    last: Mutex<LastProgress>,
}

#[derive(Default)]
struct LastProgress {
    value: Option<f64>,
    total: Option<f64>,
    at: Option<Instant>,
}

impl ProgressNotifier {
    pub(crate) fn new(call: &str, token: ProgressToken, errands: mpsc::Sender<CallEvent>) -> Self {
        Self { call: call.to_owned(), token, events: errands, last: Mutex::default() }
    }

    /// Returns a notification that the call still runs, unless it reported
    /// progress recently.
    pub(crate) fn heartbeat(&self, now: Instant) -> Option<ProgressNotificationParam> {
        let last = self.last.lock().at;
        if last.is_some_and(|at| now.saturating_duration_since(at) < HEARTBEAT_INTERVAL) {
            return None;
        }
        self.notification(&ProgressUpdate { fraction: None, message: String::new() }, true, now)
    }

    /// Builds a notification, or none if the last one is too recent.
    fn notification(
        &self,
        progress: &ProgressUpdate,
        own: bool,
        now: Instant,
    ) -> Option<ProgressNotificationParam> {
        // The fraction of a nested call says nothing about the whole.
        let fraction = progress.fraction.filter(|_| own).map(|f| f.clamp(0.0, 1.0));
        let mut last = self.last.lock();
        let soon =
            last.at.is_some_and(|at| now.saturating_duration_since(at) < MIN_NOTIFY_INTERVAL);
        if soon && fraction.is_none_or(|fraction| fraction < 1.0) {
            return None;
        }
        let value = match (fraction, last.value) {
            (Some(fraction), None) => fraction * 100.0,
            (Some(fraction), Some(before)) => (fraction * 100.0).max(before + MIN_PROGRESS_STEP),
            (None, None) => 0.0,
            (None, Some(before)) if last.total.is_some() => before + MIN_PROGRESS_STEP,
            (None, Some(before)) => before + 1.0,
        };
        if fraction.is_some() {
            last.total = Some(100.0);
        }
        last.value = Some(value);
        last.at = Some(now);
        let mut sign = ProgressNotificationParam::new(self.token.clone(), value);
        // Past the total, the total is unknown.
        sign.total = last.total.filter(|total| value <= *total);
        if !progress.message.is_empty() {
            sign.message = Some(progress.message.clone());
        }
        Some(sign)
    }
}

impl CallObserver for ProgressNotifier {
    fn on_event(&self, event: &hermes_engine::CallEvent<'_>) {
        let hermes_engine::CallEvent::Progress { call, progress, .. } = event else { return };
        if let Some(sign) = self.notification(progress, *call == self.call, Instant::now()) {
            // Dropped if the client does not keep up.
            let _ = self.events.try_send(CallEvent::Progress(sign));
        }
    }
}

impl fmt::Debug for ProgressNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressNotifier").field("call", &self.call).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
