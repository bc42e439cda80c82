//! All interpreters of this process, by session, language and name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{ErrorKind, ToolContext, ToolError};
use hermes_exec::{JobRegistry, KILL_GRACE, ProcessExit};
use parking_lot::Mutex;
use serde::Serialize;

use crate::exchange::{CodeRequest, INTERRUPT_RETRY_INTERVAL, describe_exit};
use crate::images::path_component;
use crate::interpreter::InterpreterProcess;
use crate::language::ReplLanguage;
use crate::limits::ReplLimits;
use crate::result::ReplResult;
use crate::sandbox_check;
use crate::start::InterpreterLauncher;

/// Note on images that were produced on a remote backend.
const REMOTE_IMAGES_NOTE: &str = "The files are on the machine that runs hermes: read_file can \
                    read them, remote commands cannot.";

/// Returns the variables of this process that children may inherit.
pub type EnvProvider = fn() -> Vec<(String, String)>;

/// Pool of all interpreters.
#[derive(Debug, Default)]
pub struct InterpreterPool {
    slots: Mutex<BTreeMap<InterpreterKey, Arc<InterpreterSlot>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct InterpreterKey {
    session: String,
    language: ReplLanguage,
    name: String,
}

/// A slot that may hold a running interpreter.
#[derive(Debug, Default)]
struct InterpreterSlot {
    /// Held by the call that is running code.
    turn: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    running: Option<Arc<InterpreterProcess>>,
    /// How the previous interpreter ended; reported by the next call.
    end_note: Option<String>,
    /// Number of runs so far.
    runs: u64,
    /// Number of calls using the slot; one of them may be starting an
    /// interpreter.
    calls: usize,
}

/// A claim on a slot, which counts as in use while the claim is alive.
#[derive(Debug)]
struct SlotClaim(Arc<InterpreterSlot>);

impl SlotClaim {
    fn new(slot: Arc<InterpreterSlot>) -> Self {
        slot.state.lock().calls += 1;
        Self(slot)
    }
}

impl Drop for SlotClaim {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.calls = state.calls.saturating_sub(1);
    }
}

/// A request to run code.
#[derive(Debug)]
pub struct RunRequest {
    /// Language of the code.
    pub language: ReplLanguage,
    /// The name of the interpreter.
    pub name: String,
    /// The code.
    pub code: String,
    /// Whether the code is TypeScript.
    pub typescript: bool,
    /// Whether the policy judged the code by the interpreter's state, so a new
    /// interpreter must not run it.
    pub needs_state: bool,
    /// Timeout; `None` uses the default.
    pub timeout: Option<Duration>,
    /// Database file of an SQL session; `None` means in-memory.
    pub database: Option<PathBuf>,
    /// Job registry of the backend that runs the interpreter.
    pub jobs: Arc<JobRegistry>,
    /// Limits of the interpreter.
    pub limits: Arc<ReplLimits>,
    /// Returns the variables of this process that the interpreter may inherit.
    pub own_env: EnvProvider,
}

/// Description of a running interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedInterpreter {
    /// Name of the interpreter.
    pub session: String,
    /// Its language.
    pub language: ReplLanguage,
    /// Whether it is running code.
    pub busy: bool,
    /// Version and program.
    pub interpreter: String,
    /// Database file of an SQL session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<PathBuf>,
    /// Process id, if the interpreter runs locally.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Seconds since it was last used.
    pub idle_seconds: u64,
    /// Number of runs.
    pub count: u64,
}

/// Outcome of an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptOutcome {
    /// The code stopped.
    Stopped,
    /// No code was running.
    Idle,
    /// The code ignored the interrupt.
    Ignored,
}

impl InterpreterPool {
    /// Runs code. Runs on the same interpreter are serialized.
    pub async fn run(&self, ask: RunRequest, cx: &ToolContext) -> Result<ReplResult, ToolError> {
        let key = InterpreterKey {
            session: cx.session.id().to_owned(),
            language: ask.language,
            name: ask.name.clone(),
        };
        let claim = self.claim(&key, ask.limits.sessions)?;
        let mut cx = cx.clone();
        let inner = cx.cancel.child_token();
        // Stops the code if the caller drops this future.
        let _guard = inner.clone().drop_guard();
        cx.cancel = inner;
        let task = tokio::spawn(async move { Arc::clone(&claim.0).run(ask, &key, &cx).await });
        task.await.map_err(|error| ToolError::internal(format!("The run task failed: {error}")))?
    }

    /// Claims the slot of an interpreter. The claim counts while the
    /// interpreter starts, so other calls cannot exceed the limit meanwhile.
    fn claim(&self, key: &InterpreterKey, most: usize) -> Result<SlotClaim, ToolError> {
        let mut table = self.slots.lock();
        if !table.get(key).is_some_and(|slot| slot.is_used()) {
            let own = table.iter().filter(|(other, _)| other.session == key.session);
            let used: Vec<String> = own
                .filter(|(_, slot)| slot.is_used())
                .map(|(other, _)| format!("{} {}", other.language.name(), other.name))
                .collect();
            if used.len() >= most {
                let message = format!("{} interpreters are already in use", used.len());
                return Err(ToolError::limit(message).with_hint(format!(
                    "Close one (action=close) or reuse one: {}.",
                    used.join(", ")
                )));
            }
        }
        Ok(SlotClaim::new(Arc::clone(table.entry(key.clone()).or_default())))
    }

    /// Lists the running interpreters of a session.
    pub fn list(&self, session: &str) -> Vec<ListedInterpreter> {
        let table = self.slots.lock();
        let own = table.iter().filter(|(key, _)| key.session == session);
        own.filter_map(|(key, slot)| {
            let interpreter = slot.running()?;
            Some(ListedInterpreter {
                session: key.name.clone(),
                language: key.language,
                busy: slot.is_busy(),
                interpreter: interpreter.describe(),
                database: interpreter.spec.database.clone(),
                pid: interpreter.pid,
                idle_seconds: interpreter.idle_time().as_secs(),
                count: slot.state.lock().runs,
            })
        })
        .collect()
    }

    /// Interrupts the code that an interpreter runs; its state is kept.
    pub async fn interrupt(
        &self,
        session: &str,
        language: ReplLanguage,
        name: &str,
        grace: Duration,
    ) -> Result<InterruptOutcome, ToolError> {
        let slot = self.find_slot(session, language, name)?;
        let Some(interpreter) = slot.running() else { return Ok(InterruptOutcome::Idle) };
        let before = slot.state.lock().runs;
        if !slot.is_busy() {
            return Ok(InterruptOutcome::Idle);
        }
        // bash may miss an interrupt between two programs, so it is repeated.
        let pause = if language == ReplLanguage::Bash { INTERRUPT_RETRY_INTERVAL } else { grace };
        let until = Instant::now() + grace;
        loop {
            interpreter.interrupt_run(before).await;
            let wait = pause.min(until.saturating_duration_since(Instant::now()));
            let done = tokio::time::timeout(wait, slot.turn.lock()).await.is_ok();
            // Another run may have started meanwhile.
            if done || slot.state.lock().runs != before {
                return Ok(InterruptOutcome::Stopped);
            }
            if Instant::now() >= until {
                return Ok(InterruptOutcome::Ignored);
            }
        }
    }

    /// Terminates an interpreter and returns whether one was running.
    pub async fn close(
        &self,
        session: &str,
        language: ReplLanguage,
        name: &str,
    ) -> Result<bool, ToolError> {
        let slot = self.find_slot(session, language, name)?;
        let living = slot.running();
        if let Some(interpreter) = &living {
            interpreter.terminate(KILL_GRACE).await;
        }
        let mut state = slot.state.lock();
        (state.running, state.end_note) = (None, None);
        Ok(living.is_some())
    }

    /// Terminates all interpreters.
    pub async fn close_all(&self) {
        let slots: Vec<_> = std::mem::take(&mut *self.slots.lock()).into_values().collect();
        let living = slots.iter().filter_map(|slot| slot.running());
        let ends = living.map(|interpreter| {
            tokio::spawn(async move { interpreter.terminate(KILL_GRACE).await })
        });
        for end in ends.collect::<Vec<_>>() {
            let _ = end.await;
        }
    }

    fn find_slot(
        &self,
        session: &str,
        language: ReplLanguage,
        name: &str,
    ) -> Result<Arc<InterpreterSlot>, ToolError> {
        let key = InterpreterKey { session: session.to_owned(), language, name: name.to_owned() };
        let found = self.slots.lock().get(&key).cloned();
        found.ok_or_else(|| {
            let all = self.list(session);
            let names = all.iter().map(|one| format!("{} {}", one.language.name(), one.session));
            let names: Vec<String> = names.collect();
            let hint = match names.as_slice() {
                [] => "None is running; action=run starts one.".to_owned(),
                names => format!("There are: {}.", names.join(", ")),
            };
            ToolError::not_found(format!("There is no {} session {name}", language.name()))
                .with_hint(hint)
        })
    }
}

impl InterpreterSlot {
    fn is_busy(&self) -> bool {
        self.turn.try_lock().is_err()
    }

    /// Whether an interpreter is running or may be starting.
    fn is_used(&self) -> bool {
        self.state.lock().calls > 0 || self.running().is_some()
    }

    /// Returns the interpreter if it is running.
    fn running(&self) -> Option<Arc<InterpreterProcess>> {
        self.state.lock().running.clone().filter(|interpreter| interpreter.exit_status().is_none())
    }

    async fn run(
        self: Arc<Self>,
        ask: RunRequest,
        key: &InterpreterKey,
        cx: &ToolContext,
    ) -> Result<ReplResult, ToolError> {
        let timeout = ask.timeout.unwrap_or(ask.limits.timeout).min(ask.limits.max_timeout);
        let until = Instant::now() + timeout;
        let turn = cx.run_until_cancelled(tokio::time::timeout(
            timeout,
            Arc::clone(&self.turn).lock_owned(),
        ));
        let Ok(_turn) = turn.await? else {
            let message =
                format!("{} {} is busy with an earlier call", key.language.name(), key.name);
            return Err(ToolError::new(ErrorKind::Timeout, message)
                .with_hint("The code was not run. action=interrupt stops what is running."));
        };
        let mut notes = Vec::new();
        let interpreter = self.ensure_running(&ask, key, cx, &mut notes).await?;
        let id = {
            let mut state = self.state.lock();
            state.runs += 1;
            state.runs
        };
        let dir = image_dir(&ask.jobs, key);
        let left = until.saturating_duration_since(Instant::now());
        let question = CodeRequest {
            id,
            code: &ask.code,
            typescript: ask.typescript,
            // A slow startup leaves the code at least half of the timeout.
            timeout: left.max(timeout / 2),
            limits: &ask.limits,
            image_dir: &dir,
        };
        let mut answer = interpreter.execute(&question, cx).await;
        notes.append(&mut answer.notes);
        if !answer.images.is_empty() && !ask.jobs.backend().is_local() {
            notes.push(REMOTE_IMAGES_NOTE.to_owned());
        }
        answer.notes = notes;
        if interpreter.exit_status().is_some() {
            // This result already reports the exit.
            self.state.lock().running = None;
        }
        Ok(answer)
    }

    /// Returns the interpreter, starting it if needed.
    async fn ensure_running(
        self: &Arc<Self>,
        ask: &RunRequest,
        key: &InterpreterKey,
        cx: &ToolContext,
        notes: &mut Vec<String>,
    ) -> Result<Arc<InterpreterProcess>, ToolError> {
        let known = self.state.lock().running.clone();
        if let Some(interpreter) = known {
            let confinement = interpreter.spec.confinement.as_deref();
            if let Some(exit) = interpreter.exit_status() {
                notes.push(exit_note(exit));
            } else if let Some(breach) =
                sandbox_check::find_breach(confinement, cx.confinement.as_deref(), |path| {
                    interpreter.predates(path)
                })
            {
                interpreter.terminate(KILL_GRACE).await;
                notes.push(breach.message());
            } else {
                check_database(&interpreter, ask)?;
                return Ok(interpreter);
            }
        }
        if ask.needs_state {
            self.state.lock().running = None;
            let message = "The interpreter has exited; what earlier calls defined is lost";
            return Err(ToolError::conflict(message).with_hint(
                "Nothing was run. Repeat the definitions, or call again without them.",
            ));
        }
        let start = InterpreterLauncher {
            language: ask.language,
            database: ask.database.clone(),
            jobs: &ask.jobs,
            limits: &ask.limits,
            own_env: ask.own_env,
            name: &key.name,
        };
        let interpreter = start.launch(cx).await?;
        let mut state = self.state.lock();
        notes.extend(state.end_note.take());
        state.running = Some(Arc::clone(&interpreter));
        drop(state);
        tokio::spawn(
            Arc::clone(self).end_when_idle(Arc::clone(&interpreter), ask.limits.idle_timeout),
        );
        Ok(interpreter)
    }

    /// Terminates an interpreter that has been idle for `most`.
    async fn end_when_idle(self: Arc<Self>, interpreter: Arc<InterpreterProcess>, most: Duration) {
        loop {
            let left = most.saturating_sub(interpreter.idle_time());
            tokio::select! {
                _ = interpreter.wait_exit() => return,
                () = tokio::time::sleep(left.max(Duration::from_millis(10))) => {}
            }
            let Ok(_turn) = self.turn.try_lock() else {
                // The running call resets the idle time when it ends.
                tokio::time::sleep(most.min(Duration::from_secs(1))).await;
                continue;
            };
            if interpreter.idle_time() < most {
                continue;
            }
            interpreter.terminate(KILL_GRACE).await;
            let mut state = self.state.lock();
            state.running = None;
            state.end_note = Some(format!(
                "The interpreter was idle for {} and was shut down; this is a new one, without \
                 the earlier state.",
                format_duration(most)
            ));
            return;
        }
    }
}

fn exit_note(exit: ProcessExit) -> String {
    format!(
        "The interpreter {} since the last call; this is a new one, without the earlier state.",
        describe_exit(exit)
    )
}

fn format_duration(time: Duration) -> String {
    match time.as_secs() {
        0..=119 => format!("{} s", time.as_secs_f64()),
        seconds => format!("{} minutes", seconds / 60),
    }
}

fn check_database(interpreter: &InterpreterProcess, ask: &RunRequest) -> Result<(), ToolError> {
    let own = interpreter.spec.database.as_deref();
    match ask.database.as_deref() {
        Some(wanted) if own != Some(wanted) => {
            let own = own.unwrap_or(Path::new(":memory:")).display();
            Err(ToolError::conflict(format!("The session {} is open on {own}", ask.name)).with_hint(
                "Use another 'session' for the other database, ATTACH it, or close this session.",
            ))
        }
        _ => Ok(()),
    }
}

/// Returns the directory for the images of an interpreter.
fn image_dir(jobs: &JobRegistry, key: &InterpreterKey) -> PathBuf {
    let own = format!("{}-{}", key.language.name(), path_component(&key.name));
    jobs.directory().join("repl").join(path_component(&key.session)).join(own)
}
