//! `hermes cron`: tasks that run by themselves at set times.

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
    /// Plan a task
    #[command(visible_alias = "create")]
    Add {
        /// When: '30m' or 'in 2h' (once), 'every 30m', '2030-02-03T14:00' (once), or a cron
        /// expression such as '0 9 * * MON-FRI'
        schedule: String,
        /// The task; `-` for standard input
        prompt: String,
        #[command(flatten)]
        terms: JobOptions,
    },
    /// Show a job
    Show {
        /// Its id or name
        job: String,
    },
    /// Change a job
    Edit {
        /// Its id or name
        job: String,
        /// Another schedule
        #[arg(long, value_name = "WHEN")]
        schedule: Option<String>,
        /// Another task; `-` for standard input
        #[arg(long, value_name = "TASK")]
        prompt: Option<String>,
        #[command(flatten)]
        terms: JobOptions,
    },
    /// Keep a job from running
    Pause {
        /// Its id or name
        job: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Let a job run again, from its next time on
    Resume {
        /// Its id or name
        job: String,
    },
    /// Run a job now, and wait for it
    Run {
        /// Its id or name
        job: String,
        /// Leave it to the daemon
        #[arg(long)]
        later: bool,
    },
    /// Take a job away; its answers stay
    Remove {
        /// Its id or name
        job: String,
    },
    /// Show how the runs of a job went, the latest first
    History {
        /// Its id or name
        job: String,
        /// How many
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: usize,
    },
    /// Send a message to where the answers of a job go, as the daemon does
    #[command(hide = true)]
    Deliver {
        /// Its id or name
        job: String,
    },
    /// Run jobs when they are due, until told to stop
    Daemon(daemon::DaemonOptions),
}

/// Everything about a job but what and when.
#[derive(Debug, Clone, Args)]
pub(crate) struct JobOptions {
    /// What to call it
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// The time zone of the schedule, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// Run so many times; 0 for without end
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    /// Send answers to these message targets, too
    #[arg(long, value_name = "TARGETS")]
    deliver: Option<String>,
    /// The model, as MODEL or PROVIDER:MODEL
    #[arg(long, short = 'm', value_name = "NAME")]
    model: Option<String>,
    /// The tools of a run
    #[arg(
        long = "toolset",
        visible_alias = "toolsets",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    toolsets: Option<Vec<String>>,
    /// Work in this folder; the current one if a job is added
    #[arg(long, short = 'C', value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Use this permission profile
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Ask the model at most so often
    #[arg(long, value_name = "N")]
    max_turns: Option<u32>,
    /// Stop a run when this many dollars are spent
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Stop a run after this many seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// What becomes of missed runs: skip, once, or all:N
    #[arg(long, value_name = "RULE")]
    missed: Option<String>,
    /// Begin a run again that was interrupted
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
                CommandError::not_found(text).hint("`hermes cron list` shows the jobs.")
            }
            CronError::Ambiguous { matches, .. } => CommandError::usage(text)
                .hint(format!("Name one by its id: {}.", matches.join(", "))),
            CronError::NameTaken { id, .. } => CommandError::failed(ErrorKind::Conflict, text)
                .hint(format!("Give another --name, or change that one: hermes cron edit {id}")),
            CronError::Threat { .. } => CommandError::failed(ErrorKind::Denied, text)
                .hint("A scheduled task runs unwatched. Say what is to be done in plain words."),
            CronError::State(_) => CommandError::failed(ErrorKind::Conflict, text),
            CronError::ReadOnlyInRun => CommandError::failed(ErrorKind::Denied, text),
            CronError::Busy { .. } => CommandError::failed(ErrorKind::Timeout, text),
            CronError::Damaged { .. } => CommandError::failed(ErrorKind::Conflict, text)
                .hint("Mend the file or move it away."),
            _ => CommandError::failed(ErrorKind::Internal, text).hint("Look at HERMES_HOME/cron."),
        }
    }
}

/// The jobs of a home, as the settings want them.
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
            .map_err(|e| CommandError::from(e).or_hint("Mend `timezone` in config.yaml.")),
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
            report_job(app, &jobs, &job, "is planned")?;
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
        CronCommand::Resume { job } => report_job(app, &jobs, &jobs.resume(&job, now)?, "goes on")?,
        CronCommand::Remove { job } => {
            report_job(app, &jobs, &jobs.remove(&job, now)?, "is removed")?
        }
        CronCommand::Run { job, later: true } => {
            report_job(app, &jobs, &jobs.request_run(&job, now)?, "is left to the daemon")?;
        }
        CronCommand::Run { job, later: false } => {
            return daemon::run_now(app, &config, &jobs, &job);
        }
        CronCommand::Deliver { job } => return deliver::run(app, &jobs, &job),
        CronCommand::Daemon(options) => return daemon::serve(app, &config, &jobs, &options),
    }
    Ok(CliExitCode::Ok)
}

/// What a job names must be there: nobody would see it fail at night.
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
        let snapshot = ready.engine.snapshot();
        ready
            .engine
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
            let failure = CommandError::usage(format!("There is no message target '{name}'"));
            return Err(failure.hint(match &*names {
                "" => "Describe it under messaging.targets in config.yaml.".to_owned(),
                names => format!("There are: {names}."),
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
        let told = json!({ "schema_version": 1, "job": job, "daemon_running": running });
        app.terminal.print_line(&told.to_string())?;
        return Ok(());
    }
    let is_removed = what == "is removed";
    let next = job.next_run_at.filter(|_| job.enabled && !is_removed);
    let next =
        next.map_or(String::new(), |at| format!(" Next: {}.", jobs.format_time_for(job, at)));
    app.terminal.print_line(&job.id)?;
    app.terminal.note(&format!("'{}' ({}) {what}.{next}", job.name, job.schedule_display));
    if is_removed && job.held.is_some() {
        app.terminal.note("A run of it has begun; it is being stopped.");
    }
    if !running && job.enabled && !is_removed {
        app.terminal.note("Nothing runs it yet: start `hermes cron daemon`.");
    }
    Ok(())
}

/// A text, or what comes in on standard input.
fn text_or_stdin(text: String) -> Result<String, CommandError> {
    if text != "-" {
        return Ok(text);
    }
    let mut input = String::new();
    std::io::stdin()
        .lock()
        .take(1 << 20)
        .read_to_string(&mut input)
        .map_err(|e| CommandError::usage(format!("Standard input cannot be read: {e}")))?;
    Ok(input)
}

fn path_to_string(folder: PathBuf) -> Result<String, CommandError> {
    folder
        .into_os_string()
        .into_string()
        .map_err(|_| CommandError::usage("The folder's name is not text").hint("Give --cwd DIR."))
}
