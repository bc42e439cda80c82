//! Notices about background processes: a process has exited, or has printed a
//! line that a pattern watches for.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

/// Maximum number of queued notices per session; the oldest are dropped.
const MAX_QUEUED_NOTICES: usize = 200;

/// A notice about a background process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProcessNotice {
    /// The id of the process, as results report it.
    pub session_id: String,
    /// Its command, truncated.
    pub command: String,
    /// The event.
    #[serde(flatten)]
    pub event: ProcessEvent,
}

/// An event of a background process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ProcessEvent {
    /// The process has ended.
    Completed {
        /// `exited`, `killed` or `inactivity`.
        reason: &'static str,
        /// The exit code as a shell reports it.
        exit_code: i32,
        /// The end of its output.
        output: String,
    },
    /// The process has printed a line that matches a watched pattern.
    Matched {
        /// The patterns that matched, in order of appearance.
        patterns: Vec<String>,
        /// The matching lines.
        lines: Vec<String>,
        /// Number of further matching lines that are not shown.
        suppressed: u64,
    },
    /// There were too many matches to report.
    Overflow {
        /// The consequence, for the reader.
        message: String,
        /// Number of matches that were not reported.
        suppressed: u64,
    },
}

/// Receiver of notices; a port.
pub trait NoticeSink: Send + Sync {
    /// Whether this session's notices are read.
    fn has_listener(&self, session: &str) -> bool;

    /// Queues a notice for a session.
    fn notify(&self, session: &str, notice: ProcessNotice);

    /// Drops the completion notice of a process: the session already knows how
    /// it ended.
    fn withdraw_completion(&self, session: &str, process: &str);
}

/// Called after a notice is queued.
type NoticeCallback = Arc<dyn Fn() + Send + Sync>;

/// Notices that wait until the driver of the session drains them.
#[derive(Default)]
pub struct NoticeQueue {
    has_listener: AtomicBool,
    on_notice: Mutex<Option<NoticeCallback>>,
    queued: Mutex<HashMap<String, VecDeque<ProcessNotice>>>,
}

impl NoticeQueue {
    /// Returns an empty queue without a listener.
    pub fn new() -> Self {
        Self::default()
    }

    /// Marks the queue as listened to.
    pub fn set_listening(&self) {
        self.has_listener.store(true, Ordering::Relaxed);
    }

    /// Sets the callback that runs after each new notice.
    pub fn on_notice(&self, call: NoticeCallback) {
        *self.on_notice.lock() = Some(call);
    }

    /// Removes and returns up to `most` notices of a session, oldest first.
    pub fn drain(&self, session: &str, most: usize) -> Vec<ProcessNotice> {
        let mut all = self.lock_queued();
        let Some(waiting) = all.get_mut(session) else { return Vec::new() };
        let taken = waiting.drain(..most.min(waiting.len())).collect();
        if waiting.is_empty() {
            all.remove(session);
        }
        taken
    }

    fn lock_queued(&self) -> MutexGuard<'_, HashMap<String, VecDeque<ProcessNotice>>> {
        self.queued.lock()
    }
}

impl NoticeSink for NoticeQueue {
    fn has_listener(&self, _session: &str) -> bool {
        self.has_listener.load(Ordering::Relaxed)
    }

    fn notify(&self, session: &str, notice: ProcessNotice) {
        let mut all = self.lock_queued();
        let waiting = all.entry(session.to_owned()).or_default();
        if waiting.len() >= MAX_QUEUED_NOTICES {
            waiting.pop_front();
        }
        waiting.push_back(notice);
        drop(all);
        let call = self.on_notice.lock().clone();
        if let Some(call) = call {
            call();
        }
    }

    fn withdraw_completion(&self, session: &str, process: &str) {
        let mut all = self.lock_queued();
        let Some(waiting) = all.get_mut(session) else { return };
        waiting.retain(|notice| {
            notice.session_id != process || !matches!(notice.event, ProcessEvent::Completed { .. })
        });
        if waiting.is_empty() {
            all.remove(session);
        }
    }
}

impl fmt::Debug for NoticeQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoticeQueue")
            .field("is_heard", &self.has_listener)
            .field("sessions", &self.lock_queued().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "notice_tests.rs"]
mod tests;
