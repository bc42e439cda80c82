//! `hermes doctor --backend`: opens a backend and tries a command, streams, a
//! kill, a terminal and a file transfer, then cleans up.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes::core::{CancellationToken, ToolError};
use hermes_exec::output::OutputStream;
use hermes_exec::{
    CapturedCommand, CommandSpec, ExecBackend, HostFacts, Job, JobOutputOptions, ProcessExit,
    StdinSource, StdioMode, TerminalSize, WaitLimits, WaitOutcome, file_transfer,
};

use super::HealthFinding;
use crate::app::AppServices;
use crate::command_error::CommandError;
use crate::commands::runtime;
use crate::exec_target;

/// Timeout of each trial.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(30);
const KILL_GRACE: Duration = Duration::from_secs(2);

pub(super) fn examine(
    ready: &AppServices,
    name: &str,
    findings: &mut Vec<HealthFinding>,
) -> Result<(), CommandError> {
    let mut settings = ready.config.settings.clone();
    if !name.is_empty() {
        if !["local", "docker", "ssh", "singularity"].contains(&name) {
            return Err(CommandError::usage(format!("Unknown backend: {name}"))
                .hint("Use local, docker, ssh or singularity."));
        }
        name.clone_into(&mut settings.terminal.backend);
    }
    let started_in = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let backend = match exec_target::configured_backend(&settings, ready.home(), &started_in) {
        Ok(backend) => backend,
        Err(failure) => {
            let fix = failure.hint.unwrap_or_default();
            findings.push(HealthFinding::bad(&settings.terminal.backend, failure.message, fix));
            return Ok(());
        }
    };
    runtime::block_on_workers(run_trials(&backend, findings))
}

async fn run_trials(backend: &Arc<dyn ExecBackend>, findings: &mut Vec<HealthFinding>) {
    let began = Instant::now();
    let place = match backend.open().await {
        Ok(place) => place,
        Err(error) => {
            findings.push(failed_finding(backend.name(), &error));
            return;
        }
    };
    let shell = format!("{:?}", place.shell).to_lowercase();
    findings.push(HealthFinding::good(
        backend.name(),
        format!(
            "opened in {} ms: {}, shell {shell}, in {}",
            began.elapsed().as_millis(),
            place.system,
            place.directory.display()
        ),
    ));
    let tries = BackendTrial { backend, place: &place };
    for (what, tried) in [
        ("a command", tries.try_command().await),
        ("streams", tries.try_streams().await),
        ("a kill", tries.try_kill().await),
        ("a terminal", tries.try_terminal().await),
        ("files", tries.try_files().await),
    ] {
        findings.push(match tried {
            Ok(detail) => HealthFinding::good(what, detail),
            Err(error) => failed_finding(what, &error),
        });
    }
    backend.cleanup().await;
}

fn failed_finding(what: &str, error: &ToolError) -> HealthFinding {
    HealthFinding::bad(what, error.message().to_owned(), error.hint().to_owned())
}

struct BackendTrial<'a> {
    backend: &'a Arc<dyn ExecBackend>,
    place: &'a HostFacts,
}

impl BackendTrial<'_> {
    fn build_command(&self, script: &str, input: StdinSource, output: StdioMode) -> CommandSpec {
        CommandSpec {
            program: "sh".into(),
            arguments: vec![OsString::from("-c"), script.into()],
            environment: self.place.environment.clone(),
            directory: PathBuf::from("/"),
            input,
            output,
            confinement: None,
        }
    }

    async fn run_captured(
        &self,
        script: &str,
        input: StdinSource,
    ) -> Result<hermes_exec::CaptureResult, ToolError> {
        let order = self.build_command(script, input, StdioMode::Separate);
        CapturedCommand { spec: order, timeout: TRIAL_TIMEOUT, max_output_bytes: 1 << 20 }
            .run(&**self.backend, "doctor")
            .await
    }

    async fn try_command(&self) -> Result<String, ToolError> {
        let began = Instant::now();
        let done = self.run_captured("exit 7", StdinSource::Empty).await?;
        match done.exit {
            ProcessExit::Code(7) => Ok(format!("{} ms", began.elapsed().as_millis())),
            other => {
                Err(unexpected_error(format!("A command with exit code 7 ended with {other:?}")))
            }
        }
    }

    async fn try_streams(&self) -> Result<String, ToolError> {
        let given = StdinSource::Bytes(b"in\0put".to_vec());
        let done = self.run_captured("cat; echo problem >&2", given).await?;
        if done.output == b"in\0put" && done.errors.trim() == "problem" {
            return Ok("stdin, stdout and stderr pass through unchanged".to_owned());
        }
        Err(unexpected_error(format!(
            "Received {:?} on stdout and {:?} on stderr",
            done.output, done.errors
        )))
    }

    async fn try_kill(&self) -> Result<String, ToolError> {
        let mark = format!("hermes-doctor-{}", std::process::id());
        let script = format!("sh -c 'trap \"\" TERM; while :; do sleep 1; done' {mark}");
        let order = self.build_command(&script, StdinSource::Empty, StdioMode::Merged);
        let job = start_job(&**self.backend, order).await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let began = Instant::now();
        job.terminate(KILL_GRACE).await;
        let took = began.elapsed().as_millis();
        let look = format!("ps ax 2>/dev/null | grep -c '[h]ermes-doctor-{}'", std::process::id());
        let done = self.run_captured(&look, StdinSource::Empty).await?;
        let left = String::from_utf8_lossy(&done.output).trim().to_owned();
        if job.ended().is_none() || !matches!(left.as_str(), "0" | "") {
            return Err(unexpected_error("A killed process is still running".to_owned()));
        }
        Ok(format!("killed a process that ignores SIGTERM in {took} ms"))
    }

    async fn try_terminal(&self) -> Result<String, ToolError> {
        let order = self.build_command(
            "stty size",
            StdinSource::Pipe,
            StdioMode::Terminal(TerminalSize::default()),
        );
        let job = start_job(&**self.backend, order).await?;
        let cancel = CancellationToken::new();
        let until = Some(Instant::now() + TRIAL_TIMEOUT);
        let pause =
            job.wait(&WaitLimits { deadline: until, idle_timeout: None, cancel: &cancel }).await;
        let said = job.log().stream_summary(OutputStream::Stdout, 1000).text;
        if !matches!(pause, WaitOutcome::Ended(_)) {
            job.terminate(KILL_GRACE).await;
        }
        if said.contains("30 120") {
            return Ok("a pty of the requested size".to_owned());
        }
        Err(unexpected_error(format!("The terminal reports size {said:?}")))
    }

    async fn try_files(&self) -> Result<String, ToolError> {
        let dir = self.place.environment.get(std::ffi::OsStr::new("TMPDIR"));
        let dir = dir.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let path = dir.join(format!("hermes-doctor-{}", std::process::id()));
        let began = Instant::now();
        file_transfer::write(&**self.backend, &path, b"hello\n".to_vec(), Some(0o600)).await?;
        let read = file_transfer::read(&**self.backend, &path, 1000).await?;
        let took = began.elapsed().as_millis();
        let _ = self.run_captured(&format!("rm -f '{}'", path.display()), StdinSource::Empty).await;
        if read.bytes == b"hello\n" {
            return Ok(format!("written and read in {took} ms"));
        }
        Err(unexpected_error("The file read differs from the file written".to_owned()))
    }
}

async fn start_job(backend: &dyn ExecBackend, order: CommandSpec) -> Result<Arc<Job>, ToolError> {
    let id = format!("doctor_{}", std::process::id());
    Job::start(backend, id, "doctor".to_owned(), order, JobOutputOptions::default()).await
}

fn unexpected_error(message: String) -> ToolError {
    ToolError::unavailable(message).with_hint("Commands may misbehave on this backend.")
}
