//! The beginning of a program under a debugger.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::ToolError;
use hermes_exec::job_records::{self, JobRecord, JobRecords};
use hermes_exec::{ProcessControl, StdinSource, CommandSpec, StdioMode, SpawnedProcess, tree};
use serde_json::{Value, json};

use super::{ANSWER, Context, Session};
use crate::adapter::{Adapter, Launch};
use crate::breakpoints::{Table, Wanted};
use crate::client::{Client, Fault};
use crate::look::Found;
use crate::state::{Phase, Shared};
use crate::stream::Stream;

/// How long an adapter may take to begin.
const BEGIN: Duration = Duration::from_secs(60);

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
        let order = CommandSpec {
            program: found.tool.clone().into(),
            arguments: found.adapter.words(&launch),
            environment: launch.environment.clone(),
            directory: launch.folder.clone(),
            input: StdinSource::Pipe,
            output: StdioMode::Separate,
            confinement: cx.confinement.clone(),
        };
        let job = cx.jobs.fresh_id();
        let SpawnedProcess { pid, output, input, control, .. } =
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
        let control: Arc<dyn ProcessControl> = Arc::from(control);
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
        if let Some(properties) = adapter.properties() {
            match self.client.ask("setDebuggerProperty", properties, ANSWER).await {
                // One of another age does not know it.
                Ok(_) | Err(Fault::Refused(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
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
        match self.client.ask("configurationDone", json!({}), BEGIN).await {
            // One that has run to its end meanwhile was begun well.
            Err(_) if self.shared.look().exit_code.is_some() => Ok(()),
            told => told.map(|_| ()),
        }
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
            .with_hint(
                "Check that the program starts without a debugger, and the debugger's version.",
            )
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
}

/// Writes down that it runs, so that the next program finds it if this one
/// crashes.
fn write_down(
    job: &str,
    pid: Option<u32>,
    launch: &Launch,
    cx: &Context<'_>,
) -> Option<(JobRecords, String)> {
    let backend = cx.jobs.backend();
    let elsewhere = (!backend.is_local()).then(|| backend.name().to_owned());
    if pid.is_none() && elsewhere.is_none() {
        return None;
    }
    let (leftovers, pid) = (cx.jobs.records()?, pid.unwrap_or_default());
    let (owner_pid, owner_started) = job_records::current_process();
    let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let entry = JobRecord {
        id: job.to_owned(),
        pid,
        started: tree::start_time(pid).unwrap_or_default(),
        command: format!("debug {}", launch.target.name()),
        cwd: launch.folder.clone(),
        session: cx.owner.to_owned(),
        owner_pid,
        owner_started,
        at: at.as_secs(),
        detached: false,
        output: None,
        elsewhere,
    };
    leftovers.record(&entry).ok()?;
    Some((leftovers.clone(), job.to_owned()))
}

/// Waits for the end of an adapter.
async fn attend(
    control: Arc<dyn ProcessControl>,
    shared: Arc<Shared>,
    written: Option<(JobRecords, String)>,
) {
    let _ = control.wait().await;
    if let Some((leftovers, job)) = written {
        let _ = leftovers.remove(&job);
    }
    // Its last words are on their way; what it left may hold the line open.
    tokio::time::sleep(Duration::from_millis(500)).await;
    shared.change(|state| {
        state.is_gone = true;
        state.phase = Phase::Ended;
    });
}
