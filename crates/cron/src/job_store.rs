//! Reads and changes the jobs of a home directory.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use hermes_store::regular_file;
use hermes_threats::{ScanLevel, scan};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::document::JobsDocument;
use crate::github_requests::hide_github_tokens;
use crate::job::{
    CronJob, DeliveryTarget, JobChange, JobDraft, JobState, MissedRunPolicy, RepeatCount,
    RequestedRun,
};
use crate::run::JobRun;
use crate::schedule::JobSchedule;
use crate::stamp::truncate_to_second;
use crate::{CronError, files, history};

/// Maximum number of enabled jobs.
const MAX_JOBS: usize = 1_000;

/// How many finished jobs are kept.
const MAX_FINISHED_JOBS: usize = 100;

/// Name of the job itself in `context_from`.
const SELF_SOURCE: &str = "self";

/// Maximum number of jobs in `context_from`.
const MAX_SOURCES: usize = 5;

/// Maximum length of a prompt; child processes cannot take much more.
const MAX_PROMPT_BYTES: usize = 100_000;

/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 50;

/// Maximum timeout of a run: one week.
const MAX_RUN_SECONDS: u64 = 7 * 86_400;

/// The jobs of a home directory, shared between processes. Each change is
/// atomic and made under a lock.
#[derive(Debug, Clone)]
pub struct JobStore {
    pub(crate) dir: PathBuf,
    pub(crate) zone: TimeZone,
    /// Whether this process is a scheduled run.
    in_scheduled_run: bool,
}

impl JobStore {
    /// The environment variable that marks a scheduled run; its value is the
    /// run id.
    pub const RUN_ID_VAR: &'static str = "HERMES_CRON_RUN";

    /// Returns the jobs of a home directory, in the system time zone.
    pub fn for_home(home: &Path) -> Self {
        Self { dir: home.join("cron"), zone: TimeZone::system(), in_scheduled_run: false }
    }

    /// Sets the time zone of schedules that name none.
    #[must_use]
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Sets the time zone by name, such as `Europe/Berlin`.
    pub fn with_zone_named(self, name: &str) -> Result<Self, CronError> {
        Ok(self.with_zone(crate::schedule::find_zone(name)?))
    }

    /// Makes the store read-only in a scheduled run, so no run schedules
    /// another.
    #[must_use]
    pub fn with_scheduled_run(mut self, inside: bool) -> Self {
        self.in_scheduled_run = inside;
        self
    }

    /// Whether this process is a scheduled run.
    pub fn is_in_scheduled_run(&self) -> bool {
        self.in_scheduled_run
    }

    /// The directory of the jobs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The time zone of schedules that name none.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Returns the current time, for callers without a clock.
    pub fn now(&self) -> Timestamp {
        Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(Timestamp::MAX)
    }

    /// Formats a time in the time zone of the store.
    pub fn format_time(&self, at: Timestamp) -> String {
        format_in_zone(at, self.zone.clone())
    }

    /// Formats a time in the time zone of a job, if it has one.
    pub fn format_time_for(&self, job: &CronJob, at: Timestamp) -> String {
        format_in_zone(at, job.schedule.zone(&self.zone).unwrap_or_else(|_| self.zone.clone()))
    }

    /// Returns all jobs, and the number of entries that cannot be parsed.
    pub fn list(&self) -> Result<(Vec<CronJob>, usize), CronError> {
        let document = self.read()?;
        Ok((document.jobs().cloned().collect(), document.unknown_count()))
    }

    /// Returns a job by id or name.
    pub fn get(&self, wanted: &str) -> Result<CronJob, CronError> {
        let document = self.read()?;
        let id = document.resolve_id(wanted)?;
        document.get(&id).cloned().ok_or(CronError::NotFound(id))
    }

    /// Returns the finished runs of a job, latest first.
    pub fn history(&self, wanted: &str, most: usize) -> Result<Vec<JobRun>, CronError> {
        let id = self.read()?.resolve_id(wanted)?;
        let mut runs = history::read(&self.dir, &id)?;
        runs.reverse();
        runs.truncate(most);
        Ok(runs)
    }

    /// Adds a job.
    pub fn add(&self, draft: JobDraft, now: Timestamp) -> Result<CronJob, CronError> {
        let now = truncate_to_second(now);
        let mut change = draft.change;
        change.prompt = Some(draft.prompt);
        change.schedule = Some(draft.schedule);
        let sources = change.context_from.take().unwrap_or_default();
        let mut job = blank_job(now);
        let given = change.name.take().filter(|name| !name.trim().is_empty());
        let is_given = given.is_some();
        let from = given.unwrap_or_else(|| change.prompt.clone().unwrap_or_default());
        change.name = Some(from);
        apply(&mut job, change, &self.zone, now)?;
        self.change_document(now, |document| {
            match is_given {
                true => require_free_name(document, &job.name, &job.id)?,
                // The name was derived from the prompt, so it may be changed.
                false => job.name = unique_name(document, &job.name),
            }
            if document.jobs().filter(|job| job.enabled).count() >= MAX_JOBS {
                return Err(CronError::State(format!(
                    "There are already {MAX_JOBS} jobs; remove some first"
                )));
            }
            while document.get(&job.id).is_some() {
                job.id = hermes_core::ids::random_hex(12);
            }
            job.context_from = resolve_sources(document, &sources, &job.id)?;
            self.remove_finished(document)?;
            document.push(job.clone());
            Ok(job)
        })
    }

    /// Changes a job.
    pub fn edit(
        &self,
        wanted: &str,
        change: JobChange,
        now: Timestamp,
    ) -> Result<CronJob, CronError> {
        let now = truncate_to_second(now);
        self.change_document(now, |document| {
            let id = document.resolve_id(wanted)?;
            let sources = change.context_from.as_deref();
            let sources = sources.map(|names| resolve_sources(document, names, &id)).transpose()?;
            let job = document.get_mut(&id).ok_or_else(|| CronError::NotFound(id.clone()))?;
            job.context_from = sources.unwrap_or_else(|| std::mem::take(&mut job.context_from));
            let before = (job.name.clone(), job.is_finished());
            apply(job, change, &self.zone, now)?;
            let job = job.clone();
            // A job that already shares its name, as other programs allow, can
            // be edited.
            if !job.is_finished() && before != (job.name.clone(), false) {
                require_free_name(document, &job.name, &id)?;
            }
            Ok(job)
        })
    }

    /// Pauses a job until it is resumed. A run in progress continues.
    pub fn pause(
        &self,
        wanted: &str,
        reason: Option<String>,
        now: Timestamp,
    ) -> Result<CronJob, CronError> {
        self.change_job(wanted, now, |job| {
            require_unfinished(job)?;
            job.enabled = false;
            job.state = JobState::Paused;
            job.paused_at = Some(now);
            job.paused_reason = reason;
            job.asked = None;
            Ok(())
        })
    }

    /// Resumes a job from its next slot.
    pub fn resume(&self, wanted: &str, now: Timestamp) -> Result<CronJob, CronError> {
        let now = truncate_to_second(now);
        self.change_job(wanted, now, |job| {
            require_unfinished(job)?;
            if job.is_waiting() {
                return Ok(());
            }
            let base = job.next_run_at.unwrap_or(now);
            let next = job.schedule.next(base, now, &self.zone)?;
            if next.is_none() {
                return Err(CronError::State(format!(
                    "The time of '{}' has passed; give it another schedule, or run it now",
                    job.name
                )));
            }
            job.next_run_at = next;
            activate(job);
            Ok(())
        })
    }

    /// Requests a run as soon as a daemon is running, regardless of the
    /// schedule.
    pub fn request_run(&self, wanted: &str, now: Timestamp) -> Result<CronJob, CronError> {
        self.change_job(wanted, now, |job| {
            require_supported(job)?;
            if job.held.is_none() && job.asked.is_none() {
                job.asked = Some(RequestedRun { at: now, attempt: 1 });
            }
            // A finished or paused job runs this once.
            Ok(())
        })
    }

    /// Removes a job; the daemon stops a run in progress. Its answers are kept.
    pub fn remove(&self, wanted: &str, now: Timestamp) -> Result<CronJob, CronError> {
        self.ensure_writable()?;
        self.change_document(now, |document| {
            let id = document.resolve_id(wanted)?;
            let job = document.get(&id).cloned().ok_or_else(|| CronError::NotFound(id.clone()))?;
            document.remove(&id);
            history::remove(&self.dir, &id)?;
            Ok(job)
        })
    }

    /// Whether a daemon is running.
    pub fn has_daemon(&self) -> bool {
        match regular_file::open(&self.dir.join(DAEMON_LOCK_FILE)) {
            Ok(file) => matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
            Err(_) => false,
        }
    }

    /// Marks a daemon as running as long as the handle is open.
    pub(crate) fn hold_daemon_lock(&self) -> Result<File, CronError> {
        files::create_private_dir(&self.dir)?;
        let path = self.dir.join(DAEMON_LOCK_FILE);
        let file = files::open(&path)?;
        file.lock_shared().map_err(|e| CronError::io("lock", &path, e))?;
        Ok(file)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.dir.join("jobs.json")
    }

    pub(crate) fn read(&self) -> Result<JobsDocument, CronError> {
        let path = self.file();
        JobsDocument::parse(&path, &files::read(&path)?.unwrap_or_default())
    }

    /// Changes the document under the lock. Nothing is written if `change`
    /// fails.
    pub(crate) fn update<T>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut JobsDocument) -> Result<T, CronError>,
    ) -> Result<T, CronError> {
        self.update_then(now, change, |_| {})
    }

    /// Like [`Self::update`], and calls `then` under the lock once the change is
    /// written.
    pub(crate) fn update_then<T>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut JobsDocument) -> Result<T, CronError>,
        then: impl FnOnce(&T),
    ) -> Result<T, CronError> {
        files::create_private_dir(&self.dir)?;
        let _lock = files::lock(&self.dir.join(".jobs.lock"))?;
        let path = self.file();
        let mut document = self.read()?;
        let before = document.to_json(now).ok();
        let answer = change(&mut document)?;
        let text = document
            .to_json(now)
            .map_err(|e| CronError::io("write", &path, std::io::Error::other(e)))?;
        if before.as_ref() != Some(&text) {
            files::write(&path, &text)?;
        }
        then(&answer);
        Ok(answer)
    }

    fn change_document<T>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut JobsDocument) -> Result<T, CronError>,
    ) -> Result<T, CronError> {
        self.ensure_writable()?;
        self.update(now, change)
    }

    fn change_job(
        &self,
        wanted: &str,
        now: Timestamp,
        change: impl FnOnce(&mut CronJob) -> Result<(), CronError>,
    ) -> Result<CronJob, CronError> {
        self.change_document(now, |document| {
            let id = document.resolve_id(wanted)?;
            let job = document.get_mut(&id).ok_or_else(|| CronError::NotFound(id.clone()))?;
            change(job)?;
            Ok(job.clone())
        })
    }

    fn ensure_writable(&self) -> Result<(), CronError> {
        if self.in_scheduled_run { Err(CronError::ReadOnlyInRun) } else { Ok(()) }
    }

    /// Removes the oldest finished jobs beyond the limit.
    fn remove_finished(&self, document: &mut JobsDocument) -> Result<(), CronError> {
        let over = |job: &&CronJob| job.is_finished() && job.held.is_none() && job.asked.is_none();
        let mut ended: Vec<_> =
            document.jobs().filter(over).map(|job| (job.last_run_at, job.id.clone())).collect();
        ended.sort();
        let many = ended.len().saturating_sub(MAX_FINISHED_JOBS);
        for (_, id) in ended.into_iter().take(many) {
            document.remove(&id);
            history::remove(&self.dir, &id)?;
        }
        Ok(())
    }
}

const DAEMON_LOCK_FILE: &str = ".daemon.lock";

/// Checks the length of a prompt and scans it for threats.
pub(crate) fn check_prompt(prompt: &str) -> Result<(), CronError> {
    if prompt.trim().is_empty() {
        return Err(CronError::Invalid("The prompt is missing or blank".into()));
    }
    if prompt.len() > MAX_PROMPT_BYTES {
        return Err(CronError::Invalid(format!(
            "The prompt has {} bytes; the maximum is {MAX_PROMPT_BYTES}; put the rest into a file",
            prompt.len()
        )));
    }
    match scan(&hide_github_tokens(prompt), ScanLevel::Strict).into_iter().next() {
        Some(found) => Err(CronError::Threat { rule: found.id, excerpt: found.excerpt }),
        None => Ok(()),
    }
}

/// Returns an error if only Hermes Agent can run the job.
pub(crate) fn require_supported(job: &CronJob) -> Result<(), CronError> {
    match job.unsupported_field() {
        None => Ok(()),
        Some(what) => Err(CronError::State(format!(
            "'{}' uses '{what}', which only Hermes Agent supports",
            job.name
        ))),
    }
}

fn require_unfinished(job: &CronJob) -> Result<(), CronError> {
    match job.state {
        JobState::Scheduled | JobState::Paused => Ok(()),
        JobState::Completed | JobState::Error => {
            Err(CronError::State(format!("'{}' has finished; give it another schedule", job.name)))
        }
    }
}

fn activate(job: &mut CronJob) {
    job.enabled = true;
    job.state = JobState::Scheduled;
    job.paused_at = None;
    job.paused_reason = None;
}

fn apply(
    job: &mut CronJob,
    change: JobChange,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<(), CronError> {
    let optional = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    if let Some(prompt) = change.prompt {
        check_prompt(&prompt)?;
        job.prompt = prompt;
    }
    if let Some(name) = change.name {
        job.name = name_from_text(&name);
    }
    if let Some(times) = change.repeat {
        job.repeat = RepeatCount { times: Some(times).filter(|times| *times > 0), completed: 0 };
    }
    reschedule(job, change.schedule, change.tz, zone, now)?;
    if let Some(deliver) = change.deliver {
        if deliver.chars().any(char::is_control) {
            return Err(CronError::Invalid("deliver must not contain control characters".into()));
        }
        let is_empty = DeliveryTarget::parse_list(&deliver).is_empty();
        job.deliver = if is_empty { "local".into() } else { deliver.trim().to_owned() };
    }
    if let Some(model) = change.model {
        job.model = optional(model);
    }
    if let Some(toolsets) = change.toolsets {
        job.enabled_toolsets = Some(toolsets).filter(|names| !names.is_empty());
    }
    if let Some(workdir) = change.workdir {
        job.workdir = optional(workdir);
        if job.workdir.as_ref().is_some_and(|dir| !Path::new(dir).is_absolute()) {
            return Err(CronError::Invalid("workdir must be an absolute path".into()));
        }
    }
    if let Some(profile) = change.profile {
        job.profile = optional(profile);
    }
    job.max_turns = change.max_turns.or(job.max_turns).filter(|turns| *turns > 0);
    if let Some(budget) = change.budget {
        if !budget.is_finite() || budget < 0.0 {
            return Err(CronError::Invalid(
                "The budget must be a non-negative number of dollars".into(),
            ));
        }
        job.budget = Some(budget).filter(|budget| *budget > 0.0);
    }
    if let Some(seconds) = change.timeout_seconds {
        if seconds > MAX_RUN_SECONDS {
            return Err(CronError::Invalid(format!(
                "The timeout of a run must not exceed {MAX_RUN_SECONDS} s"
            )));
        }
        job.timeout_seconds = Some(seconds).filter(|seconds| *seconds > 0);
    }
    job.missed = change.missed.unwrap_or(job.missed);
    job.retry = change.retry.unwrap_or(job.retry);
    Ok(())
}

/// Sets another schedule, or another time zone for the same one.
fn reschedule(
    job: &mut CronJob,
    schedule: Option<String>,
    tz: Option<String>,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<(), CronError> {
    let (text, tz) = match (schedule, tz, &job.schedule) {
        (None, None, _) => return Ok(()),
        (Some(text), tz, _) => (text, tz),
        (None, tz, JobSchedule::Cron { expr, .. }) => (expr.clone(), tz),
        (None, Some(_), _) => {
            return Err(CronError::Invalid(
                "Only a cron expression has a time zone; give the schedule as well".into(),
            ));
        }
    };
    let schedule = JobSchedule::parse(&text, tz.as_deref(), zone, now)?;
    let first = match &schedule {
        JobSchedule::Once { run_at, .. } => Some(*run_at),
        JobSchedule::Interval { minutes, .. } => Some(crate::stamp::add_seconds(now, minutes * 60)),
        JobSchedule::Cron { .. } => schedule.next(now, now, zone)?,
    };
    if first.is_none() {
        return Err(CronError::Schedule(format!("'{text}' never occurs again")));
    }
    if schedule.is_once() {
        job.repeat = RepeatCount { times: Some(1), completed: 0 };
    } else if job.schedule.is_once() && job.repeat.times == Some(1) {
        job.repeat = RepeatCount::default();
    }
    job.schedule_display = schedule.display().to_owned();
    job.schedule = schedule;
    job.next_run_at = first;
    if job.state != JobState::Paused {
        activate(job);
    }
    Ok(())
}

/// Returns the ids of the jobs whose last answer a task gets. `self` is the job
/// itself.
fn resolve_sources(
    document: &JobsDocument,
    names: &[String],
    own: &str,
) -> Result<Vec<String>, CronError> {
    let mut ids = Vec::new();
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        let id = if name == SELF_SOURCE || name == own {
            own.to_owned()
        } else {
            document.resolve_id(name)?
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.len() > MAX_SOURCES {
        return Err(CronError::Invalid(format!(
            "context_from names {} jobs; the maximum is {MAX_SOURCES}",
            ids.len()
        )));
    }
    Ok(ids)
}

/// Returns an error if another job has this name, which would make commands
/// ambiguous.
fn require_free_name(document: &JobsDocument, name: &str, except: &str) -> Result<(), CronError> {
    match document.find_by_name(name, except) {
        None => Ok(()),
        Some(job) => Err(CronError::NameTaken { name: job.name.clone(), id: job.id.clone() }),
    }
}

/// Returns this name, numbered if another job has it.
fn unique_name(document: &JobsDocument, name: &str) -> String {
    let numbered = (2..).map(|at| format!("{name} ({at})"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| document.find_by_name(name, "").is_none()).unwrap_or_default()
}

/// Returns the first line of a text, as a name.
fn name_from_text(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("task");
    let clean: String = line.chars().filter(|c| !c.is_control()).collect();
    match clean.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => clean.get(..end).unwrap_or(&clean).trim_end().to_owned(),
        None => clean,
    }
}

fn blank_job(now: Timestamp) -> CronJob {
    CronJob {
        id: hermes_core::ids::random_hex(12),
        name: String::new(),
        prompt: String::new(),
        context_from: Vec::new(),
        schedule: JobSchedule::Interval { minutes: 1, display: String::new() },
        schedule_display: String::new(),
        repeat: RepeatCount::default(),
        enabled: true,
        state: JobState::Scheduled,
        paused_at: None,
        paused_reason: None,
        created_at: Some(now),
        next_run_at: None,
        last_run_at: None,
        last_status: None,
        last_error: None,
        last_delivery_error: None,
        deliver: "local".into(),
        model: None,
        enabled_toolsets: None,
        workdir: None,
        profile: None,
        max_turns: None,
        budget: None,
        timeout_seconds: None,
        missed: MissedRunPolicy::default(),
        retry: false,
        asked: None,
        held: None,
        rest: serde_json::Map::new(),
    }
}

fn format_in_zone(at: Timestamp, zone: TimeZone) -> String {
    at.to_zoned(zone).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
