//! Starts interpreters.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hermes_core::{Confinement, ErrorKind, ToolContext, ToolError};
use hermes_exec::job_records::{self, JobRecord};
use hermes_exec::shell_env::ShellEnv;
use hermes_exec::{CommandSpec, JobRegistry, StdinSource, StdioMode, tree};

use crate::interpreter::{InterpreterProcess, InterpreterSpec};
use crate::language::ReplLanguage;
use crate::limits::ReplLimits;
use crate::sessions::EnvProvider;

/// Timeout until an interpreter accepts requests.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

/// Parameters for starting an interpreter.
#[derive(Debug)]
pub(crate) struct InterpreterLauncher<'a> {
    pub(crate) language: ReplLanguage,
    pub(crate) database: Option<PathBuf>,
    pub(crate) jobs: &'a Arc<JobRegistry>,
    pub(crate) limits: &'a ReplLimits,
    pub(crate) own_env: EnvProvider,
    pub(crate) name: &'a str,
}

impl InterpreterLauncher<'_> {
    /// Starts the interpreter and waits until it accepts requests.
    pub(crate) async fn launch(
        self,
        cx: &ToolContext,
    ) -> Result<Arc<InterpreterProcess>, ToolError> {
        let word = random_marker();
        let order = self.command_spec(&word, cx).await?;
        let id = self.jobs.fresh_id();
        // The sandbox knows paths that exist at this moment.
        let since = SystemTime::now();
        let started = self.jobs.backend().start(&id, order).await?;
        let entry = started.pid.map(|pid| self.job_record(&id, pid, cx));
        let made = InterpreterSpec {
            id,
            marker: word,
            language: self.language,
            database: self.database.clone(),
            confinement: cx.confinement.clone(),
            jobs: Arc::clone(self.jobs),
            mask: self.limits.mask.clone(),
            sandboxed_at: since,
        };
        let interpreter = InterpreterProcess::from_started(started, made)?;
        if let Some(entry) = entry {
            tokio::spawn(Arc::clone(&interpreter).persist(entry));
        }
        let first = interpreter.handshake();
        match tokio::time::timeout(STARTUP_TIMEOUT, cx.run_until_cancelled(first)).await {
            Ok(Ok(Ok(()))) => Ok(interpreter),
            Ok(Ok(Err(why))) => {
                interpreter.terminate(Duration::ZERO).await;
                Err(self.startup_error(&why))
            }
            Ok(Err(cancelled)) => {
                interpreter.terminate(Duration::ZERO).await;
                Err(cancelled)
            }
            Err(_) => {
                interpreter.terminate(Duration::ZERO).await;
                let message =
                    format!("{} did not start within {STARTUP_TIMEOUT:?}", self.language.name());
                Err(ToolError::new(ErrorKind::Timeout, message))
            }
        }
    }

    fn startup_error(&self, why: &str) -> ToolError {
        // The SQL driver reports problems with its database file this way.
        if let (Some(said), Some(file)) = (why.strip_prefix("hermes-database: "), &self.database) {
            let message = format!("Cannot open the database {}: {said}", file.display());
            let is_absent = said.starts_with("there is no directory");
            let error =
                if is_absent { ToolError::not_found(message) } else { ToolError::invalid(message) };
            return error.with_hint(
                "Set 'database' to a file in an existing directory, or omit it for an \
                 in-memory one.",
            );
        }
        let name = self.language.name();
        ToolError::unavailable(format!("Cannot start a {name} interpreter: {why}"))
            .with_hint(self.language.install_hint())
    }

    async fn command_spec(&self, word: &str, cx: &ToolContext) -> Result<CommandSpec, ToolError> {
        let around = ShellEnv::for_call(self.jobs, StdioMode::Separate, cx, self.own_env).await?;
        let is_here = around.host.is_none();
        let mut environment = around.environment();
        let mut set = |name: &str, value: OsString| environment.insert(name.into(), value);
        set("HERMES_REPL_WORD", word.into());
        set("HERMES_REPL_MOST", self.limits.value.to_string().into());
        // No display is available for windows.
        set("MPLBACKEND", "Agg".into());
        if let Some(database) = &self.database {
            set("HERMES_REPL_DATABASE", database.into());
        }
        let confinement = match (&cx.confinement, is_here) {
            (Some(held), true) => Some(self.with_scratch_dir(held, cx)?),
            // A remote backend applies its own isolation.
            _ => None,
        };
        if confinement.is_some() && !environment.contains_key(OsStr::new("MPLCONFIGDIR")) {
            // The default directory is not writable.
            let dir = self.jobs.scratch(cx.session.id())?.join("matplotlib");
            environment.insert("MPLCONFIGDIR".into(), dir.into());
        }
        let memory = self.limits.memory.unwrap_or_default() / 1024;
        Ok(CommandSpec {
            program: "/bin/sh".into(),
            arguments: self.language.arguments(memory).into_iter().map(OsString::from).collect(),
            environment,
            directory: cx.working_dir.cwd().to_owned(),
            input: StdinSource::Pipe,
            output: StdioMode::Separate,
            confinement,
        })
    }

    fn with_scratch_dir(
        &self,
        held: &Confinement,
        cx: &ToolContext,
    ) -> Result<Arc<Confinement>, ToolError> {
        let mut held = held.clone();
        held.write.push(self.jobs.scratch(cx.session.id())?);
        Ok(Arc::new(held))
    }

    /// Returns the record by which the next process finds the interpreter if
    /// this one crashes.
    fn job_record(&self, id: &str, pid: u32, cx: &ToolContext) -> JobRecord {
        let (owner_pid, owner_started) = job_records::current_process();
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        JobRecord {
            id: id.to_owned(),
            pid,
            started: tree::start_time(pid).unwrap_or_default(),
            command: format!("repl: {} {}", self.language.name(), self.name),
            cwd: cx.working_dir.cwd().to_owned(),
            session: cx.session.id().to_owned(),
            owner_pid,
            owner_started,
            at: at.unwrap_or_default().as_secs(),
            detached: false,
            elsewhere: None,
            output: None,
        }
    }
}

/// Returns a marker that does not occur by chance.
fn random_marker() -> String {
    format!("{:016x}{:016x}", hermes_core::ids::random_bits(), hermes_core::ids::random_bits())
}
