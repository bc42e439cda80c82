//! Stopping and steering a running agent.

use std::sync::Arc;

use hermes_core::CancellationToken;
use hermes_llm::ContentPart;
use parking_lot::{Mutex, MutexGuard};

/// What an interrupt stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptScope {
    /// The running calls; the model may continue.
    Calls,
    /// The whole turn.
    Turn,
}

/// Handle to stop or steer a running turn.
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
    /// Cancels the running calls if there are any, otherwise the turn. A second
    /// call always cancels the turn. Returns what was stopped.
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

    /// Cancels the turn and everything that runs in it.
    pub fn stop_turn(&self) {
        self.lock().turn.cancel();
    }

    /// Queues user input, text and images, which the model gets with the next
    /// result.
    pub fn queue_input(&self, said: impl IntoIterator<Item = ContentPart>) {
        self.lock().queued_input.extend(said);
    }

    /// Returns the token that is cancelled when the turn is stopped.
    pub fn turn_token(&self) -> CancellationToken {
        self.lock().turn.clone()
    }

    /// Starts a new turn, cancelled together with `within`.
    pub(crate) fn begin_turn(&self, within: Option<&CancellationToken>) {
        let mut inner = self.lock();
        inner.turn = within.map_or_else(CancellationToken::new, CancellationToken::child_token);
        inner.calls = None;
    }

    /// Starts a batch of calls and returns the token that cancels them.
    pub(crate) fn begin_calls(&self) -> CancellationToken {
        let mut inner = self.lock();
        let calls = inner.turn.child_token();
        inner.calls = Some(calls.clone());
        calls
    }

    /// Marks the calls as finished.
    pub(crate) fn end_calls(&self) {
        self.lock().calls = None;
    }

    /// Takes the input queued since the last call.
    pub(crate) fn take_queued_input(&self) -> Option<Vec<ContentPart>> {
        let said = std::mem::take(&mut self.lock().queued_input);
        (!said.is_empty()).then_some(said)
    }

    fn lock(&self) -> MutexGuard<'_, InterruptState> {
        self.inner.lock()
    }
}
