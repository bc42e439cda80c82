//! One program under a debugger, from its start to its end.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{CancellationToken, Confinement, ToolError};
use hermes_exec::leftovers::{self, Entry, Leftovers};
use hermes_exec::{Control, Input, Jobs, Order, Output, Started, tree};
use serde_json::{Value, json};

use crate::adapter::{Adapter, Launch};
use crate::breakpoints::{Breakpoint, Table, Wanted};
use crate::client::{Client, Fault};
use crate::look::Found;
use crate::stack::{self, Exception, Frame};
use crate::state::{Phase, Printed, Shared, Stop};
use crate::stream::Stream;
use crate::values::{Bounds, Reader, Variable};

/// How long an adapter may take to begin, and to answer.
const BEGIN: Duration = Duration::from_secs(60);
const ANSWER: Duration = Duration::from_secs(15);
/// How long an expression may take.
const EVALUATE: Duration = Duration::from_secs(60);
/// How long the program has to go by itself.
const GRACE: Duration = Duration::from_secs(2);
/// Frames that are asked for.
const FRAMES: u64 = 200;

/// Where a program is started.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// What starts it.
    pub jobs: &'a Jobs,
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
    control: Arc<dyn Control>,
    frames: Mutex<Vec<Frame>>,
    used: Mutex<Instant>,
    reason: OnceLock<&'static str>,
}

impl Session {
    /// Starts a program, which then runs.
    ///
    /// # Errors
    /// If it cannot be started, or not be debugged.
    pub async fn start(
        id: String,
        launch: Launch,
        found: Found,
        wanted: Vec<Wanted>,
        cx: Context<'_>,
    ) -> Result<Arc<Self>, ToolError> {
        let order = Order {
            program: found.tool.clone().into(),
            arguments: found.adapter.words(&launch),
            environment: launch.environment.clone(),
            directory: launch.folder.clone(),
            input: Input::Open,
            output: Output::Apart,
            confinement: cx.confinement.clone(),
        };
        let job = cx.jobs.fresh_id();
        let Started { pid, output, input, control, .. } =
            cx.jobs.backend().start(&job, order).await?;
        let failed = |error: std::io::Error| ToolError::io("The debugger's streams", &error);
        let input = input.ok_or_else(|| ToolError::internal("The debugger cannot be spoken to"))?;
        let output = output.into_iter().map(|(source, fd)| Ok((source, Stream::new(fd)?)));
        let output = output.collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
        let mut table = Table::default();
        wanted.into_iter().for_each(|wanted| {
            table.add(wanted);
        });
        let shared = Arc::new(Shared::new(table));
        let client = Client::new(Stream::new(input).map_err(failed)?, output, Arc::clone(&shared));
        let control: Arc<dyn Control> = Arc::from(control);
        let written = write_down(&job, pid, &launch, &cx);
        tokio::spawn(attend(Arc::clone(&control), Arc::clone(&shared), written));
        let session = Arc::new(Self {
            id,
            owner: cx.owner.to_owned(),
            launch,
            found,
            gate: tokio::sync::Mutex::default(),
            client,
            shared,
            control,
            frames: Mutex::default(),
            used: Mutex::new(Instant::now()),
            reason: OnceLock::new(),
        });
        if let Err(error) = session.begin().await {
            session.end().await;
            return Err(error);
        }
        Ok(session)
    }

    async fn begin(&self) -> Result<(), ToolError> {
        let adapter = self.found.adapter;
        let hello = json!({
            "clientID": "hermes",
            "adapterID": adapter.name(),
            "pathFormat": "path",
            "linesStartAt1": true,
            "columnsStartAt1": true,
            "supportsVariableType": true,
            "supportsRunInTerminalRequest": false,
        });
        let asked = self.client.ask("initialize", hello, BEGIN).await;
        asked.map_err(|fault| self.broken(fault))?;
        let launched = self.client.begin("launch", adapter.launch(&self.launch)).await;
        let mut launched = launched.map_err(|fault| self.broken(fault))?;
        let ready = self.shared.wait(|state| {
            (state.is_initialized || state.is_gone || state.refused.is_some()).then_some(())
        });
        // Some answer before that, some after all is said.
        let mut answer = None;
        let patience = tokio::time::sleep(BEGIN);
        tokio::pin!(ready, patience);
        loop {
            tokio::select! {
                () = &mut ready => break,
                told = &mut launched, if answer.is_none() => {
                    let is_well = matches!(told, Ok(Ok(_)));
                    answer = Some(told);
                    if !is_well {
                        break;
                    }
                }
                () = &mut patience => return Err(self.broken(Fault::Silent)),
            }
        }
        let is_lost = |answer: &Option<_>| !matches!(answer, None | Some(Ok(Ok(_))));
        if is_lost(&answer) || self.shared.look().is_gone || self.shared.look().refused.is_some() {
            let fault = match answer {
                Some(Ok(Err(reason))) => Fault::Refused(reason),
                _ => Fault::Gone,
            };
            return Err(self.broken(fault));
        }
        self.configure().await.map_err(|fault| self.broken(fault))?;
        if answer.is_none() {
            match tokio::time::timeout(BEGIN, launched).await {
                Ok(Ok(Err(reason))) => return Err(self.broken(Fault::Refused(reason))),
                Err(_) => return Err(self.broken(Fault::Silent)),
                // One that has ended already is no failure.
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Says where to stop, and lets the program run.
    async fn configure(&self) -> Result<(), Fault> {
        let adapter = self.found.adapter;
        let files = self.shared.look().breakpoints.files();
        for file in files {
            self.tell_file(&file).await?;
        }
        self.tell_functions().await?;
        let exceptions = adapter.exceptions(&self.launch.stop_on);
        match self.client.ask("setExceptionBreakpoints", exceptions, ANSWER).await {
            // An adapter that knows no such exceptions is still of use.
            Ok(_) | Err(Fault::Refused(_)) => {}
            Err(fault) => return Err(fault),
        }
        self.shared.change(|state| {
            if state.phase == Phase::Starting {
                state.phase = Phase::Running;
            }
        });
        self.client.ask("configurationDone", json!({}), BEGIN).await.map(|_| ())
    }

    async fn tell_file(&self, file: &PathBuf) -> Result<(), Fault> {
        let asked = self.shared.look().breakpoints.of_file(file);
        let asked = json!({ "source": { "path": file }, "breakpoints": asked });
        let answer = self.client.ask("setBreakpoints", asked, ANSWER).await?;
        self.shared.look().breakpoints.settle(Some(file), &answer);
        Ok(())
    }

    async fn tell_functions(&self) -> Result<(), Fault> {
        let extra = self.found.adapter.functions(&self.launch.stop_on);
        let asked = self.shared.look().breakpoints.of_functions(extra);
        let asked = json!({ "breakpoints": asked });
        let answer = self.client.ask("setFunctionBreakpoints", asked, ANSWER).await?;
        self.shared.look().breakpoints.settle(None, &answer);
        Ok(())
    }

    /// The error for a debugger that does not begin.
    fn broken(&self, fault: Fault) -> ToolError {
        let state = self.shared.look();
        let name = self.found.adapter.name();
        if let Some(refused) = &state.refused {
            return self.refused(refused);
        }
        let said = state.complaint();
        let why = match fault {
            Fault::Refused(reason) => reason,
            Fault::Silent => "it does not answer".to_owned(),
            Fault::Gone => "it has ended".to_owned(),
        };
        let said = if said.is_empty() { said } else { format!(": {said}") };
        ToolError::unavailable(format!("The debugger ({name}) cannot begin: {why}{said}"))
            .with_hint("Check that the program starts without a debugger, and the debugger's version.")
    }

    fn refused(&self, told: &Value) -> ToolError {
        let text = |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default();
        let python = text("python");
        match text("missing") {
            "" => ToolError::unavailable(format!("The debugger cannot begin: {}", text("text"))),
            package => {
                let install = Adapter::install(package, python, self.found.lock.as_deref());
                ToolError::unavailable(format!("{package} is not installed for {python}"))
                    .with_hint(format!("Install it with: {install}"))
                    .with("tool", package)
                    .with("install", install)
            }
        }
    }

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

    /// The frames, the innermost first. Of a program that runs, as far as the
    /// debugger can tell.
    ///
    /// # Errors
    /// If there are none.
    pub async fn stack(&self) -> Result<Vec<Frame>, ToolError> {
        let known = self.frames().clone();
        if !known.is_empty() {
            return Ok(known);
        }
        let failed = |fault: Fault| fault.into_error("The stack cannot be read");
        let stop = match self.now() {
            Met::Stopped(stop) => Some(stop.thread),
            _ => None,
        };
        let thread = match stop {
            Some(thread) => thread,
            None => self.thread().await.map_err(failed)?,
        };
        let asked = json!({ "threadId": thread, "startFrame": 0, "levels": FRAMES });
        let answer = self.client.ask("stackTrace", asked, ANSWER).await.map_err(failed)?;
        let frames = stack::read(&answer, &self.roots());
        if stop.is_some() {
            self.frames().clone_from(&frames);
        }
        Ok(frames)
    }

    /// The folders of the project.
    fn roots(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.launch.folder.clone(), self.found.real_folder.clone()];
        let beside = self.launch.target.file().and_then(|file| file.parent());
        roots.extend(beside.map(PathBuf::from).filter(|_| !self.found.adapter.is_native()));
        roots
    }

    async fn frame(&self, number: usize) -> Result<Frame, ToolError> {
        let frames = self.stack().await?;
        frames.get(number).cloned().ok_or_else(|| {
            ToolError::invalid(format!("There is no frame {number}; there are {}", frames.len()))
                .with_hint("Frames are numbered from 0, the innermost; see action 'stack'.")
        })
    }

    /// The variables of a frame, and how many were left out.
    ///
    /// # Errors
    /// If it has not stopped.
    pub async fn locals(
        &self,
        frame: usize,
        bounds: Bounds,
    ) -> Result<(Vec<Variable>, u64), ToolError> {
        self.stopped()?;
        let frame = self.frame(frame).await?;
        self.scopes(&frame, bounds)
            .await
            .map_err(|fault| fault.into_error("The variables cannot be read"))
    }

    async fn scopes(&self, frame: &Frame, bounds: Bounds) -> Result<(Vec<Variable>, u64), Fault> {
        let answer = self.client.ask("scopes", json!({ "frameId": frame.id }), ANSWER).await?;
        let mut reader = Reader::new(&self.client, bounds);
        let (mut all, mut more): (Vec<Variable>, u64) = (Vec::new(), 0);
        let scopes = answer.get("scopes").and_then(Value::as_array);
        for scope in scopes.into_iter().flatten() {
            let name = scope.get("name").and_then(Value::as_str).unwrap_or_default();
            let wide = ["globals", "global", "registers", "static"];
            if wide.contains(&name.to_lowercase().as_str()) {
                continue;
            }
            let reference = scope.get("variablesReference").and_then(Value::as_i64).unwrap_or(0);
            if reference <= 0 {
                continue;
            }
            let (variables, left) = reader.parts(reference, bounds.depth, None).await?;
            // An inner scope hides the outer ones.
            let fresh = variables.into_iter().filter(|one| !all.iter().any(|it| it.name == one.name));
            let fresh: Vec<_> = fresh.collect();
            all.extend(fresh);
            more += left;
        }
        Ok((all, more))
    }

    /// What an expression is in a frame. A statement may change something.
    ///
    /// # Errors
    /// If it has not stopped, or the expression fails.
    pub async fn evaluate(
        &self,
        frame: usize,
        expression: &str,
        is_statement: bool,
        bounds: Bounds,
    ) -> Result<Variable, ToolError> {
        self.stopped()?;
        let frame = self.frame(frame).await?;
        let asked = json!({
            "expression": expression,
            "frameId": frame.id,
            "context": self.found.adapter.context(is_statement),
        });
        let failed = |fault| match fault {
            Fault::Refused(reason) => ToolError::invalid(format!("{expression}: {reason}"))
                .with_hint("It is evaluated in the language of the program, in that frame."),
            fault => Fault::into_error(fault, expression),
        };
        let answer = self.client.ask("evaluate", asked, EVALUATE).await.map_err(failed)?;
        Reader::new(&self.client, bounds).result(expression, &answer).await.map_err(failed)
    }

    /// The exception that it has stopped at, if it is one.
    pub async fn exception(&self) -> Option<Exception> {
        let stop = self.stopped().ok()?;
        if stop.reason != "exception" {
            return None;
        }
        let asked = json!({ "threadId": stop.thread });
        match self.client.ask("exceptionInfo", asked, ANSWER).await {
            Ok(answer) => Some(stack::exception(&answer)),
            Err(_) => {
                Some(Exception { kind: stop.reason, message: stop.text.unwrap_or_default() })
            }
        }
    }

    /// The breakpoints.
    pub fn breakpoints(&self) -> Vec<Breakpoint> {
        self.shared.look().breakpoints.all.clone()
    }

    /// The same as they were asked for.
    pub fn wanted(&self) -> Vec<Wanted> {
        self.shared.look().breakpoints.all.iter().map(|one| one.wanted.clone()).collect()
    }

    /// Adds breakpoints.
    ///
    /// # Errors
    /// If the debugger refuses.
    pub async fn set(&self, wanted: Vec<Wanted>) -> Result<(), ToolError> {
        {
            let mut state = self.shared.look();
            wanted.iter().for_each(|one| {
                state.breakpoints.add(one.clone());
            });
        }
        self.tell(&wanted).await
    }

    /// Takes those away that are not kept; how many that were.
    ///
    /// # Errors
    /// If the debugger refuses.
    pub async fn clear(
        &self,
        mut keep: impl FnMut(&Breakpoint) -> bool,
    ) -> Result<usize, ToolError> {
        let mut gone = Vec::new();
        self.shared.look().breakpoints.all.retain(|one| {
            let kept = keep(one);
            if !kept {
                gone.push(one.wanted.clone());
            }
            kept
        });
        self.tell(&gone).await?;
        Ok(gone.len())
    }

    async fn tell(&self, changed: &[Wanted]) -> Result<(), ToolError> {
        let mut files: Vec<&PathBuf> = changed
            .iter()
            .filter_map(|one| match one {
                Wanted::Line { file, .. } => Some(file),
                Wanted::Function { .. } => None,
            })
            .collect();
        files.sort();
        files.dedup();
        let failed = |fault: Fault| fault.into_error("The breakpoints cannot be changed");
        for file in files {
            self.tell_file(file).await.map_err(failed)?;
        }
        if changed.iter().any(|one| matches!(one, Wanted::Function { .. })) {
            self.tell_functions().await.map_err(failed)?;
        }
        Ok(())
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
        self.control.end(GRACE).await;
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
            runtime.spawn(async move { control.end(GRACE).await });
        }
    }
}

/// Writes down that it runs, so that the next program finds it if this one
/// crashes.
fn write_down(
    job: &str,
    pid: Option<u32>,
    launch: &Launch,
    cx: &Context<'_>,
) -> Option<(Leftovers, String)> {
    let (leftovers, pid) = (cx.jobs.leftovers()?, pid?);
    let (owner_pid, owner_started) = leftovers::owner();
    let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let entry = Entry {
        id: job.to_owned(),
        pid,
        started: tree::started(pid).unwrap_or_default(),
        command: format!("debug {}", launch.target.name()),
        cwd: launch.folder.clone(),
        session: cx.owner.to_owned(),
        owner_pid,
        owner_started,
        at: at.as_secs(),
        detached: false,
        output: None,
    };
    leftovers.record(&entry).ok()?;
    Some((leftovers.clone(), job.to_owned()))
}

/// Waits for the end of an adapter.
async fn attend(
    control: Arc<dyn Control>,
    shared: Arc<Shared>,
    written: Option<(Leftovers, String)>,
) {
    let _ = control.ended().await;
    if let Some((leftovers, job)) = written {
        let _ = leftovers.forget(&job);
    }
    // Its last words are on their way; what it left may hold the line open.
    tokio::time::sleep(Duration::from_millis(500)).await;
    shared.change(|state| {
        state.is_gone = true;
        state.phase = Phase::Ended;
    });
}
