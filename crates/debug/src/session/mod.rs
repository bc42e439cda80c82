//! One debugged program, from start to end.

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

/// Timeout of a request to the adapter.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the program has to exit on its own.
const END_GRACE: Duration = Duration::from_secs(2);

/// Where and how a program is started.
#[derive(Debug, Clone)]
pub struct LaunchContext<'a> {
    /// The registry that starts it.
    pub jobs: &'a JobRegistry,
    /// Its confinement.
    pub confinement: Option<Arc<Confinement>>,
    /// The session that it belongs to.
    pub owner: &'a str,
}

/// How to resume a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeKind {
    /// Run to the next stop.
    Continue,
    /// Step to the next line, over calls.
    Over,
    /// Step into a call.
    Into,
    /// Step out to the caller.
    Out,
}

/// The status of a debugged program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebuggeeStatus {
    /// It has stopped.
    Stopped(StopEvent),
    /// It has ended, with this exit code if known.
    Ended(Option<i64>),
    /// It is still running.
    Running,
}

/// A debugged program.
#[derive(Debug)]
pub struct DebugSession {
    /// Its name.
    pub id: String,
    /// The session that it belongs to.
    pub owner: String,
    /// How it was launched.
    pub launch: LaunchConfig,
    /// The debugger detected for it.
    pub debugger: DetectedDebugger,
    /// Serializes calls.
    pub call_lock: tokio::sync::Mutex<()>,
    client: Arc<DapClient>,
    state: Arc<SharedDebugState>,
    control: Arc<dyn ProcessControl>,
    frames: Mutex<Vec<StackFrame>>,
    last_used: Mutex<Instant>,
    end_reason: OnceLock<&'static str>,
}

impl DebugSession {
    /// Waits until the program stops or ends.
    ///
    /// # Errors
    /// If the call is cancelled.
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

    /// Whether the program has stopped at a deliberate exit, which older
    /// debugpy versions report as an exception.
    async fn is_intentional_exit(&self) -> bool {
        const SYSTEM_EXIT: &str = "SystemExit";
        let asked = |name: &str| self.launch.stop_on.iter().any(|one| one == name);
        self.debugger.adapter == DebugAdapter::Debugpy
            && !asked(SYSTEM_EXIT)
            && !asked("raised")
            && self.exception().await.is_some_and(|one| one.kind == SYSTEM_EXIT)
    }

    /// Returns the current status.
    pub fn status(&self) -> DebuggeeStatus {
        let state = self.state.lock();
        match &state.phase {
            DebuggeePhase::Stopped(stop) => DebuggeeStatus::Stopped(stop.clone()),
            DebuggeePhase::Ended => DebuggeeStatus::Ended(state.exit_code),
            DebuggeePhase::Starting | DebuggeePhase::Running => DebuggeeStatus::Running,
        }
    }

    /// Resumes the program.
    ///
    /// # Errors
    /// If the program has not stopped.
    pub async fn resume(&self, step: ResumeKind) -> Result<(), ToolError> {
        let stop = self.require_stopped()?;
        let command = match step {
            ResumeKind::Continue => "continue",
            ResumeKind::Over => "next",
            ResumeKind::Into => "stepIn",
            ResumeKind::Out => "stepOut",
        };
        // The next stop event may arrive before the response.
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
                Err(fault.into_tool_error("The program cannot be resumed"))
            }
        }
    }

    /// Pauses the program.
    ///
    /// # Errors
    /// If the debugger refuses.
    pub async fn pause(&self) -> Result<(), ToolError> {
        let failed = |fault: DapError| fault.into_tool_error("The program cannot be paused");
        let thread = self.first_thread().await.map_err(failed)?;
        let asked =
            self.client.request("pause", json!({ "threadId": thread }), REQUEST_TIMEOUT).await;
        asked.map(|_| ()).map_err(failed)
    }

    async fn first_thread(&self) -> Result<i64, DapError> {
        let answer = self.client.request("threads", json!({}), REQUEST_TIMEOUT).await?;
        let first = answer.pointer("/threads/0/id").and_then(Value::as_i64);
        first.ok_or_else(|| DapError::Refused("the program has no threads".to_owned()))
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

    /// Returns up to `most` bytes of output printed since the last call.
    pub fn take_output(&self, most: usize) -> ProgramOutput {
        self.state.lock().take_output(most)
    }

    /// Returns the adapter's stderr if it ended without reporting the program's
    /// exit code.
    pub fn adapter_stderr(&self) -> Option<String> {
        let state = self.state.lock();
        (state.is_disconnected && state.exit_code.is_none()).then(|| state.adapter_stderr())
    }

    /// Returns why hermes ended the program.
    pub fn end_reason(&self) -> Option<&'static str> {
        self.end_reason.get().copied()
    }

    pub(crate) fn set_end_reason(&self, reason: &'static str) {
        let _ = self.end_reason.set(reason);
    }

    /// Returns the time since the last use.
    pub(crate) fn idle_time(&self) -> Duration {
        self.last_used.lock().elapsed()
    }

    /// Marks the session as used.
    pub fn touch(&self) {
        *self.last_used.lock() = Instant::now();
    }

    /// Ends the program, the debugger, and all processes they started.
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
