//! One program under a debugger, from its start to its end.

mod begin;
mod looking;
mod points;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::{CancellationToken, Confinement, ToolError};
use hermes_exec::{ProcessControl, JobRegistry};
use serde_json::{Value, json};

use crate::adapter::{Adapter, Launch};
use crate::client::{Client, Fault};
use crate::look::Found;
use crate::stack::Frame;
use crate::state::{Phase, Printed, Shared, Stop};

/// How long an adapter may take to answer.
const ANSWER: Duration = Duration::from_secs(15);
/// How long the program has to go by itself.
const GRACE: Duration = Duration::from_secs(2);

/// Where a program is started.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// What starts it.
    pub jobs: &'a JobRegistry,
    /// What holds it.
    pub confinement: Option<Arc<Confinement>>,
    /// The session that it belongs to.
    pub owner: &'a str,
}

/// How a program goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
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
pub enum Met {
    /// It has stopped.
    Stopped(Stop),
    /// It has ended, with this code if that is known.
    Ended(Option<i64>),
    /// It still runs.
    Running,
}

/// A program under a debugger.
#[derive(Debug)]
pub struct Session {
    /// Its name.
    pub id: String,
    /// The session that it belongs to.
    pub owner: String,
    /// What was started.
    pub launch: Launch,
    /// What was found for it.
    pub found: Found,
    /// Calls come one after the other.
    pub gate: tokio::sync::Mutex<()>,
    client: Arc<Client>,
    shared: Arc<Shared>,
    control: Arc<dyn ProcessControl>,
    frames: Mutex<Vec<Frame>>,
    used: Mutex<Instant>,
    reason: OnceLock<&'static str>,
}

impl Session {
    /// Waits until it stops or ends.
    ///
    /// # Errors
    /// If whoever waits is called away.
    pub async fn wait(&self, until: Instant, cancel: &CancellationToken) -> Result<Met, ToolError> {
        loop {
            let met = self.shared.wait(|state| match &state.phase {
                Phase::Stopped(stop) => Some(Met::Stopped(stop.clone())),
                Phase::Ended => Some(Met::Ended(state.exit_code)),
                Phase::Starting | Phase::Running => None,
            });
            let met = tokio::select! {
                biased;
                met = met => met,
                () = cancel.cancelled() => return Err(ToolError::cancelled()),
                () = tokio::time::sleep_until(until.into()) => return Ok(Met::Running),
            };
            match self.is_plain_exit().await {
                true => self.go(Step::Continue).await?,
                false => return Ok(met),
            }
        }
    }

    /// Whether it has stopped because it ends on purpose, which older versions
    /// of debugpy take for an exception.
    async fn is_plain_exit(&self) -> bool {
        const EXIT: &str = "SystemExit";
        let asked = |name: &str| self.launch.stop_on.iter().any(|one| one == name);
        self.found.adapter == Adapter::Debugpy
            && !asked(EXIT)
            && !asked("raised")
            && self.exception().await.is_some_and(|one| one.kind == EXIT)
    }

    /// What it is doing.
    pub fn now(&self) -> Met {
        let state = self.shared.look();
        match &state.phase {
            Phase::Stopped(stop) => Met::Stopped(stop.clone()),
            Phase::Ended => Met::Ended(state.exit_code),
            Phase::Starting | Phase::Running => Met::Running,
        }
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// If it has not stopped.
    pub async fn go(&self, step: Step) -> Result<(), ToolError> {
        let stop = self.stopped()?;
        let command = match step {
            Step::Continue => "continue",
            Step::Over => "next",
            Step::Into => "stepIn",
            Step::Out => "stepOut",
        };
        // The next stop may be told before the answer.
        self.shared.change(|state| state.phase = Phase::Running);
        self.frames().clear();
        let asked = self.client.ask(command, json!({ "threadId": stop.thread }), ANSWER).await;
        match asked {
            Ok(_) | Err(Fault::Gone) => Ok(()),
            Err(fault) => {
                self.shared.change(|state| {
                    if state.phase == Phase::Running {
                        state.phase = Phase::Stopped(stop);
                    }
                });
                Err(fault.into_error("It cannot go on"))
            }
        }
    }

    /// Asks it to stop where it is.
    ///
    /// # Errors
    /// If the debugger refuses.
    pub async fn pause(&self) -> Result<(), ToolError> {
        let failed = |fault: Fault| fault.into_error("It cannot be paused");
        let thread = self.thread().await.map_err(failed)?;
        let asked = self.client.ask("pause", json!({ "threadId": thread }), ANSWER).await;
        asked.map(|_| ()).map_err(failed)
    }

    async fn thread(&self) -> Result<i64, Fault> {
        let answer = self.client.ask("threads", json!({}), ANSWER).await?;
        let first = answer.pointer("/threads/0/id").and_then(Value::as_i64);
        first.ok_or_else(|| Fault::Refused("it has no thread".to_owned()))
    }

    fn stopped(&self) -> Result<Stop, ToolError> {
        match self.now() {
            Met::Stopped(stop) => Ok(stop),
            Met::Running => Err(ToolError::conflict("The program is running")
                .with_hint("Wait for it with action 'continue', or stop it with 'pause'.")),
            Met::Ended(_) => Err(ToolError::conflict("The program has ended")
                .with_hint("Run it again with action 'restart'.")),
        }
    }

    /// What it printed since this was last asked, at most so many bytes.
    pub fn printed(&self, most: usize) -> Printed {
        self.shared.look().printed(most)
    }

    /// What the debugger has complained of, if it has ended without telling
    /// how the program did.
    pub fn complaint(&self) -> Option<String> {
        let state = self.shared.look();
        (state.is_gone && state.exit_code.is_none()).then(|| state.complaint())
    }

    /// Why we have ended it.
    pub fn reason(&self) -> Option<&'static str> {
        self.reason.get().copied()
    }

    pub(crate) fn note_reason(&self, reason: &'static str) {
        let _ = self.reason.set(reason);
    }

    /// For how long nobody has asked for it.
    pub(crate) fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Somebody has asked for it.
    pub fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Ends the program, the debugger, and all that they have started.
    pub async fn end(&self) {
        if self.found.adapter.is_native() && !self.shared.look().is_gone {
            let asked = json!({ "terminateDebuggee": true });
            let _ = self.client.ask("disconnect", asked, GRACE).await;
        }
        self.client.close().await;
        self.control.terminate(GRACE).await;
        self.shared.change(|state| state.phase = Phase::Ended);
    }

    fn frames(&self) -> MutexGuard<'_, Vec<Frame>> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let control = Arc::clone(&self.control);
            runtime.spawn(async move { control.terminate(GRACE).await });
        }
    }
}
