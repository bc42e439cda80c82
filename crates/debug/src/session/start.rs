//! Starts a program under a debugger.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::ToolError;
use hermes_exec::job_records::{self, JobRecord, JobRecords};
use hermes_exec::{CommandSpec, ProcessControl, SpawnedProcess, StdinSource, StdioMode, tree};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{DebugSession, LaunchContext, REQUEST_TIMEOUT};
use crate::adapter::{DebugAdapter, LaunchConfig};
use crate::breakpoints::{BreakpointRequest, BreakpointTable};
use crate::client::{DapClient, DapError};
use crate::detect::DetectedDebugger;
use crate::state::{DebuggeePhase, SharedDebugState};
use crate::stream::AdapterPipe;

/// Timeout of the adapter's start-up.
const START_TIMEOUT: Duration = Duration::from_secs(60);

impl DebugSession {
    /// Starts a program and lets it run.
    ///
    /// # Errors
    /// If it cannot be started or debugged.
    pub async fn start(
        id: String,
        launch: LaunchConfig,
        found: DetectedDebugger,
        wanted: Vec<BreakpointRequest>,
        cx: LaunchContext<'_>,
    ) -> Result<Arc<Self>, ToolError> {
        let order = CommandSpec {
            program: found.tool.clone().into(),
            arguments: found.adapter.command_args(&launch),
            environment: launch.environment.clone(),
            directory: launch.cwd.clone(),
            input: StdinSource::Pipe,
            output: StdioMode::Separate,
            confinement: cx.confinement.clone(),
        };
        let job = cx.jobs.fresh_id();
        let SpawnedProcess { pid, output, input, control, .. } =
            cx.jobs.backend().start(&job, order).await?;
        let failed =
            |error: std::io::Error| ToolError::io("Cannot open the debugger's streams", &error);
        let input =
            input.ok_or_else(|| ToolError::internal("The debugger process has no stdin pipe"))?;
        let output = output.into_iter().map(|(source, fd)| Ok((source, AdapterPipe::new(fd)?)));
        let output = output.collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
        let mut table = BreakpointTable::default();
        wanted.into_iter().for_each(|wanted| {
            table.add(wanted);
        });
        let shared = Arc::new(SharedDebugState::new(table));
        let client =
            DapClient::new(AdapterPipe::new(input).map_err(failed)?, output, Arc::clone(&shared));
        let control: Arc<dyn ProcessControl> = Arc::from(control);
        let written = persist(&job, pid, &launch, &cx);
        tokio::spawn(watch_exit(Arc::clone(&control), Arc::clone(&shared), written));
        let session = Arc::new(Self {
            id,
            owner: cx.owner.to_owned(),
            launch,
            debugger: found,
            call_lock: tokio::sync::Mutex::default(),
            client,
            state: shared,
            control,
            frames: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            end_reason: OnceLock::new(),
        });
        if let Err(error) = session.initialize().await {
            session.end().await;
            return Err(error);
        }
        Ok(session)
    }

    async fn initialize(&self) -> Result<(), ToolError> {
        let adapter = self.debugger.adapter;
        let hello = json!({
            "clientID": "hermes",
            "adapterID": adapter.name(),
            "pathFormat": "path",
            "linesStartAt1": true,
            "columnsStartAt1": true,
            "supportsVariableType": true,
            "supportsRunInTerminalRequest": false,
        });
        let asked = self.client.request("initialize", hello, START_TIMEOUT).await;
        asked.map_err(|fault| self.start_error(fault))?;
        let launched =
            self.client.send_request("launch", adapter.launch_arguments(&self.launch)).await;
        let mut launched = launched.map_err(|fault| self.start_error(fault))?;
        let ready = self.state.wait_until(|state| {
            (state.is_initialized || state.is_disconnected || state.refusal.is_some()).then_some(())
        });
        // Some adapters respond before `initialized`, some after the
        // configuration.
        let mut answer = None;
        let timeout = tokio::time::sleep(START_TIMEOUT);
        tokio::pin!(ready, timeout);
        loop {
            tokio::select! {
                () = &mut ready => break,
                shown = &mut launched, if answer.is_none() => {
                    let is_well = matches!(shown, Ok(Ok(_)));
                    answer = Some(shown);
                    if !is_well {
                        break;
                    }
                }
                () = &mut timeout => return Err(self.start_error(DapError::TimedOut)),
            }
        }
        let is_lost = |answer: &Option<_>| !matches!(answer, None | Some(Ok(Ok(_))));
        if is_lost(&answer)
            || self.state.lock().is_disconnected
            || self.state.lock().refusal.is_some()
        {
            let fault = match answer {
                Some(Ok(Err(reason))) => DapError::Refused(reason),
                _ => DapError::Disconnected,
            };
            return Err(self.start_error(fault));
        }
        self.configure().await.map_err(|fault| self.start_error(fault))?;
        if answer.is_none() {
            match tokio::time::timeout(START_TIMEOUT, launched).await {
                Ok(Ok(Err(reason))) => return Err(self.start_error(DapError::Refused(reason))),
                Err(_) => return Err(self.start_error(DapError::TimedOut)),
                // A program that has already ended is not an error.
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Sets the breakpoints, and lets the program run.
    async fn configure(&self) -> Result<(), DapError> {
        let adapter = self.debugger.adapter;
        if let Some(properties) = adapter.debugger_properties() {
            match self.client.request("setDebuggerProperty", properties, REQUEST_TIMEOUT).await {
                // Other debugpy versions do not know this request.
                Ok(_) | Err(DapError::Refused(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        let files = self.state.lock().breakpoints.files();
        for file in files {
            self.sync_file(&file).await?;
        }
        self.sync_functions().await?;
        let exceptions = adapter.exception_filters(&self.launch.stop_on);
        match self.client.request("setExceptionBreakpoints", exceptions, REQUEST_TIMEOUT).await {
            // An adapter without these exception filters is still useful.
            Ok(_) | Err(DapError::Refused(_)) => {}
            Err(fault) => return Err(fault),
        }
        self.state.update(|state| {
            if state.phase == DebuggeePhase::Starting {
                state.phase = DebuggeePhase::Running;
            }
        });
        match self.client.request("configurationDone", json!({}), START_TIMEOUT).await {
            // A program that has already ended was started successfully.
            Err(_) if self.state.lock().exit_code.is_some() => Ok(()),
            shown => shown.map(|_| ()),
        }
    }

    /// Returns the error for a debugger that fails to start.
    fn start_error(&self, fault: DapError) -> ToolError {
        let state = self.state.lock();
        let name = self.debugger.adapter.name();
        if let Some(refused) = &state.refusal {
            return self.refusal_error(refused);
        }
        let said = state.adapter_stderr();
        let why = match fault {
            DapError::Refused(reason) => reason,
            DapError::TimedOut => "it does not respond".to_owned(),
            DapError::Disconnected => "it exited".to_owned(),
        };
        let said = if said.is_empty() { said } else { format!(": {said}") };
        ToolError::unavailable(format!("The debugger ({name}) failed to start: {why}{said}"))
            .with_hint(
                "Check that the program starts without a debugger, and the debugger's version.",
            )
    }

    fn refusal_error(&self, shown: &Value) -> ToolError {
        let text = |name: &str| shown.get(name).and_then(Value::as_str).unwrap_or_default();
        let python = text("python");
        match text("missing") {
            "" => ToolError::unavailable(format!("The debugger failed to start: {}", text("text"))),
            package => {
                let install = DebugAdapter::install_command(
                    package,
                    python,
                    self.debugger.package_manager.as_deref(),
                );
                ToolError::unavailable(format!("{package} is not installed for {python}"))
                    .with_hint(format!("Install it with: {install}"))
                    .with("tool", package)
                    .with("install", install)
            }
        }
    }
}

/// Records the running program, so the next process finds it if this one
/// crashes.
fn persist(
    job: &str,
    pid: Option<u32>,
    launch: &LaunchConfig,
    cx: &LaunchContext<'_>,
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
        command: format!("debug {}", launch.target.display_name()),
        cwd: launch.cwd.clone(),
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

/// Waits for an adapter to exit.
async fn watch_exit(
    control: Arc<dyn ProcessControl>,
    shared: Arc<SharedDebugState>,
    written: Option<(JobRecords, String)>,
) {
    let _ = control.wait().await;
    if let Some((leftovers, job)) = written {
        let _ = leftovers.remove(&job);
    }
    // Its last output may still be in the pipe, which its children may hold
    // open.
    tokio::time::sleep(Duration::from_millis(500)).await;
    shared.update(|state| {
        state.is_disconnected = true;
        state.phase = DebuggeePhase::Ended;
    });
}
