//! What is known of a program that is debugged, from what its adapter tells.

use parking_lot::{Mutex, MutexGuard};

use hermes_exec::output::{OutputLog, OutputStream};
use serde_json::Value;
use tokio::sync::watch;

use crate::breakpoints::BreakpointTable;

/// Bytes kept of what an adapter complains of.
const MAX_STDERR_BYTES: usize = 4 * 1024;

/// Why and where a program has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopEvent {
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
pub struct ProgramOutput {
    /// The end of it.
    pub text: String,
    /// Bytes before that were left out.
    pub skipped_bytes: u64,
}

/// What a program is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DebuggeePhase {
    Starting,
    Running,
    Stopped(StopEvent),
    Ended,
}

/// What is known.
#[derive(Debug)]
pub(crate) struct DebugState {
    pub(crate) phase: DebuggeePhase,
    pub(crate) exit_code: Option<i64>,
    pub(crate) is_initialized: bool,
    /// Why it could not be started, from the adapter.
    pub(crate) refusal: Option<Value>,
    pub(crate) breakpoints: BreakpointTable,
    /// Whether the stream of messages has ended.
    pub(crate) is_disconnected: bool,
    output: OutputLog,
    reported_bytes: u64,
    adapter_stderr: Vec<u8>,
}

/// The same, for everyone who tells and asks.
#[derive(Debug)]
pub(crate) struct SharedDebugState {
    state: Mutex<DebugState>,
    changed: watch::Sender<u64>,
}

impl SharedDebugState {
    pub(crate) fn new(breakpoints: BreakpointTable) -> Self {
        let state = DebugState {
            phase: DebuggeePhase::Starting,
            exit_code: None,
            is_initialized: false,
            refusal: None,
            breakpoints,
            is_disconnected: false,
            output: OutputLog::new(None),
            reported_bytes: 0,
            adapter_stderr: Vec::new(),
        };
        Self { state: Mutex::new(state), changed: watch::Sender::new(0) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, DebugState> {
        self.state.lock()
    }

    /// Changes what is known, and lets everyone know.
    pub(crate) fn update(&self, change: impl FnOnce(&mut DebugState)) {
        change(&mut self.lock());
        self.changed.send_modify(|count| *count += 1);
    }

    /// Waits until something is known.
    pub(crate) async fn wait_until<T>(&self, mut known: impl FnMut(&DebugState) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            changed.borrow_and_update();
            if let Some(known) = known(&self.lock()) {
                return known;
            }
            // The sender lives as long as this.
            let _ = changed.changed().await;
        }
    }
}

impl DebugState {
    /// Takes an event of the adapter.
    pub(crate) fn handle_event(&mut self, name: &str, body: &Value) {
        match name {
            "initialized" => self.is_initialized = true,
            "stopped" => self.on_stopped(body),
            "continued" => {
                if matches!(self.phase, DebuggeePhase::Stopped(_)) {
                    self.phase = DebuggeePhase::Running;
                }
            }
            "output" => self.on_output(body),
            "breakpoint" => {
                if let Some(told) = body.get("breakpoint") {
                    self.breakpoints.update(told);
                }
            }
            "exited" => {
                self.exit_code = body.get("exitCode").and_then(Value::as_i64);
                self.phase = DebuggeePhase::Ended;
            }
            "hermes/refused" => self.refusal = Some(body.clone()),
            _ => {}
        }
    }

    fn on_stopped(&mut self, body: &Value) {
        // Of several threads the first is shown.
        if matches!(self.phase, DebuggeePhase::Stopped(_) | DebuggeePhase::Ended) {
            return;
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let hits = body.get("hitBreakpointIds").and_then(Value::as_array);
        let hits: Vec<i64> = hits.into_iter().flatten().filter_map(Value::as_i64).collect();
        self.phase = DebuggeePhase::Stopped(StopEvent {
            reason: text("reason").unwrap_or_else(|| "unknown".to_owned()),
            text: text("description").or_else(|| text("text")),
            note: text("note"),
            thread: body.get("threadId").and_then(Value::as_i64).unwrap_or(1),
            breakpoints: self.breakpoints.record_hits(&hits),
        });
    }

    fn on_output(&mut self, body: &Value) {
        let Some(text) = body.get("output").and_then(Value::as_str) else { return };
        match body.get("category").and_then(Value::as_str) {
            Some("stderr" | "important") => self.output.push(OutputStream::Stderr, text.as_bytes()),
            Some("stdout") => self.output.push(OutputStream::Stdout, text.as_bytes()),
            Some("telemetry") => {}
            // What the debugger itself has to say.
            _ => self.append_stderr(text.as_bytes()),
        }
    }

    /// Keeps the end of what the adapter complains of.
    pub(crate) fn append_stderr(&mut self, bytes: &[u8]) {
        self.adapter_stderr.extend_from_slice(bytes);
        let over = self.adapter_stderr.len().saturating_sub(MAX_STDERR_BYTES);
        self.adapter_stderr.drain(..over);
    }

    pub(crate) fn adapter_stderr(&self) -> String {
        hermes_exec::output::clean(&self.adapter_stderr).trim().to_owned()
    }

    /// What was printed since this was last asked, at most so many bytes.
    pub(crate) fn take_output(&mut self, most: usize) -> ProgramOutput {
        let start = self.reported_bytes.max(self.output.len().saturating_sub(most as u64));
        let piece = self.output.read_from(start, most);
        let skipped = piece.from.saturating_sub(self.reported_bytes);
        self.reported_bytes = piece.next.max(start);
        ProgramOutput { text: hermes_exec::output::clean(&piece.bytes), skipped_bytes: skipped }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
