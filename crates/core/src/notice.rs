//! What a session is told without having asked: a process has ended, a line
//! has come that somebody waits for.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// Notices that a session has waiting at most; of more, the oldest go.
const MOST: usize = 200;

/// News of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The process, by the id that its answers carry.
    pub session_id: String,
    /// Its command, shortened.
    pub command: String,
    /// What has happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What has happened to a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
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
pub trait Notices: Send + Sync {
    /// Whether anybody hears what this session is told.
    fn is_heard(&self, session: &str) -> bool;

    /// Tells a session something.
    fn tell(&self, session: &str, notice: Notice);

    /// The session has learnt by itself how this process has ended.
    fn withdraw_end(&self, session: &str, process: &str);
}

/// What is called when something has come.
type Bell = Arc<dyn Fn() + Send + Sync>;

/// Notices that wait for whoever drives the session to take them.
#[derive(Default)]
pub struct NoticeQueue {
    is_heard: AtomicBool,
    on_news: Mutex<Option<Bell>>,
    waiting: Mutex<HashMap<String, VecDeque<Notice>>>,
}

impl NoticeQueue {
    /// An empty queue that nobody has promised to look at.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on somebody takes out what comes.
    pub fn listen(&self) {
        self.is_heard.store(true, Ordering::Relaxed);
    }

    /// From now on this is called whenever something has come.
    pub fn on_news(&self, call: Bell) {
        *self.on_news.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
    }

    /// Takes out what waits for a session, the oldest first, at most so many.
    pub fn drain(&self, session: &str, most: usize) -> Vec<Notice> {
        let mut all = self.lock();
        let Some(waiting) = all.get_mut(session) else { return Vec::new() };
        let taken = waiting.drain(..most.min(waiting.len())).collect();
        if waiting.is_empty() {
            all.remove(session);
        }
        taken
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, VecDeque<Notice>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notices for NoticeQueue {
    fn is_heard(&self, _session: &str) -> bool {
        self.is_heard.load(Ordering::Relaxed)
    }

    fn tell(&self, session: &str, notice: Notice) {
        let mut all = self.lock();
        let waiting = all.entry(session.to_owned()).or_default();
        if waiting.len() >= MOST {
            waiting.pop_front();
        }
        waiting.push_back(notice);
        drop(all);
        let call = self.on_news.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(call) = call {
            call();
        }
    }

    fn withdraw_end(&self, session: &str, process: &str) {
        let mut all = self.lock();
        let Some(waiting) = all.get_mut(session) else { return };
        waiting.retain(|notice| {
            notice.session_id != process || !matches!(notice.event, Event::Completed { .. })
        });
        if waiting.is_empty() {
            all.remove(session);
        }
    }
}

impl fmt::Debug for NoticeQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoticeQueue")
            .field("is_heard", &self.is_heard)
            .field("sessions", &self.lock().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "notice_tests.rs"]
mod tests;
