//! Runs scheduled jobs. Each is a separate `hermes run` process without an
//! approver, so jobs cannot affect each other.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use hermes::SecretsProvider;
use hermes::core::{CancellationToken, ErrorKind};
use hermes::engine::SecretSource as _;
use hermes_config::{HermesHome, ResolvedConfig};
use hermes_cron::{
    CronDaemon, CronEvent, CronJob, DaemonSettings, JobStore, RunCommands, RunStatus,
    StopCondition, SystemClock, WakeSignal,
};
use serde_json::json;

use super::show::describe_run as outcome;
use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::commands::runtime;
use crate::terminal::{TerminalOutput, one_line};

/// Toolsets excluded from runs: a run must not schedule jobs, its answer is
/// delivered by the daemon, and no user can answer questions.
const EXCLUDED_TOOLSETS: &str = "cronjob,messaging,clarify";

#[derive(Debug, Clone, Args)]
pub(crate) struct DaemonOptions {
    /// Run the jobs that are due, then exit
    #[arg(long)]
    once: bool,
    /// Maximum number of parallel runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: Option<u16>,
}

/// Starts runs with this executable.
#[derive(Debug)]
struct JobLauncher {
    program: PathBuf,
    /// Working directory for jobs without one.
    default_dir: PathBuf,
    home: HermesHome,
}

impl JobLauncher {
    fn new(jobs: &JobStore, home: HermesHome) -> Result<Self, CommandError> {
        let program = std::env::current_exe().map_err(|e| {
            CommandError::failed(
                ErrorKind::Internal,
                format!("Cannot locate the hermes executable: {e}"),
            )
        })?;
        let dir = jobs.dir().join("work");
        std::fs::create_dir_all(&dir).map_err(|e| {
            CommandError::failed(ErrorKind::Internal, format!("{}: {e}", dir.display()))
        })?;
        Ok(Self { program, default_dir: dir, home })
    }

    /// Builds an unattended command, without the session and the approval mode
    /// of this terminal.
    fn command(&self, job: &CronJob) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(job.workdir.as_ref().map_or(self.default_dir.as_path(), Path::new));
        for name in ["HERMES_SESSION", "HERMES_YOLO"] {
            command.env_remove(name);
        }
        command
    }
}

impl RunCommands for JobLauncher {
    fn run_command(&self, job: &CronJob, run: &str) -> Command {
        let mut command = self.command(job);
        command.env(JobStore::RUN_ID_VAR, run);
        // With `=`, a value cannot be parsed as an option.
        command.args(["run", "--json", "--quiet", "--source=cron"]);
        command.arg(format!("--without={EXCLUDED_TOOLSETS}")).arg(format!("--title={}", job.name));
        let toolsets = job.enabled_toolsets.as_ref().map(|names| names.join(","));
        for (name, value) in [
            ("toolset", toolsets),
            ("model", job.model.clone()),
            ("profile", job.profile.clone()),
            ("max-turns", job.max_turns.map(|turns| turns.to_string())),
            ("budget", job.budget.map(|budget| budget.to_string())),
        ] {
            command.args(value.map(|value| format!("--{name}={value}")));
        }
        command.arg("-");
        command
    }

    fn redact(&self, text: &str) -> String {
        // Secrets may change while the daemon runs.
        SecretsProvider::new(&self.home).redactor().redact_prompt(text).into_owned()
    }

    fn deliver_command(&self, job: &CronJob) -> Command {
        let mut command = self.command(job);
        command.args(["cron", "deliver", "--json", "--quiet", &job.id]);
        command
    }
}

fn daemon_settings(config: &ResolvedConfig, parallel: Option<u16>) -> DaemonSettings {
    let said = &config.settings.cron;
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    DaemonSettings {
        max_parallel: parallel.map_or_else(|| count(said.max_parallel_jobs), usize::from),
        kept_outputs: count(said.output_retention),
        run_timeout: Duration::from_secs(said.timeout_seconds),
        ..DaemonSettings::default()
    }
}

/// Runs jobs until a signal arrives.
pub(super) fn serve(
    app: &AppContext,
    config: &ResolvedConfig,
    jobs: &JobStore,
    options: &DaemonOptions,
) -> CommandResult {
    let until = if options.once { StopCondition::Idle } else { StopCondition::OnRequest };
    if !options.once && !app.json {
        app.terminal.note("Running jobs when they are due. Press Ctrl-C to stop.");
    }
    let trouble = Arc::new(AtomicBool::new(false));
    let heard = DaemonOutput { is_printed: true, has_failed: Arc::clone(&trouble) };
    run_until_signal(app, config, jobs, options.parallel, heard, move |daemon, bell| {
        daemon.serve(bell, until)
    })??;
    // A daemon that keeps running may recover.
    let is_troubled = options.once && trouble.load(Ordering::Relaxed);
    Ok(if is_troubled { CliExitCode::Failed } else { CliExitCode::Ok })
}

/// What to do with the daemon's events.
struct DaemonOutput {
    /// Whether events are printed.
    is_printed: bool,
    /// Set once the daemon reports a warning.
    has_failed: Arc<AtomicBool>,
}

/// Runs a job once and reports the outcome.
pub(super) fn run_now(
    app: &AppContext,
    config: &ResolvedConfig,
    jobs: &JobStore,
    wanted: &str,
) -> CommandResult {
    let wanted = wanted.to_owned();
    // JSON output is a single object.
    let shown = DaemonOutput { is_printed: !app.json, has_failed: Arc::default() };
    let run = run_until_signal(app, config, jobs, None, shown, move |daemon, bell| {
        daemon.run_now(&wanted, bell)
    })??;
    if app.json {
        app.terminal.print_line(&json!({ "schema_version": 1, "run": run }).to_string())?;
    } else {
        app.terminal.print_line(&format!("{}: {}", run.status.name(), one_line(&outcome(&run))))?;
    }
    Ok(match run.status {
        RunStatus::Ok => CliExitCode::Ok,
        RunStatus::Cancelled => CliExitCode::Kind(ErrorKind::Cancelled),
        _ => CliExitCode::Failed,
    })
}

/// Runs daemon work that a signal shuts down cleanly.
fn run_until_signal<T: Send + 'static>(
    app: &AppContext,
    config: &ResolvedConfig,
    jobs: &JobStore,
    parallel: Option<u16>,
    shown: DaemonOutput,
    work: impl FnOnce(&CronDaemon<'_>, &WakeSignal) -> T + Send + 'static,
) -> Result<T, CommandError> {
    let orders = JobLauncher::new(jobs, app.home()?)?;
    let settings = daemon_settings(config, parallel);
    let (jobs, terminal, json) = (jobs.clone(), app.terminal, app.json);
    let cancel = CancellationToken::new();
    let stopped = cancel.clone();
    let bell = Arc::new(WakeSignal::default());
    let heard = Arc::clone(&bell);
    let done = runtime::with_tools(&cancel, async move {
        tokio::spawn(async move {
            stopped.cancelled().await;
            heard.stop();
        });
        let work = tokio::task::spawn_blocking(move || {
            let tell = |event: &CronEvent<'_>| {
                if matches!(event, CronEvent::Warning(_)) {
                    shown.has_failed.store(true, Ordering::Relaxed);
                }
                if shown.is_printed {
                    print_event(terminal, json, event);
                }
            };
            let daemon = CronDaemon {
                jobs,
                commands: &orders,
                settings,
                clock: &SystemClock,
                on_event: &tell,
            };
            work(&daemon, &bell)
        });
        work.await
    })?;
    done.map_err(|e| CommandError::failed(ErrorKind::Internal, format!("The daemon crashed: {e}")))
}

fn print_event(terminal: TerminalOutput, json: bool, event: &CronEvent<'_>) {
    let (line, text) = match event {
        CronEvent::Started { job, run } => (
            json!({ "type": "started", "job": job.id, "name": job.name, "run": run }),
            format!("{}: started ({run})", one_line(&job.name)),
        ),
        CronEvent::Ended(run) => (
            json!({ "type": "ended", "run": run }),
            format!(
                "{}: {} ({})  {}",
                one_line(&run.job),
                run.status.name(),
                run.id,
                one_line(&outcome(run))
            ),
        ),
        CronEvent::Warning(what) => {
            (json!({ "type": "trouble", "error": what }), format!("warning: {}", one_line(what)))
        }
    };
    if json {
        // A closed pipe does not stop the daemon.
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    } else {
        terminal.note(&text);
    }
}
