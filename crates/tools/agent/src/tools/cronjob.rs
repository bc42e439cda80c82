//! Tasks that run at scheduled times.

use hermes_core::{
    Effect, ErrorKind, JsonSchema, Resource, Scope, Tool, ToolContext, ToolError, ToolExample,
    ToolSpec, WorkingDir,
};
use hermes_cron::{
    CronError, CronJob, DeliveryTarget, JobChange, JobDraft, JobRun, JobStore, MissedRunPolicy,
};
use serde::{Deserialize, Serialize};

/// Maximum number of runs in a history.
const MAX_HISTORY_RUNS: usize = 20;

/// Maximum length of a prompt preview in a list.
const PREVIEW_CHARS: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct Cronjob;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CronjobAction {
    Create,
    List,
    Show,
    Update,
    Pause,
    Resume,
    Run,
    Remove,
    History,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What to do
    action: CronjobAction,
    /// Its id or name
    #[serde(default)]
    job_id: Option<String>,
    /// The task, self-contained
    #[serde(default)]
    prompt: Option<String>,
    /// Once: '30m', 'in 2h', '2030-02-03T14:00'. Repeated: 'every 30m', '0 9 * * MON-FRI'
    #[serde(default)]
    schedule: Option<String>,
    /// Such as Europe/Berlin
    #[serde(default)]
    timezone: Option<String>,
    /// Job name
    #[serde(default)]
    name: Option<String>,
    /// Number of runs; 0: unlimited
    #[serde(default)]
    repeat: Option<u32>,
    /// local (file) or comma-separated send_message targets
    #[serde(default)]
    deliver: Option<String>,
    /// For runs
    #[serde(default)]
    model: Option<String>,
    /// For runs
    #[serde(default)]
    enabled_toolsets: Option<Vec<String>>,
    /// Jobs whose last answer it gets; self: its own
    #[serde(default)]
    context_from: Option<Vec<String>>,
    /// Default: current dir
    #[serde(default)]
    workdir: Option<String>,
    /// Missed runs: skip, once, or all:N
    #[serde(default)]
    missed: Option<String>,
    /// If interrupted
    #[serde(default)]
    retry: Option<bool>,
    /// Seconds
    #[serde(default)]
    timeout: Option<u64>,
    /// Reason for pause
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum CronjobAnswer {
    Changed {
        success: bool,
        job_id: String,
        name: String,
        schedule: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        next_run_at: Option<String>,
        deliver: String,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        notice: Option<&'static str>,
    },
    Listed {
        count: usize,
        jobs: Vec<CronjobRow>,
        scheduler_running: bool,
    },
    Shown {
        job: Box<CronJob>,
        scheduler_running: bool,
    },
    Past {
        job_id: String,
        count: usize,
        runs: Vec<JobRun>,
    },
}

/// A job in a list.
#[derive(Debug, Serialize)]
pub(crate) struct CronjobRow {
    job_id: String,
    name: String,
    schedule: String,
    state: &'static str,
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_run_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_status: Option<String>,
    prompt_preview: String,
}

impl Args {
    fn scope(&self) -> Scope {
        match self.action {
            CronjobAction::List | CronjobAction::Show | CronjobAction::History => {
                Scope::SCHEDULE_READ
            }
            _ => Scope::SCHEDULE_WRITE,
        }
    }

    /// Returns the resource that the call acts on.
    fn resource(&self) -> Resource {
        let named = match self.action {
            CronjobAction::List => None,
            CronjobAction::Create => self.name.as_deref(),
            _ => self.job_id.as_deref(),
        };
        let named = named.map(str::trim).filter(|name| !name.is_empty());
        Resource::Name(named.unwrap_or("jobs").to_owned())
    }

    /// Returns the message targets that the call sets.
    fn delivery_targets(&self) -> Vec<String> {
        let changes = matches!(self.action, CronjobAction::Create | CronjobAction::Update);
        let deliver = self.deliver.as_deref().filter(|_| changes).unwrap_or_default();
        let messages =
            DeliveryTarget::parse_list(deliver).into_iter().filter_map(|target| match target {
                DeliveryTarget::Message(name) => Some(name),
                DeliveryTarget::File => None,
            });
        messages.collect()
    }

    /// Returns the directory that the call sets for runs, if any.
    fn working_dir(&self, at: &WorkingDir) -> Option<std::path::PathBuf> {
        let said = self.workdir.as_deref().filter(|dir| !dir.trim().is_empty());
        match self.action {
            CronjobAction::Create => Some(at.resolve(said.unwrap_or("."))),
            CronjobAction::Update => said.map(|dir| at.resolve(dir)),
            _ => None,
        }
    }

    fn effects(&self, at: &WorkingDir) -> Vec<Effect> {
        let mut effects = vec![Effect { scope: self.scope(), resource: self.resource() }];
        let message = |name| Effect::name(Scope::MESSAGE_SEND, name);
        effects.extend(self.delivery_targets().into_iter().map(message));
        // A run may write to its working directory.
        effects.extend(self.working_dir(at).map(|dir| Effect::path(Scope::FILE_WRITE, dir)));
        effects
    }

    /// Requires `deliver` when the task or schedule changes: both change what
    /// is sent and how often, so the policy must judge the call as sending.
    fn require_targets(&self, job: &CronJob) -> Result<(), ToolError> {
        let changes = self.prompt.is_some()
            || self.schedule.is_some()
            || self.repeat.is_some()
            || self.context_from.is_some()
            || self.workdir.is_some();
        let sends = |target: &DeliveryTarget| matches!(target, DeliveryTarget::Message(_));
        if !changes
            || self.deliver.is_some()
            || !DeliveryTarget::parse_list(&job.deliver).iter().any(sends)
        {
            return Ok(());
        }
        let message = format!("Job '{}' sends its answers to {}", job.name, job.deliver);
        Err(ToolError::conflict(message)
            .with("job_id", job.id.clone())
            .with("deliver", job.deliver.clone())
            .with_hint(format!(
                "Repeat the destination in this call: deliver '{}', or 'local'.",
                job.deliver
            )))
    }

    fn required_job_id(&self) -> Result<&str, ToolError> {
        let named = self.job_id.as_deref().map(str::trim).filter(|id| !id.is_empty());
        named.ok_or_else(|| {
            ToolError::invalid("job_id is missing").with_hint("action=list shows the jobs.")
        })
    }

    fn change(&mut self, folder: Option<String>) -> Result<JobChange, ToolError> {
        let missed = self.missed.take().map(|rule| MissedRunPolicy::parse(&rule)).transpose();
        Ok(JobChange {
            name: self.name.take(),
            prompt: self.prompt.take(),
            schedule: self.schedule.take(),
            tz: self.timezone.take(),
            repeat: self.repeat,
            deliver: self.deliver.take(),
            model: self.model.take(),
            toolsets: self.enabled_toolsets.take(),
            workdir: folder,
            context_from: self.context_from.take(),
            profile: None,
            max_turns: None,
            budget: None,
            timeout_seconds: self.timeout,
            missed: missed.map_err(|e| cron_error(&e))?,
            retry: self.retry,
        })
    }
}

impl Tool for Cronjob {
    type Args = Args;
    type Output = CronjobAnswer;

    fn spec() -> ToolSpec {
        ToolSpec::new("cronjob", "cronjob")
            .emoji("⏰")
            .description(
                "Tasks that run at scheduled times, each in a separate conversation, with no \
                 user to ask.",
            )
            .alias("cronjob_manage")
            .alias("cron_scheduler")
            .preset_alias("schedule_cronjob", r#"{"action":"create"}"#)
            .preset_alias("list_cronjobs", r#"{"action":"list"}"#)
            .preset_alias("remove_cronjob", r#"{"action":"remove"}"#)
            .parameter_alias("id", "job_id")
            .parameter_alias("task", "prompt")
            .parameter_alias("tz", "timezone")
            .keyword("schedule")
            .keyword("reminder")
            .keyword("later")
            .keyword("daily")
            .keyword("periodic")
            .example(
                ToolExample::new(
                    "Every weekday at nine",
                    r#"{"action":"create","name":"News","prompt":"Tell what is new in CHANGELOG.md since yesterday.","schedule":"0 9 * * MON-FRI","timezone":"Europe/Berlin"}"#,
                )
                .expects(r#"{"success":true,"name":"News","schedule":"0 9 * * MON-FRI (Europe/Berlin)"}"#),
            )
            .example(
                ToolExample::new(
                    "Once, in two hours",
                    r#"{"action":"create","prompt":"Check whether the build has finished.","schedule":"2h"}"#,
                )
                .expects(r#"{"success":true,"schedule":"once in 2h","deliver":"local"}"#),
            )
            .example(ToolExample::new("List scheduled jobs", r#"{"action":"list"}"#).expects(r#"{"count":0}"#))
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        args.effects(at)
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<CronjobAnswer, ToolError> {
        for effect in args.effects(&cx.working_dir) {
            cx.check_grant(&effect.scope, &effect.resource)?;
        }
        let Some(jobs) = cx.ports.get::<JobStore>() else {
            return Err(ToolError::unavailable("No job store is available"));
        };
        let folder = args.working_dir(&cx.working_dir);
        let folder = folder.map(|dir| dir.into_os_string().into_string()).transpose();
        let folder = folder.map_err(|_| {
            ToolError::invalid("The directory's path is not valid UTF-8; choose another")
        })?;
        // Another process may hold the lock.
        let work = tokio::task::spawn_blocking(move || serve(&jobs, args, folder));
        work.await.map_err(|e| ToolError::internal(format!("The cron worker failed: {e}")))?
    }
}

fn serve(
    jobs: &JobStore,
    mut args: Args,
    folder: Option<String>,
) -> Result<CronjobAnswer, ToolError> {
    let now = jobs.now();
    let running = jobs.has_daemon();
    match args.action {
        CronjobAction::List => {
            let (all, _) = jobs.list().map_err(|e| cron_error(&e))?;
            let rows: Vec<CronjobRow> = all.into_iter().map(|job| job_row(jobs, job)).collect();
            Ok(CronjobAnswer::Listed { count: rows.len(), jobs: rows, scheduler_running: running })
        }
        CronjobAction::Show => {
            let job = jobs.get(args.required_job_id()?).map_err(|e| cron_error(&e))?;
            Ok(CronjobAnswer::Shown { job: Box::new(job), scheduler_running: running })
        }
        CronjobAction::History => {
            let job = jobs.get(args.required_job_id()?).map_err(|e| cron_error(&e))?;
            let runs = jobs.history(&job.id, MAX_HISTORY_RUNS).map_err(|e| cron_error(&e))?;
            Ok(CronjobAnswer::Past { job_id: job.id, count: runs.len(), runs })
        }
        CronjobAction::Create => {
            let missing = |what: &str| {
                ToolError::invalid(format!("create needs {what}"))
                    .with_hint("prompt is the task, schedule the time.")
            };
            let prompt = args.prompt.take().ok_or_else(|| missing("prompt"))?;
            let schedule = args.schedule.take().ok_or_else(|| missing("schedule"))?;
            let draft = JobDraft { prompt, schedule, change: args.change(folder)? };
            let job = jobs.add(draft, now).map_err(|e| cron_error(&e))?;
            let message = format!("Job '{}' is scheduled: {}.", job.name, job.schedule_display);
            Ok(changed_answer(jobs, job, message))
        }
        CronjobAction::Update => {
            let wanted = jobs.get(args.required_job_id()?).map_err(|e| cron_error(&e))?;
            args.require_targets(&wanted)?;
            let change = args.change(folder)?;
            let job = jobs.edit(&wanted.id, change, now).map_err(|e| cron_error(&e))?;
            let message = format!("Job '{}' is updated.", job.name);
            Ok(changed_answer(jobs, job, message))
        }
        CronjobAction::Pause => {
            let reason = args.reason.take();
            let job =
                jobs.pause(args.required_job_id()?, reason, now).map_err(|e| cron_error(&e))?;
            let message = format!("Job '{}' is paused.", job.name);
            Ok(changed_answer(jobs, job, message))
        }
        CronjobAction::Resume => {
            let job = jobs.resume(args.required_job_id()?, now).map_err(|e| cron_error(&e))?;
            let message = format!("Job '{}' is resumed.", job.name);
            Ok(changed_answer(jobs, job, message))
        }
        CronjobAction::Run => {
            let job = jobs.request_run(args.required_job_id()?, now).map_err(|e| cron_error(&e))?;
            let message = match &job.held {
                Some(_) => format!("Job '{}' is already running.", job.name),
                None => format!("Job '{}' runs at the scheduler's next check.", job.name),
            };
            Ok(changed_answer(jobs, job, message))
        }
        CronjobAction::Remove => {
            let job = jobs.remove(args.required_job_id()?, now).map_err(|e| cron_error(&e))?;
            let message = format!("Job '{}' is removed; its answers are kept.", job.name);
            Ok(changed_answer(jobs, job, message))
        }
    }
}

fn job_row(jobs: &JobStore, job: CronJob) -> CronjobRow {
    let next = job.next_run_at.filter(|_| job.enabled).map(|at| jobs.format_time_for(&job, at));
    let last = job.last_run_at.map(|at| jobs.format_time_for(&job, at));
    let preview = match job.prompt.char_indices().nth(PREVIEW_CHARS) {
        Some((end, _)) => format!("{}…", job.prompt.get(..end).unwrap_or_default()),
        None => job.prompt,
    };
    CronjobRow {
        schedule: job.schedule_display,
        state: job.state.name(),
        running: job.held.is_some(),
        next_run_at: next,
        last_run_at: last,
        last_status: job.last_status,
        prompt_preview: preview,
        job_id: job.id,
        name: job.name,
    }
}

fn changed_answer(jobs: &JobStore, job: CronJob, message: String) -> CronjobAnswer {
    let next = job.next_run_at.filter(|_| job.enabled).map(|at| jobs.format_time_for(&job, at));
    let idle = !jobs.has_daemon();
    CronjobAnswer::Changed {
        success: true,
        job_id: job.id,
        name: job.name,
        schedule: job.schedule_display,
        next_run_at: next,
        deliver: job.deliver,
        message,
        notice: idle.then_some(
            "No scheduler is running: jobs start when the user runs `hermes cron daemon`.",
        ),
    }
}

/// Converts the error, with a hint on what to do next.
fn cron_error(error: &CronError) -> ToolError {
    let text = error.to_string();
    match error {
        CronError::Schedule(_) | CronError::Invalid(_) => ToolError::invalid(text),
        CronError::NotFound(_) => {
            ToolError::not_found(text).with_hint("action=list shows the jobs.")
        }
        CronError::Ambiguous { matches, .. } => ToolError::invalid(text)
            .with("matches", matches.clone())
            .with_hint("Identify the job by its id."),
        CronError::NameTaken { id, .. } => ToolError::conflict(text)
            .with("job_id", id.clone())
            .with_hint("action=update changes that job; a new job needs another name."),
        CronError::Threat { rule, .. } => ToolError::denied(text)
            .with("rule", *rule)
            .with_hint("A scheduled task runs unattended. Describe the task in plain words."),
        CronError::State(_) => ToolError::conflict(text),
        CronError::ReadOnlyInRun => ToolError::denied(text)
            .with_hint("State in your answer what should be scheduled; the user decides."),
        CronError::Busy { .. } => {
            ToolError::new(ErrorKind::Timeout, text).with_hint("Nothing was written. Retry.")
        }
        CronError::Damaged { .. } => {
            ToolError::conflict(text).with_hint("Ask the user to repair the file or move it away.")
        }
        CronError::Io { source, .. } => {
            let kind = ToolError::io("", source).kind();
            ToolError::new(kind, text)
        }
        _ => ToolError::internal(text),
    }
}

#[cfg(test)]
#[path = "cronjob_tests.rs"]
mod tests;
