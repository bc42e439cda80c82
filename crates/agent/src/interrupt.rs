//! Stopping an agent, and telling it something while it works.

use std::sync::Arc;

use hermes_core::CancellationToken;
use hermes_llm::ContentPart;
use parking_lot::{Mutex, MutexGuard};

/// How much is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptScope {
    /// The calls under way, or the answer; the model may go on.
    Calls,
    /// The turn.
    Turn,
}

/// A handle on a turn that runs, for whoever wants to stop or steer it.
#[derive(Debug, Clone, Default)]
pub struct InterruptHandle {
    inner: Arc<Mutex<InterruptState>>,
}

#[derive(Debug, Default)]
struct InterruptState {
    calls: Option<CancellationToken>,
    turn: CancellationToken,
    queued_input: Vec<ContentPart>,
}

impl InterruptHandle {
    /// Stops the calls under way if there are any, else the turn; asked a
    /// second time, the turn in any case. What was stopped.
    pub fn stop(&self) -> InterruptScope {
        let inner = self.lock();
        match &inner.calls {
            Some(calls) if !calls.is_cancelled() => {
                calls.cancel();
                InterruptScope::Calls
            }
            _ => {
                inner.turn.cancel();
                InterruptScope::Turn
            }
        }
    }

    /// Stops the turn, and what it has under way.
    pub fn stop_turn(&self) {
        self.lock().turn.cancel();
    }

    /// Says something to the model, which it gets with the next result: text,
    /// and pictures that go with it.
    pub fn queue_input(&self, said: impl IntoIterator<Item = ContentPart>) {
        self.lock().queued_input.extend(said);
    }

    /// Set when the turn is stopped.
    pub fn turn_token(&self) -> CancellationToken {
        self.lock().turn.clone()
    }

    /// A new turn begins.
    pub(crate) fn begin_turn(&self, within: Option<&CancellationToken>) {
        let mut inner = self.lock();
        inner.turn = within.map_or_else(CancellationToken::new, CancellationToken::child_token);
        inner.calls = None;
    }

    /// Calls begin; set when they are to stop.
    pub(crate) fn begin_calls(&self) -> CancellationToken {
        let mut inner = self.lock();
        let calls = inner.turn.child_token();
        inner.calls = Some(calls.clone());
        calls
    }

    /// The calls are through.
    pub(crate) fn end_calls(&self) {
        self.lock().calls = None;
    }

    /// What was said since this was last asked.
    pub(crate) fn take_queued_input(&self) -> Option<Vec<ContentPart>> {
        let said = std::mem::take(&mut self.lock().queued_input);
        (!said.is_empty()).then_some(said)
    }

    fn lock(&self) -> MutexGuard<'_, InterruptState> {
        self.inner.lock()
    }
}
