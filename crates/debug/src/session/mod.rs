//! One program under a debugger, from its start to its end.

mod breakpoints;
mod inspect;
mod start;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hermes_core::{CancellationToken, Confinement, ToolError};
use hermes_exec::{JobRegistry, ProcessControl};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::adapter::{DebugAdapter, LaunchConfig};
use crate::client::{DapClient, DapError};
use crate::detect::DetectedDebugger;
use crate::stack::StackFrame;
use crate::state::{DebuggeePhase, ProgramOutput, SharedDebugState, StopEvent};

/// How long an adapter may take to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the program has to go by itself.
const END_GRACE: Duration = Duration::from_secs(2);

/// Where a program is started.
#[derive(Debug, Clone)]
pub struct LaunchContext<'a> {
    /// What starts it.
    pub jobs: &'a JobRegistry,
    /// What holds it.
    pub confinement: Option<Arc<Confinement>>,
    /// The session that it belongs to.
    pub owner: &'a str,
}

/// How a program goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeKind {
    /// To the next stop.
    Continue,
    /// To the next line, over calls.
    Over,
    /// Into a call.
    Into,
    /// To the caller.
    Out,
}

/// What a program that was waited for has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebuggeeStatus {
    /// It has stopped.
    Stopped(StopEvent),
    /// It has ended, with this code if that is known.
    Ended(Option<i64>),
    /// It still runs.
    Running,
}

/// A program under a debugger.
#[derive(Debug)]
pub struct DebugSession {
    /// Its name.
    pub id: String,
    /// The session that it belongs to.
    pub owner: String,
    /// What was started.
    pub launch: LaunchConfig,
    /// What was found for it.
    pub debugger: DetectedDebugger,
    /// Calls come one after the other.
    pub call_lock: tokio::sync::Mutex<()>,
    client: Arc<DapClient>,
    state: Arc<SharedDebugState>,
    control: Arc<dyn ProcessControl>,
    frames: Mutex<Vec<StackFrame>>,
    last_used: Mutex<Instant>,
    end_reason: OnceLock<&'static str>,
}

impl DebugSession {
    /// Waits until it stops or ends.
    ///
    /// # Errors
    /// If whoever waits is called away.
    pub async fn wait(
        &self,
        until: Instant,
        cancel: &CancellationToken,
    ) -> Result<DebuggeeStatus, ToolError> {
        loop {
            let met = self.state.wait_until(|state| match &state.phase {
                DebuggeePhase::Stopped(stop) => Some(DebuggeeStatus::Stopped(stop.clone())),
                DebuggeePhase::Ended => Some(DebuggeeStatus::Ended(state.exit_code)),
                DebuggeePhase::Starting | DebuggeePhase::Running => None,
            });
            let met = tokio::select! {
                biased;
                met = met => met,
                () = cancel.cancelled() => return Err(ToolError::cancelled()),
                () = tokio::time::sleep_until(until.into()) => return Ok(DebuggeeStatus::Running),
            };
            match self.is_intentional_exit().await {
                true => self.resume(ResumeKind::Continue).await?,
                false => return Ok(met),
            }
        }
    }

    /// Whether it has stopped because it ends on purpose, which older versions
    /// of debugpy take for an exception.
    async fn is_intentional_exit(&self) -> bool {
        const SYSTEM_EXIT: &str = "SystemExit";
        let asked = |name: &str| self.launch.stop_on.iter().any(|one| one == name);
        self.debugger.adapter == DebugAdapter::Debugpy
            && !asked(SYSTEM_EXIT)
            && !asked("raised")
            && self.exception().await.is_some_and(|one| one.kind == SYSTEM_EXIT)
    }

    /// What it is doing.
    pub fn status(&self) -> DebuggeeStatus {
        let state = self.state.lock();
        match &state.phase {
            DebuggeePhase::Stopped(stop) => DebuggeeStatus::Stopped(stop.clone()),
            DebuggeePhase::Ended => DebuggeeStatus::Ended(state.exit_code),
            DebuggeePhase::Starting | DebuggeePhase::Running => DebuggeeStatus::Running,
        }
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// If it has not stopped.
    pub async fn resume(&self, step: ResumeKind) -> Result<(), ToolError> {
        let stop = self.require_stopped()?;
        let command = match step {
            ResumeKind::Continue => "continue",
            ResumeKind::Over => "next",
            ResumeKind::Into => "stepIn",
            ResumeKind::Out => "stepOut",
        };
        // The next stop may be told before the answer.
        self.state.update(|state| state.phase = DebuggeePhase::Running);
        self.frames().clear();
        let asked =
            self.client.request(command, json!({ "threadId": stop.thread }), REQUEST_TIMEOUT).await;
        match asked {
            Ok(_) | Err(DapError::Disconnected) => Ok(()),
            Err(fault) => {
                self.state.update(|state| {
                    if state.phase == DebuggeePhase::Running {
                        state.phase = DebuggeePhase::Stopped(stop);
                    }
                });
                Err(fault.into_tool_error("It cannot go on"))
            }
        }
    }

    /// Asks it to stop where it is.
    ///
    /// # Errors
    /// If the debugger refuses.
    pub async fn pause(&self) -> Result<(), ToolError> {
        let failed = |fault: DapError| fault.into_tool_error("It cannot be paused");
        let thread = self.first_thread().await.map_err(failed)?;
        let asked =
            self.client.request("pause", json!({ "threadId": thread }), REQUEST_TIMEOUT).await;
        asked.map(|_| ()).map_err(failed)
    }

    async fn first_thread(&self) -> Result<i64, DapError> {
        let answer = self.client.request("threads", json!({}), REQUEST_TIMEOUT).await?;
        let first = answer.pointer("/threads/0/id").and_then(Value::as_i64);
        first.ok_or_else(|| DapError::Refused("it has no thread".to_owned()))
    }

    fn require_stopped(&self) -> Result<StopEvent, ToolError> {
        match self.status() {
            DebuggeeStatus::Stopped(stop) => Ok(stop),
            DebuggeeStatus::Running => Err(ToolError::conflict("The program is running")
                .with_hint("Wait for it with action 'continue', or stop it with 'pause'.")),
            DebuggeeStatus::Ended(_) => Err(ToolError::conflict("The program has ended")
                .with_hint("Run it again with action 'restart'.")),
        }
    }

    /// What it printed since this was last asked, at most so many bytes.
    pub fn take_output(&self, most: usize) -> ProgramOutput {
        self.state.lock().take_output(most)
    }

    /// What the debugger has complained of, if it has ended without telling
    /// how the program did.
    pub fn adapter_stderr(&self) -> Option<String> {
        let state = self.state.lock();
        (state.is_disconnected && state.exit_code.is_none()).then(|| state.adapter_stderr())
    }

    /// Why we have ended it.
    pub fn end_reason(&self) -> Option<&'static str> {
        self.end_reason.get().copied()
    }

    pub(crate) fn set_end_reason(&self, reason: &'static str) {
        let _ = self.end_reason.set(reason);
    }

    /// For how long nobody has asked for it.
    pub(crate) fn idle_time(&self) -> Duration {
        self.last_used.lock().elapsed()
    }

    /// Somebody has asked for it.
    pub fn touch(&self) {
        *self.last_used.lock() = Instant::now();
    }

    /// Ends the program, the debugger, and all that they have started.
    pub async fn end(&self) {
        if self.debugger.adapter.is_native() && !self.state.lock().is_disconnected {
            let asked = json!({ "terminateDebuggee": true });
            let _ = self.client.request("disconnect", asked, END_GRACE).await;
        }
        self.client.close().await;
        self.control.terminate(END_GRACE).await;
        self.state.update(|state| state.phase = DebuggeePhase::Ended);
    }

    fn frames(&self) -> MutexGuard<'_, Vec<StackFrame>> {
        self.frames.lock()
    }
}

impl Drop for DebugSession {
    fn drop(&mut self) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let control = Arc::clone(&self.control);
            runtime.spawn(async move { control.terminate(END_GRACE).await });
        }
    }
}
