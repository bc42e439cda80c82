//! `hermes cron`: tasks that run on a schedule.

mod daemon;
mod deliver;
mod show;

use std::io::Read as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use hermes::core::ErrorKind;
use hermes_config::{HermesHome, ResolvedConfig};
use hermes_cron::{
    CronError, CronJob, DeliveryTarget, JobChange, JobDraft, JobStore, MissedRunPolicy,
};
use serde_json::json;

use crate::app::{AppContext, working_dir};
use crate::args::{ProfileOptions, ToolsetFilter};
use crate::command_error::{CliExitCode, CommandError, CommandResult};

#[derive(Debug, Subcommand)]
pub(crate) enum CronCommand {
    /// List the jobs
    List,
    /// Add a job
    #[command(visible_alias = "create")]
    Add {
        /// Schedule: '30m' or 'in 2h' (once), 'every 30m', '2030-02-03T14:00'
        /// (once), or a cron expression such as '0 9 * * MON-FRI'
        schedule: String,
        /// Task; `-` reads standard input
        prompt: String,
        #[command(flatten)]
        terms: JobOptions,
    },
    /// Show a job
    Show {
        /// Job ID or name
        job: String,
    },
    /// Change a job
    Edit {
        /// Job ID or name
        job: String,
        /// New schedule
        #[arg(long, value_name = "WHEN")]
        schedule: Option<String>,
        /// New task; `-` reads standard input
        #[arg(long, value_name = "TASK")]
        prompt: Option<String>,
        #[command(flatten)]
        terms: JobOptions,
    },
    /// Pause a job
    Pause {
        /// Job ID or name
        job: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Resume a paused job at its next scheduled time
    Resume {
        /// Job ID or name
        job: String,
    },
    /// Run a job now and wait for it
    Run {
        /// Job ID or name
        job: String,
        /// Queue the run for the daemon instead
        #[arg(long)]
        later: bool,
    },
    /// Remove a job; its answers are kept
    Remove {
        /// Job ID or name
        job: String,
    },
    /// Show the runs of a job, newest first
    History {
        /// Job ID or name
        job: String,
        /// Maximum number of runs to show
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: usize,
    },
    /// Send a message to a target of a job, as the daemon does
    #[command(hide = true)]
    Deliver {
        /// Job ID or name
        job: String,
    },
    /// Run jobs when they are due, until stopped
    Daemon(daemon::DaemonOptions),
}

/// Options of a job other than its task and schedule.
#[derive(Debug, Clone, Args)]
pub(crate) struct JobOptions {
    /// Name of the job
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Time zone of the schedule, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// Number of runs; 0 for unlimited
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    /// Additional message targets for the answers
    #[arg(long, value_name = "TARGETS")]
    deliver: Option<String>,
    /// Model, as MODEL or PROVIDER:MODEL
    #[arg(long, short = 'm', value_name = "NAME")]
    model: Option<String>,
    /// Toolsets of a run
    #[arg(
        long = "toolset",
        visible_alias = "toolsets",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    toolsets: Option<Vec<String>>,
    /// Jobs whose last answer the task gets; `self` is the job's own
    #[arg(long, value_name = "JOBS", value_delimiter = ',')]
    context_from: Option<Vec<String>>,
    /// Working directory; `add` defaults to the current one
    #[arg(long, short = 'C', value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Permission profile
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Maximum number of model requests per run
    #[arg(long, value_name = "N")]
    max_turns: Option<u32>,
    /// Maximum cost of a run in dollars
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Timeout of a run in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Policy for missed runs: skip, once, or all:N
    #[arg(long, value_name = "RULE")]
    missed: Option<String>,
    /// Restart a run that was interrupted
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    retry: Option<bool>,
}

impl JobOptions {
    fn into_change(self) -> Result<JobChange, CommandError> {
        let workdir = match self.cwd {
            None => None,
            Some(dir) => Some(path_to_string(working_dir(Some(&dir))?)?),
        };
        Ok(JobChange {
            name: self.name,
            prompt: None,
            schedule: None,
            tz: self.tz,
            repeat: self.repeat,
            deliver: self.deliver,
            model: self.model,
            toolsets: self
                .toolsets
                .map(|names| names.into_iter().filter(|n| !n.is_empty()).collect()),
            workdir,
            context_from: self.context_from,
            profile: self.profile,
            max_turns: self.max_turns,
            budget: self.budget,
            timeout_seconds: self.timeout,
            missed: self.missed.map(|rule| MissedRunPolicy::parse(&rule)).transpose()?,
            retry: self.retry,
        })
    }
}

impl From<CronError> for CommandError {
    fn from(error: CronError) -> Self {
        let text = error.to_string();
        match error {
            CronError::Schedule(text) => match text.split_once(". Write ") {
                Some((what, forms)) => CommandError::usage(what).hint(format!("Write {forms}.")),
                None => CommandError::usage(text),
            },
            CronError::Invalid(_) => CommandError::usage(text),
            CronError::NotFound(_) => {
                CommandError::not_found(text).hint("`hermes cron list` lists the jobs.")
            }
            CronError::Ambiguous { matches, .. } => CommandError::usage(text)
                .hint(format!("Use one of these IDs: {}.", matches.join(", "))),
            CronError::NameTaken { id, .. } => CommandError::failed(ErrorKind::Conflict, text)
                .hint(format!(
                    "Choose another --name, or change the existing job: hermes cron \
                    edit {id}"
                )),
            CronError::Threat { .. } => CommandError::failed(ErrorKind::Denied, text)
                .hint("Scheduled tasks run unattended. Describe the task in plain words."),
            CronError::State(_) => CommandError::failed(ErrorKind::Conflict, text),
            CronError::ReadOnlyInRun => CommandError::failed(ErrorKind::Denied, text),
            CronError::Busy { .. } => CommandError::failed(ErrorKind::Timeout, text),
            CronError::Damaged { .. } => CommandError::failed(ErrorKind::Conflict, text)
                .hint("Repair the file or move it away."),
            _ => CommandError::failed(ErrorKind::Internal, text).hint("Look at HERMES_HOME/cron."),
        }
    }
}

/// Opens the job store of a home with the configured time zone.
pub(crate) fn open_jobs(
    home: &HermesHome,
    config: &ResolvedConfig,
) -> Result<JobStore, CommandError> {
    let inside = std::env::var_os(JobStore::RUN_ID_VAR).is_some_and(|run| !run.is_empty());
    let jobs = JobStore::for_home(home.root()).with_scheduled_run(inside);
    match config.settings.timezone.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
        None => Ok(jobs),
        Some(name) => jobs
            .with_zone_named(name)
            .map_err(|e| CommandError::from(e).or_hint("Fix `timezone` in config.yaml.")),
    }
}

pub(crate) fn run(app: &AppContext, command: CronCommand) -> CommandResult {
    let home = app.home()?;
    let config = app.config(&home)?;
    let jobs = open_jobs(&home, &config)?;
    let now = jobs.now();
    match command {
        CronCommand::List => show::list(app, &jobs)?,
        CronCommand::Show { job } => show::show_job(app, &jobs, &jobs.get(&job)?)?,
        CronCommand::History { job, limit } => show::history(app, &jobs, &job, limit)?,
        CronCommand::Add { schedule, prompt, terms } => {
            let mut change = terms.into_change()?;
            if change.workdir.is_none() {
                change.workdir = Some(path_to_string(working_dir(None)?)?);
            }
            check_references(app, &change)?;
            let draft = JobDraft { prompt: text_or_stdin(prompt)?, schedule, change };
            let job = jobs.add(draft, now)?;
            report_job(app, &jobs, &job, "is scheduled")?;
        }
        CronCommand::Edit { job, schedule, prompt, terms } => {
            let prompt = prompt.map(text_or_stdin).transpose()?;
            let change = JobChange { schedule, prompt, ..terms.into_change()? };
            check_references(app, &change)?;
            let job = jobs.edit(&job, change, now)?;
            report_job(app, &jobs, &job, "is changed")?;
        }
        CronCommand::Pause { job, reason } => {
            report_job(app, &jobs, &jobs.pause(&job, reason, now)?, "is paused")?;
        }
        CronCommand::Resume { job } => {
            report_job(app, &jobs, &jobs.resume(&job, now)?, "is resumed")?
        }
        CronCommand::Remove { job } => {
            report_job(app, &jobs, &jobs.remove(&job, now)?, "is removed")?
        }
        CronCommand::Run { job, later: true } => {
            report_job(app, &jobs, &jobs.request_run(&job, now)?, "is queued for the daemon")?;
        }
        CronCommand::Run { job, later: false } => {
            return daemon::run_now(app, &config, &jobs, &job);
        }
        CronCommand::Deliver { job } => return deliver::run(app, &jobs, &job),
        CronCommand::Daemon(options) => return daemon::serve(app, &config, &jobs, &options),
    }
    Ok(CliExitCode::Ok)
}

/// Checks that everything a job refers to exists: no user sees an unattended
/// run fail.
fn check_references(app: &AppContext, change: &JobChange) -> Result<(), CommandError> {
    if change.profile.is_none() && change.toolsets.is_none() && change.deliver.is_none() {
        return Ok(());
    }
    let ready = app.services()?;
    if let Some(profile) = change.profile.as_deref().filter(|name| !name.trim().is_empty()) {
        let options =
            ProfileOptions { profile: Some(profile.trim().to_owned()), permissions: None };
        let workdir = change.workdir.as_deref().map_or_else(PathBuf::new, PathBuf::from);
        app.permissions(&ready, &options, &workdir, None)?;
    }
    if let Some(toolsets) = change.toolsets.clone().filter(|names| !names.is_empty()) {
        ready.offer_cached_tools();
        let selection = ready.selection(&ToolsetFilter { toolsets, without: Vec::new() });
        let snapshot = ready.engine().snapshot();
        ready
            .engine()
            .toolsets()
            .select(&selection, &*snapshot)
            .map_err(|e| ready.unknown_toolset_error(e))?;
    }
    let known = &ready.config.settings.message_targets;
    for target in change.deliver.as_deref().map(DeliveryTarget::parse_list).into_iter().flatten() {
        let DeliveryTarget::Message(name) = target else { continue };
        if known.get(&name).is_none() {
            let names = known.as_object().into_iter().flat_map(|it| it.keys().cloned());
            let names = names.collect::<Vec<_>>().join(", ");
            let failure = CommandError::usage(format!("No message target named '{name}'"));
            return Err(failure.hint(match &*names {
                "" => "Define it under messaging.targets in config.yaml.".to_owned(),
                names => format!("Defined targets: {names}."),
            }));
        }
    }
    Ok(())
}

fn report_job(
    app: &AppContext,
    jobs: &JobStore,
    job: &CronJob,
    what: &str,
) -> Result<(), CommandError> {
    let running = jobs.has_daemon();
    if app.json {
        let shown = json!({ "schema_version": 1, "job": job, "daemon_running": running });
        app.terminal.print_line(&shown.to_string())?;
        return Ok(());
    }
    let is_removed = what == "is removed";
    let next = job.next_run_at.filter(|_| job.enabled && !is_removed);
    let next =
        next.map_or(String::new(), |at| format!(" Next: {}.", jobs.format_time_for(job, at)));
    app.terminal.print_line(&job.id)?;
    app.terminal.note(&format!("'{}' ({}) {what}.{next}", job.name, job.schedule_display));
    if is_removed && job.held.is_some() {
        app.terminal.note("Stopping its current run.");
    }
    if !running && job.enabled && !is_removed {
        app.terminal.note("The daemon is not running; start it with `hermes cron daemon`.");
    }
    Ok(())
}

/// Returns the text, or standard input for `-`.
fn text_or_stdin(text: String) -> Result<String, CommandError> {
    if text != "-" {
        return Ok(text);
    }
    let mut input = String::new();
    std::io::stdin()
        .lock()
        .take(1 << 20)
        .read_to_string(&mut input)
        .map_err(|e| CommandError::usage(format!("Cannot read standard input: {e}")))?;
    Ok(input)
}

fn path_to_string(dir: PathBuf) -> Result<String, CommandError> {
    dir.into_os_string().into_string().map_err(|_| {
        CommandError::usage("The directory's path is not valid UTF-8").hint("Use --cwd DIR.")
    })
}
