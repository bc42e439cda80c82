//! Runs programs in a container of Apptainer (formerly Singularity).
//!
//! The container is an instance: it is started when the backend is opened, and
//! sees only the declared binds of this machine.

mod diagnosis;
mod settings;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::time::Duration;

use hermes_core::{BoxFuture, ErrorKind, ToolError};
use parking_lot::Mutex;
use serde::Deserialize;

use crate::backend::ProcessExit;
use crate::captured_command::{CaptureResult, CapturedCommand};
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};
use crate::local::LocalBackend;
use crate::remote::{RemoteBackend, Transport, TransportIo, TransportProcess};
use crate::{job_records, tree};
pub use settings::SingularitySettings;

/// An image may have to be downloaded and unpacked first.
const START_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Timeout of short commands.
const QUERY_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum bytes of output.
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;
/// Exit code of Apptainer's own failures.
const OWN_EXIT_CODE: i32 = 255;

/// Number and interval of the checks of a container that may be ending.
const MAX_EXIT_CHECKS: usize = 20;
const EXIT_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A shell that waits for the program: without it, Apptainer dies of the
/// program's signal, as if it had been killed itself. Job control keeps
/// keyboard interrupts from Apptainer.
const WAIT_SCRIPT: &str = "trap : INT QUIT; set -m 2>/dev/null; sh -c \"$1\"; exit $?";

/// The same without a terminal, in a new session: the inherited one is not
/// visible from inside the container.
const SETSID_SCRIPT: &str = "if command -v setsid >/dev/null; then setsid sh -c \"$1\"; \
                     else sh -c \"$1\"; fi; exit $?";

/// Variables of this process that are passed to Apptainer.
const FORWARDED_VARIABLES: [&str; 15] = [
    "APPTAINER_CACHEDIR",
    "APPTAINER_CONFIGDIR",
    "APPTAINER_TMPDIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "SINGULARITY_CACHEDIR",
    "SINGULARITY_TMPDIR",
    "TERM",
    "TMPDIR",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// Transport into a container.
#[derive(Debug)]
pub struct SingularityTransport {
    settings: SingularitySettings,
    local: LocalBackend,
    opening: tokio::sync::Mutex<InstanceOpening>,
    open: Mutex<Option<ContainerInstance>>,
    notice: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
struct InstanceOpening {
    /// Whether abandoned instances have been stopped.
    has_swept: bool,
    was_open: bool,
}

/// A running container.
#[derive(Debug, Clone)]
struct ContainerInstance {
    name: String,
    /// Its first process and that process's start time.
    pid: u32,
    started: u64,
    containment: String,
}

impl ContainerInstance {
    fn is_alive(&self) -> bool {
        tree::start_time(self.pid) == Some(self.started)
    }
}

/// Output of `instance list --json`.
#[derive(Debug, Deserialize)]
struct InstanceList {
    instances: Vec<InstanceRecord>,
}

#[derive(Debug, Deserialize)]
struct InstanceRecord {
    instance: String,
    pid: u32,
}

impl SingularityTransport {
    /// Creates a transport into a container with these settings.
    pub fn new(settings: SingularitySettings) -> Self {
        Self {
            settings,
            local: LocalBackend::default(),
            opening: tokio::sync::Mutex::default(),
            open: Mutex::default(),
            notice: Mutex::default(),
        }
    }

    /// Creates a backend for a container with these settings.
    pub fn backend(settings: SingularitySettings) -> RemoteBackend<Self> {
        RemoteBackend::new(Self::new(settings))
    }

    async fn ensure_open(&self) -> Result<(), ToolError> {
        let mut opening = self.opening.lock().await;
        if self.open.lock().as_ref().is_some_and(ContainerInstance::is_alive) {
            return Ok(());
        }
        self.check()?;
        self.open.lock().take();
        if !std::mem::replace(&mut opening.has_swept, true) {
            self.stop_abandoned().await?;
        }
        let instance = self.start().await?;
        *self.open.lock() = Some(instance);
        if std::mem::replace(&mut opening.was_open, true) {
            let lost = match self.settings.overlay {
                Some(_) => "its processes have ended",
                None => "data outside its binds is lost, and its processes have ended",
            };
            *self.notice.lock() =
                Some(format!("the container was gone, so this ran in a new one: {lost}"));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), ToolError> {
        if self.settings.image.is_empty() || self.settings.image.starts_with('-') {
            return Err(ToolError::invalid("singularity: no image is configured").with_hint(
                "Set terminal.singularity_image to a .sif file, a directory, or docker://NAME.",
            ));
        }
        let Some(overlay) = &self.settings.overlay else { return Ok(()) };
        std::fs::create_dir_all(overlay).map_err(|error| {
            ToolError::io(
                format!("singularity: cannot create the overlay {}", overlay.display()),
                &error,
            )
        })
    }

    /// Starts a container, with resource limits if they are available.
    async fn start(&self) -> Result<ContainerInstance, ToolError> {
        let (pid, started) = job_records::current_process();
        let word = RandomState::new().build_hasher().finish();
        let name = format!("hermes_{pid}_{started}_{word:016x}");
        let limits = self.limit_arguments();
        let mut done = self.run(self.start_arguments(&name, &limits), START_TIMEOUT).await?;
        let cannot = diagnosis::NO_CGROUPS_MESSAGES.iter().any(|sign| done.errors.contains(sign));
        let mut unheld = None;
        if !done.succeeded() && !limits.is_empty() && cannot {
            unheld =
                Some(diagnosis::fatal_message(&done.errors).unwrap_or("no cgroups").to_owned());
            done = self.run(self.start_arguments(&name, &[]), START_TIMEOUT).await?;
        }
        if !done.succeeded() {
            let program = self.program().display().to_string();
            return Err(diagnosis::start_error(&program, &self.settings.image, &done.errors));
        }
        let found = self.list(Some(&name)).await?;
        let running =
            found.iter().find_map(|found| Some((found.pid, tree::start_time(found.pid)?)));
        let Some((pid, started)) = running else {
            return Err(ToolError::unavailable("singularity: the container exited immediately")
                .with_hint("Its start script may have failed; try another image."));
        };
        let held = self.describe_containment(unheld.as_deref());
        Ok(ContainerInstance { name, pid, started, containment: held })
    }

    fn start_arguments(&self, name: &str, limits: &[OsString]) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            ["instance", "start", "--containall", "--no-home", "--cleanenv", "--no-privs"]
                .map(OsString::from)
                .to_vec();
        match &self.settings.overlay {
            Some(overlay) => words.extend(["--overlay".into(), overlay.into()]),
            None => words.push("--writable-tmpfs".into()),
        }
        if !self.settings.network {
            words.extend(["--net", "--network", "none"].map(OsString::from));
        }
        for bind in &self.settings.binds {
            words.extend(["--bind".into(), bind.into()]);
        }
        words.extend_from_slice(limits);
        words.extend([OsString::from(&self.settings.image), name.into()]);
        words
    }

    fn limit_arguments(&self) -> Vec<OsString> {
        let memory = self.settings.memory_mb.map(|most| ["--memory".into(), format!("{most}M")]);
        let cpus = self.settings.cpus.map(|most| ["--cpus".into(), most.to_string()]);
        memory.into_iter().chain(cpus).flatten().map(|word: String| word.into()).collect()
    }

    fn describe_containment(&self, unheld: Option<&str>) -> String {
        let mut held = format!("{}: container, no privileges", self.program_name());
        if !self.settings.network {
            held.push_str(", no network");
        }
        let limits = self.limit_arguments();
        let limits: Vec<_> = limits.iter().map(|word| word.to_string_lossy()).collect();
        match unheld {
            Some(why) => held.push_str(&format!("; limits are not enforced: {why}")),
            None if !limits.is_empty() => held.push_str(&format!(", {}", limits.join(" "))),
            None => {}
        }
        held
    }

    /// Stops the instances of hermes processes that have ended.
    async fn stop_abandoned(&self) -> Result<(), ToolError> {
        for found in self.list(None).await? {
            let mut parts = found.instance.split('_');
            let is_ours = parts.next() == Some("hermes");
            let owner = parts.next().and_then(|pid| pid.parse().ok());
            let started: Option<u64> = parts.next().and_then(|started| started.parse().ok());
            if let (true, Some(pid), Some(_)) = (is_ours, owner, started)
                && tree::start_time(pid) != started
            {
                self.stop(&found.instance).await;
            }
        }
        Ok(())
    }

    async fn list(&self, name: Option<&str>) -> Result<Vec<InstanceRecord>, ToolError> {
        let words = ["instance", "list", "--json"].into_iter().chain(name);
        let done = self.run(words.map(OsString::from).collect(), QUERY_TIMEOUT).await?;
        let list: Result<InstanceList, _> = serde_json::from_slice(&done.output);
        list.map(|list| list.instances).map_err(|_| {
            let program = self.program().display().to_string();
            let said = done.errors.trim().lines().next_back().unwrap_or_default();
            ToolError::unavailable(format!("singularity: unexpected output from {program}: {said}"))
                .with_hint(format!("Try `{program} instance list` by hand."))
        })
    }

    async fn stop(&self, name: &str) {
        let words = ["instance", "stop", "--timeout", "5", name];
        // A stopped instance needs no handling.
        let _ = self.run(words.map(OsString::from).to_vec(), QUERY_TIMEOUT).await;
    }

    async fn run(&self, words: Vec<OsString>, limit: Duration) -> Result<CaptureResult, ToolError> {
        let TransportProcess { program, arguments, environment } = self.engine_process(words);
        let spec = CommandSpec {
            program,
            arguments,
            environment,
            directory: "/".into(),
            input: StdinSource::Bytes(Vec::new()),
            output: StdioMode::Separate,
            confinement: None,
        };
        let done = CapturedCommand { spec, timeout: limit, max_output_bytes: MAX_OUTPUT_BYTES }
            .run(&self.local, "singularity")
            .await;
        done.map_err(|error| match error.kind() {
            ErrorKind::NotFound => self.missing_program_error(),
            _ => error,
        })
    }

    fn missing_program_error(&self) -> ToolError {
        match &self.settings.program {
            Some(program) => ToolError::unavailable(format!(
                "singularity: the configured program {} does not exist",
                program.display()
            ))
            .with_hint("Install Apptainer, or correct terminal.singularity_program."),
            None => ToolError::unavailable(
                "singularity: neither apptainer nor singularity is installed",
            )
            .with_hint("Install Apptainer, or set terminal.singularity_program."),
        }
    }

    /// Returns the configured program, or the one that is installed.
    fn program(&self) -> OsString {
        if let Some(program) = &self.settings.program {
            return program.clone();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there =
            |name: &&str| std::env::split_paths(&path).any(|dir: PathBuf| dir.join(name).is_file());
        ["apptainer", "singularity"].into_iter().find(is_there).unwrap_or("apptainer").into()
    }

    fn program_name(&self) -> String {
        let program = self.program();
        let name = std::path::Path::new(&program).file_name().unwrap_or(OsStr::new("apptainer"));
        name.to_string_lossy().into_owned()
    }

    fn engine_process(&self, arguments: Vec<OsString>) -> TransportProcess {
        let environment = FORWARDED_VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)))
            .collect();
        TransportProcess { program: self.program(), arguments, environment }
    }

    fn gone_error(&self, said: &str) -> ToolError {
        let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
        ToolError::unavailable(format!(
            "singularity: the container ended while a program was running{said}"
        ))
        .with_hint("The program was not run again. The next command starts a new container.")
    }
}

impl Transport for SingularityTransport {
    fn name(&self) -> &str {
        "singularity"
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(self.ensure_open())
    }

    fn transport_process(&self, script: &str, carriage: TransportIo) -> TransportProcess {
        let name = self.open.lock().as_ref().map(|open| open.name.clone()).unwrap_or_default();
        let mut words = ["exec", "--cleanenv", "--no-privs"].map(OsString::from).to_vec();
        words.push(format!("instance://{name}").into());
        let waiter = if carriage.terminal { WAIT_SCRIPT } else { SETSID_SCRIPT };
        words.extend(["sh", "-c", waiter, "sh", script].map(OsString::from));
        self.engine_process(words)
    }

    fn directory(&self) -> Option<OsString> {
        self.settings.directory.clone()
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        self.settings.environment.clone()
    }

    fn containment_summary(&self) -> Option<String> {
        self.open.lock().as_ref().map(|open| open.containment.clone())
    }

    fn explain_failure(&self, exit: ProcessExit, errors: &str) -> Option<ToolError> {
        let said = diagnosis::fatal_message(errors);
        (exit == ProcessExit::Code(OWN_EXIT_CODE))
            .then_some(said)
            .flatten()
            .map(|said| self.gone_error(said))
    }

    fn diagnose_loss(&self, exit: ProcessExit) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(async move {
            // A container that ends kills its programs first.
            let rounds = if matches!(exit, ProcessExit::Signal(_)) { MAX_EXIT_CHECKS } else { 1 };
            for round in 0..rounds {
                if round > 0 {
                    tokio::time::sleep(EXIT_CHECK_INTERVAL).await;
                }
                let is_alive = self.open.lock().as_ref().is_some_and(ContainerInstance::is_alive);
                if !is_alive {
                    return Some(self.gone_error(""));
                }
            }
            None
        })
    }

    fn take_notice(&self) -> Option<String> {
        self.notice.lock().take()
    }

    /// All programs end with the instance.
    fn keeps_programs_on_close(&self) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut opening = self.opening.lock().await;
            opening.was_open = false;
            let open = self.open.lock().take();
            if let Some(open) = open {
                self.stop(&open.name).await;
            }
        })
    }
}
