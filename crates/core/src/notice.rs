//! What a session is told without having asked: a process has ended, a line
//! has come that somebody waits for.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

/// Notices that a session has waiting at most; of more, the oldest go.
const MAX_QUEUED_NOTICES: usize = 200;

/// News of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProcessNotice {
    /// The process, by the id that its answers carry.
    pub session_id: String,
    /// Its command, shortened.
    pub command: String,
    /// What has happened.
    #[serde(flatten)]
    pub event: ProcessEvent,
}

/// What has happened to a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ProcessEvent {
    /// It has ended.
    Completed {
        /// `exited`, `killed` or `inactivity`.
        reason: &'static str,
        /// The code that a shell would give it.
        exit_code: i32,
        /// The end of its output.
        output: String,
    },
    /// It has written something that was waited for.
    Matched {
        /// What was waited for, in the order in which it came.
        patterns: Vec<String>,
        /// The lines that hold it.
        lines: Vec<String>,
        /// How many more such lines there were, and are not shown.
        suppressed: u64,
    },
    /// There was more to tell than anybody would read.
    Overflow {
        /// What follows from it.
        message: String,
        /// How much was not told.
        suppressed: u64,
    },
}

/// Where notices go; a port.
pub trait NoticeSink: Send + Sync {
    /// Whether anybody hears what this session is told.
    fn has_listener(&self, session: &str) -> bool;

    /// Tells a session something.
    fn notify(&self, session: &str, notice: ProcessNotice);

    /// The session has learnt by itself how this process has ended.
    fn withdraw_completion(&self, session: &str, process: &str);
}

/// What is called when something has come.
type NoticeCallback = Arc<dyn Fn() + Send + Sync>;

/// Notices that wait for whoever drives the session to take them.
#[derive(Default)]
pub struct NoticeQueue {
    has_listener: AtomicBool,
    on_notice: Mutex<Option<NoticeCallback>>,
    queued: Mutex<HashMap<String, VecDeque<ProcessNotice>>>,
}

impl NoticeQueue {
    /// An empty queue that nobody has promised to look at.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on somebody takes out what comes.
    pub fn set_listening(&self) {
        self.has_listener.store(true, Ordering::Relaxed);
    }

    /// From now on this is called whenever something has come.
    pub fn on_notice(&self, call: NoticeCallback) {
        *self.on_notice.lock() = Some(call);
    }

    /// Takes out what waits for a session, the oldest first, at most so many.
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
