//! The state of a debugged program, built from the events of its adapter.

use parking_lot::{Mutex, MutexGuard};

use hermes_exec::output::{OutputLog, OutputStream};
use serde_json::Value;
use tokio::sync::watch;

use crate::breakpoints::BreakpointTable;

/// How much of the adapter's stderr is kept.
const MAX_STDERR_BYTES: usize = 4 * 1024;

/// Why and where a program has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopEvent {
    /// The reason, as the protocol names it.
    pub reason: String,
    /// The adapter's description.
    pub text: Option<String>,
    /// An additional note.
    pub note: Option<String>,
    /// The thread.
    pub(crate) thread: i64,
    /// The ids of the breakpoints that were hit.
    pub breakpoints: Vec<u64>,
}

/// Output printed since the last call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramOutput {
    /// The end of the output.
    pub text: String,
    /// Number of bytes omitted before it.
    pub skipped_bytes: u64,
}

/// The phase of a debugged program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DebuggeePhase {
    Starting,
    Running,
    Stopped(StopEvent),
    Ended,
}

/// The state of a debugged program.
#[derive(Debug)]
pub(crate) struct DebugState {
    pub(crate) phase: DebuggeePhase,
    pub(crate) exit_code: Option<i64>,
    pub(crate) is_initialized: bool,
    /// Why the program could not be started, as the adapter reports it.
    pub(crate) refusal: Option<Value>,
    pub(crate) breakpoints: BreakpointTable,
    /// Whether the message stream has ended.
    pub(crate) is_disconnected: bool,
    output: OutputLog,
    reported_bytes: u64,
    adapter_stderr: Vec<u8>,
}

/// The shared state, with change notification.
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

    /// Changes the state, and notifies all waiters.
    pub(crate) fn update(&self, change: impl FnOnce(&mut DebugState)) {
        change(&mut self.lock());
        self.changed.send_modify(|count| *count += 1);
    }

    /// Waits until `known` returns a value.
    pub(crate) async fn wait_until<T>(&self, mut known: impl FnMut(&DebugState) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            changed.borrow_and_update();
            if let Some(known) = known(&self.lock()) {
                return known;
            }
            // The sender lives as long as `self`.
            let _ = changed.changed().await;
        }
    }
}

impl DebugState {
    /// Handles an event of the adapter.
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
                if let Some(shown) = body.get("breakpoint") {
                    self.breakpoints.update(shown);
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
        // If several threads stop, the first one is reported.
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
            // Messages of the debugger itself.
            _ => self.append_stderr(text.as_bytes()),
        }
    }

    /// Appends to the adapter's stderr, keeping its end.
    pub(crate) fn append_stderr(&mut self, bytes: &[u8]) {
        self.adapter_stderr.extend_from_slice(bytes);
        let over = self.adapter_stderr.len().saturating_sub(MAX_STDERR_BYTES);
        self.adapter_stderr.drain(..over);
    }

    pub(crate) fn adapter_stderr(&self) -> String {
        hermes_exec::output::clean(&self.adapter_stderr).trim().to_owned()
    }

    /// Returns up to `most` bytes of output printed since the last call.
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
