//! Running jobs: each is a `hermes run` of its own, so that none can harm the
//! others, and nobody is there to say yes for it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use hermes::core::{CancellationToken, ErrorKind};
use hermes_config::ResolvedConfig;
use hermes_cron::{WakeSignal, CronDaemon, CronEvent, CronJob, JobStore, RunCommands, DaemonSettings, RunStatus, SystemClock, StopCondition};
use serde_json::json;

use super::show::told as outcome;
use crate::app::App;
use crate::commands::runtime;
use crate::failure::{Exit, Failure, Outcome};
use crate::terminal::{Terminal, one_line};

/// Toolsets that a run has no use for: it must not plan the next one, its
/// answer is sent for it, and nobody is there to answer.
const WITHOUT: &str = "cronjob,messaging,clarify";

#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Run what is due now, and end
    #[arg(long)]
    once: bool,
    /// Run at most so many at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: Option<u16>,
}

/// Our own program.
#[derive(Debug)]
struct Ourselves {
    program: PathBuf,
    /// For jobs that do not say where.
    folder: PathBuf,
}

impl Ourselves {
    fn new(jobs: &JobStore) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|e| {
            Failure::failed(ErrorKind::Internal, format!("The program does not find itself: {e}"))
        })?;
        let folder = jobs.dir().join("work");
        std::fs::create_dir_all(&folder).map_err(|e| {
            Failure::failed(ErrorKind::Internal, format!("{}: {e}", folder.display()))
        })?;
        Ok(Self { program, folder })
    }

    /// A command that nobody watches. What is said for this terminal does not
    /// hold for it.
    fn command(&self, job: &CronJob) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(job.workdir.as_ref().map_or(self.folder.as_path(), Path::new));
        for name in ["HERMES_SESSION", "HERMES_YOLO"] {
            command.env_remove(name);
        }
        command
    }
}

impl RunCommands for Ourselves {
    fn run_command(&self, job: &CronJob, run: &str) -> Command {
        let mut command = self.command(job);
        command.env(JobStore::RUN_ID_VAR, run);
        // With `=`, no value can pass for an option.
        command.args(["run", "--json", "--quiet", "--source=cron"]);
        command.arg(format!("--without={WITHOUT}")).arg(format!("--title={}", job.name));
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

    fn deliver_command(&self, job: &CronJob) -> Command {
        let mut command = self.command(job);
        command.args(["cron", "deliver", "--json", "--quiet", &job.id]);
        command
    }
}

fn settings(config: &ResolvedConfig, parallel: Option<u16>) -> DaemonSettings {
    let said = &config.settings.cron;
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    DaemonSettings {
        max_parallel: parallel.map_or_else(|| count(said.max_parallel_jobs), usize::from),
        kept_outputs: count(said.output_retention),
        run_timeout: Duration::from_secs(said.timeout_seconds),
        ..DaemonSettings::default()
    }
}

/// Runs jobs until a signal says stop.
pub(super) fn serve(app: &App, config: &ResolvedConfig, jobs: &JobStore, options: &Options) -> Outcome {
    let until = if options.once { StopCondition::Idle } else { StopCondition::OnRequest };
    if !options.once && !app.json {
        app.terminal.note("Running jobs when they are due. Ctrl-C stops.");
    }
    let trouble = Arc::new(AtomicBool::new(false));
    let heard = Told { aloud: true, trouble: Arc::clone(&trouble) };
    attended(app, config, jobs, options.parallel, heard, move |daemon, bell| {
        daemon.serve(bell, until)
    })??;
    // One that goes on may still get over it.
    let is_troubled = options.once && trouble.load(Ordering::Relaxed);
    Ok(if is_troubled { Exit::Failed } else { Exit::Ok })
}

/// What becomes of what a daemon tells.
struct Told {
    /// Whether it is passed on.
    aloud: bool,
    /// Set once something has gone wrong beside the runs themselves.
    trouble: Arc<AtomicBool>,
}

/// Makes one run, and tells how it went.
pub(super) fn run_now(app: &App, config: &ResolvedConfig, jobs: &JobStore, wanted: &str) -> Outcome {
    let wanted = wanted.to_owned();
    // Programs get one answer.
    let told = Told { aloud: !app.json, trouble: Arc::default() };
    let run = attended(app, config, jobs, None, told, move |daemon, bell| {
        daemon.run_now(&wanted, bell)
    })??;
    if app.json {
        app.terminal.line(&json!({ "schema_version": 1, "run": run }).to_string())?;
    } else {
        app.terminal.line(&format!("{}: {}", run.status.name(), one_line(&outcome(&run))))?;
    }
    Ok(match run.status {
        RunStatus::Ok => Exit::Ok,
        RunStatus::Cancelled => Exit::Kind(ErrorKind::Cancelled),
        _ => Exit::Failed,
    })
}

/// Does something that a signal stops in good order.
fn attended<T: Send + 'static>(
    app: &App,
    config: &ResolvedConfig,
    jobs: &JobStore,
    parallel: Option<u16>,
    told: Told,
    work: impl FnOnce(&CronDaemon<'_>, &WakeSignal) -> T + Send + 'static,
) -> Result<T, Failure> {
    let orders = Ourselves::new(jobs)?;
    let settings = settings(config, parallel);
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
                    told.trouble.store(true, Ordering::Relaxed);
                }
                if told.aloud {
                    say(terminal, json, event);
                }
            };
            let daemon =
                CronDaemon { jobs, commands: &orders, settings, clock: &SystemClock, on_event: &tell };
            work(&daemon, &bell)
        });
        work.await
    })?;
    done.map_err(|e| Failure::failed(ErrorKind::Internal, format!("The daemon crashed: {e}")))
}

fn say(terminal: Terminal, json: bool, event: &CronEvent<'_>) {
    let (line, text) = match event {
        CronEvent::Started { job, run } => (
            json!({ "type": "started", "job": job.id, "name": job.name, "run": run }),
            format!("{}: begins ({run})", one_line(&job.name)),
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
            (json!({ "type": "trouble", "error": what }), format!("trouble: {}", one_line(what)))
        }
    };
    if json {
        // A reader that has gone away is no reason to stop.
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    } else {
        terminal.note(&text);
    }
}
