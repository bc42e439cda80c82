//! What is known of a program that is debugged, from what its adapter tells.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hermes_exec::output::{OutputLog, OutputStream};
use serde_json::Value;
use tokio::sync::watch;

use crate::breakpoints::Table;

/// Bytes kept of what an adapter complains of.
const COMPLAINT: usize = 4 * 1024;

/// Why and where a program has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Why, in a word.
    pub reason: String,
    /// The adapter's words for it.
    pub text: Option<String>,
    /// What else there is to know.
    pub note: Option<String>,
    /// The thread.
    pub(crate) thread: i64,
    /// The breakpoints that it met, by our numbers.
    pub breakpoints: Vec<u64>,
}

/// What a program printed since it was last asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// The end of it.
    pub text: String,
    /// Bytes before that were left out.
    pub skipped: u64,
}

/// What a program is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    Starting,
    Running,
    Stopped(Stop),
    Ended,
}

/// What is known.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    pub(crate) exit_code: Option<i64>,
    pub(crate) is_initialized: bool,
    /// Why it could not be started, from the adapter.
    pub(crate) refused: Option<Value>,
    pub(crate) breakpoints: Table,
    /// Whether the stream of messages has ended.
    pub(crate) is_gone: bool,
    output: OutputLog,
    told: u64,
    complaint: Vec<u8>,
}

/// The same, for everyone who tells and asks.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

impl Shared {
    pub(crate) fn new(breakpoints: Table) -> Self {
        let state = State {
            phase: Phase::Starting,
            exit_code: None,
            is_initialized: false,
            refused: None,
            breakpoints,
            is_gone: false,
            output: OutputLog::new(None),
            told: 0,
            complaint: Vec::new(),
        };
        Self { state: Mutex::new(state), changed: watch::Sender::new(0) }
    }

    pub(crate) fn look(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known, and lets everyone know.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.look());
        self.changed.send_modify(|count| *count += 1);
    }

    /// Waits until something is known.
    pub(crate) async fn wait<T>(&self, mut known: impl FnMut(&State) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            changed.borrow_and_update();
            if let Some(known) = known(&self.look()) {
                return known;
            }
            // The sender lives as long as this.
            let _ = changed.changed().await;
        }
    }
}

impl State {
    /// Takes an event of the adapter.
    pub(crate) fn take(&mut self, name: &str, body: &Value) {
        match name {
            "initialized" => self.is_initialized = true,
            "stopped" => self.stop(body),
            "continued" => {
                if matches!(self.phase, Phase::Stopped(_)) {
                    self.phase = Phase::Running;
                }
            }
            "output" => self.print(body),
            "breakpoint" => {
                if let Some(told) = body.get("breakpoint") {
                    self.breakpoints.update(told);
                }
            }
            "exited" => {
                self.exit_code = body.get("exitCode").and_then(Value::as_i64);
                self.phase = Phase::Ended;
            }
            "hermes/refused" => self.refused = Some(body.clone()),
            _ => {}
        }
    }

    fn stop(&mut self, body: &Value) {
        // Of several threads the first is shown.
        if matches!(self.phase, Phase::Stopped(_) | Phase::Ended) {
            return;
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let hits = body.get("hitBreakpointIds").and_then(Value::as_array);
        let hits: Vec<i64> = hits.into_iter().flatten().filter_map(Value::as_i64).collect();
        self.phase = Phase::Stopped(Stop {
            reason: text("reason").unwrap_or_else(|| "unknown".to_owned()),
            text: text("description").or_else(|| text("text")),
            note: text("note"),
            thread: body.get("threadId").and_then(Value::as_i64).unwrap_or(1),
            breakpoints: self.breakpoints.ours(&hits),
        });
    }

    fn print(&mut self, body: &Value) {
        let Some(text) = body.get("output").and_then(Value::as_str) else { return };
        match body.get("category").and_then(Value::as_str) {
            Some("stderr" | "important") => self.output.push(OutputStream::Stderr, text.as_bytes()),
            Some("stdout") => self.output.push(OutputStream::Stdout, text.as_bytes()),
            Some("telemetry") => {}
            // What the debugger itself has to say.
            _ => self.complain(text.as_bytes()),
        }
    }

    /// Keeps the end of what the adapter complains of.
    pub(crate) fn complain(&mut self, bytes: &[u8]) {
        self.complaint.extend_from_slice(bytes);
        let over = self.complaint.len().saturating_sub(COMPLAINT);
        self.complaint.drain(..over);
    }

    pub(crate) fn complaint(&self) -> String {
        hermes_exec::output::clean(&self.complaint).trim().to_owned()
    }

    /// What was printed since this was last asked, at most so many bytes.
    pub(crate) fn printed(&mut self, most: usize) -> Printed {
        let start = self.told.max(self.output.len().saturating_sub(most as u64));
        let piece = self.output.read_from(start, most);
        let skipped = piece.from.saturating_sub(self.told);
        self.told = piece.next.max(start);
        Printed { text: hermes_exec::output::clean(&piece.bytes), skipped }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
