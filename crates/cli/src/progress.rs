//! Progress line on standard error, for calls that take more than half a
//! second.

use std::io::Write as _;
use std::time::{Duration, Instant};

use hermes::engine::{CallEvent, CallObserver};
use parking_lot::Mutex;

/// One line, rewritten in place and cleared at the end.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    started: Instant,
    shown: Mutex<Option<Instant>>,
}

impl Default for ProgressLine {
    fn default() -> Self {
        Self { started: Instant::now(), shown: Mutex::new(None) }
    }
}

impl CallObserver for ProgressLine {
    fn on_event(&self, event: &CallEvent<'_>) {
        let CallEvent::Progress { tool, progress, .. } = event else { return };
        let mut shown = self.shown.lock();
        let soon = shown.is_some_and(|at| at.elapsed() < Duration::from_millis(100));
        if soon || self.started.elapsed() < Duration::from_millis(500) {
            return;
        }
        *shown = Some(Instant::now());
        let percent = progress.fraction.map_or(String::new(), |f| format!(" {:3.0} %", f * 100.0));
        let text: String =
            format!("{tool}{percent} {}", progress.message).chars().take(78).collect();
        let _ = write!(std::io::stderr(), "\r\x1b[2K{text}");
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown.lock().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
