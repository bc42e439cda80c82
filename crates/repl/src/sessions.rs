//! All interpreters of a program, by the session that they belong to and the
//! name that they were given.

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

/// What is said of pictures that were drawn in another place.
const REMOTE_IMAGES_NOTE: &str = "The files are on the machine of hermes: read_file shows them, programs over \
                    there do not see them.";

/// What of the environment of this program may be passed on.
pub type EnvProvider = fn() -> Vec<(String, String)>;

/// All interpreters of a program.
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

/// A place for an interpreter, whether there is one or not.
#[derive(Debug, Default)]
struct InterpreterSlot {
    /// Whoever holds it asks.
    turn: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    running: Option<Arc<InterpreterProcess>>,
    /// What has become of the last one, for whoever comes next.
    end_note: Option<String>,
    /// How many questions there were.
    runs: u64,
    /// How many calls are at it, one of which may be starting an interpreter.
    calls: usize,
}

/// A slot that a call is at: as long as this lasts it counts among those that
/// are in use.
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

/// A piece of code for an interpreter.
#[derive(Debug)]
pub struct RunRequest {
    /// Its language.
    pub language: ReplLanguage,
    /// The name of the interpreter.
    pub name: String,
    /// The code.
    pub code: String,
    /// Whether it is JavaScript with types.
    pub typescript: bool,
    /// Whether it was judged by what the interpreter knows, and must not be run
    /// by another one.
    pub needs_state: bool,
    /// How long it may take; none is the usual time.
    pub timeout: Option<Duration>,
    /// The file of an SQL session; none is memory.
    pub database: Option<PathBuf>,
    /// Where it runs.
    pub jobs: Arc<JobRegistry>,
    /// How much it may use.
    pub limits: Arc<ReplLimits>,
    /// What of the environment of this program may be passed on.
    pub own_env: EnvProvider,
}

/// An interpreter, for whoever wants to know what there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedInterpreter {
    /// Its name.
    pub session: String,
    /// Its language.
    pub language: ReplLanguage,
    /// Whether it is running code.
    pub busy: bool,
    /// Its version and program.
    pub interpreter: String,
    /// The file of an SQL session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<PathBuf>,
    /// Its process, if it is one of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Seconds since it was last used.
    pub idle_seconds: u64,
    /// How many pieces of code it was given.
    pub count: u64,
}

/// What became of an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptOutcome {
    /// The code has stopped.
    Stopped,
    /// Nothing was running.
    Idle,
    /// The code does not care.
    Ignored,
}

impl InterpreterPool {
    /// Runs a piece of code. Those for one interpreter take turns.
    pub async fn run(&self, ask: RunRequest, cx: &ToolContext) -> Result<ReplResult, ToolError> {
        let key = InterpreterKey {
            session: cx.session.id().to_owned(),
            language: ask.language,
            name: ask.name.clone(),
        };
        let claim = self.claim(&key, ask.limits.sessions)?;
        let mut cx = cx.clone();
        let inner = cx.cancel.child_token();
        // If nobody waits for the answer any more, the code is to stop.
        let _guard = inner.clone().drop_guard();
        cx.cancel = inner;
        let task = tokio::spawn(async move { Arc::clone(&claim.0).run(ask, &key, &cx).await });
        task.await.map_err(|error| ToolError::internal(format!("The call broke off: {error}")))?
    }

    /// The slot of an interpreter, which is in use from now on: to start one takes
    /// a while, and others must not take its place.
    fn claim(&self, key: &InterpreterKey, most: usize) -> Result<SlotClaim, ToolError> {
        let mut table = self.slots.lock();
        if !table.get(key).is_some_and(|slot| slot.is_used()) {
            let own = table.iter().filter(|(other, _)| other.session == key.session);
            let used: Vec<String> = own
                .filter(|(_, slot)| slot.is_used())
                .map(|(other, _)| format!("{} {}", other.language.name(), other.name))
                .collect();
            if used.len() >= most {
                let message = format!("There are {} interpreters already", used.len());
                return Err(ToolError::limit(message).with_hint(format!(
                    "Close one of them (action=close) or use one: {}.",
                    used.join(", ")
                )));
            }
        }
        Ok(SlotClaim::new(Arc::clone(table.entry(key.clone()).or_default())))
    }

    /// Those of a session that run.
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
        // A shell does not hear an interrupt between two programs.
        let pause = if language == ReplLanguage::Bash { INTERRUPT_RETRY_INTERVAL } else { grace };
        let until = Instant::now() + grace;
        loop {
            interpreter.interrupt_run(before).await;
            let wait = pause.min(until.saturating_duration_since(Instant::now()));
            let done = tokio::time::timeout(wait, slot.turn.lock()).await.is_ok();
            // Another question may have come in between.
            if done || slot.state.lock().runs != before {
                return Ok(InterruptOutcome::Stopped);
            }
            if Instant::now() >= until {
                return Ok(InterruptOutcome::Ignored);
            }
        }
    }

    /// Ends an interpreter; whether there was one.
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

    /// Ends all of them.
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

    /// Whether there is an interpreter, or may be one in a moment.
    fn is_used(&self) -> bool {
        self.state.lock().calls > 0 || self.running().is_some()
    }

    /// The interpreter, if there is one and it runs.
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
        let folder = image_dir(&ask.jobs, key);
        let left = until.saturating_duration_since(Instant::now());
        let question = CodeRequest {
            id,
            code: &ask.code,
            typescript: ask.typescript,
            // The start of an interpreter is not the fault of the code.
            timeout: left.max(timeout / 2),
            limits: &ask.limits,
            image_dir: &folder,
        };
        let mut answer = interpreter.execute(&question, cx).await;
        notes.append(&mut answer.notes);
        if !answer.images.is_empty() && !ask.jobs.backend().is_local() {
            notes.push(REMOTE_IMAGES_NOTE.to_owned());
        }
        answer.notes = notes;
        if interpreter.exit_status().is_some() {
            // It is told in this answer.
            self.state.lock().running = None;
        }
        Ok(answer)
    }

    /// The interpreter, which is started if need be.
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
            let message = "The interpreter has ended, and with it what earlier calls defined";
            return Err(ToolError::conflict(message)
                .with_hint("Nothing was run. Define it anew, or make the call again without it."));
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

    /// Ends an interpreter that nobody uses.
    async fn end_when_idle(self: Arc<Self>, interpreter: Arc<InterpreterProcess>, most: Duration) {
        loop {
            let left = most.saturating_sub(interpreter.idle_time());
            tokio::select! {
                _ = interpreter.wait_exit() => return,
                () = tokio::time::sleep(left.max(Duration::from_millis(10))) => {}
            }
            let Ok(_turn) = self.turn.try_lock() else {
                // Whoever uses it says so at the end.
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
                "The interpreter was not used for {} and was ended; this is a new one, without the earlier state.",
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
                "Give another 'session' for the other database, or ATTACH it, or close this one.",
            ))
        }
        _ => Ok(()),
    }
}

/// Where the pictures of an interpreter go.
fn image_dir(jobs: &JobRegistry, key: &InterpreterKey) -> PathBuf {
    let own = format!("{}-{}", key.language.name(), path_component(&key.name));
    jobs.directory().join("repl").join(path_component(&key.session)).join(own)
}
