//! The daemon: claims due runs, executes each in a child process, and delivers
//! the answers.

use std::process::Command;
use std::time::{Duration, Instant};

use hermes_core::text::omit_middle;
use hermes_threats::label;
use jiff::Timestamp;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use crate::CronError;
use crate::child_process::{self, ChildEnd, ChildInput, ChildOutcome, ProcessLimits};
use crate::claims::RunClaim;
use crate::job::{CronJob, DeliveryTarget};
use crate::job_store::JobStore;
use crate::output::{self, RunAnswer};
use crate::run::{AnswerDelivery, JobRun, RunEnding, RunStatus};

/// Timeout of one delivery.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum length of a delivered answer; the whole answer is in its file.
const MAX_MESSAGE_CHARS: usize = 50_000;

/// Maximum size of an earlier answer in a task.
const MAX_CONTEXT_BYTES: usize = 8_000;

/// Why a run is stopped after its claim was lost.
const CLAIM_LOST_REASON: &str = "the job was removed or claimed by another process";

/// How often interrupted runs of other processes are recovered.
const RECOVERY_INTERVAL: Duration = Duration::from_secs(10);

/// A source of the current time.
pub trait WallClock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl WallClock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(Timestamp::MAX)
    }
}

/// The commands that the daemon executes.
pub trait RunCommands: Send + Sync {
    /// Returns the command that carries out a task. It reads the task from
    /// stdin; the last line of stdout is a JSON object with `status`, `text`
    /// and `session`.
    fn run_command(&self, job: &CronJob, run: &str) -> Command;

    /// Redacts known secrets in an earlier answer, which becomes a part of the
    /// task.
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }

    /// Returns the command that sends a message. It reads a JSON object with
    /// `target`, `title` and `message` from stdin.
    fn deliver_command(&self, job: &CronJob) -> Command;
}

/// Settings of the daemon.
#[derive(Debug, Clone)]
pub struct DaemonSettings {
    /// Maximum number of concurrent runs.
    pub max_parallel: usize,
    /// Duration of a claim in seconds unless it is renewed.
    pub lease: u64,
    /// How often to check whether the jobs file has changed.
    pub poll_interval: Duration,
    /// Timeout of a run, unless its job sets one.
    pub run_timeout: Duration,
    /// How long a child process has to exit after SIGTERM.
    pub grace: Duration,
    /// How many answers per job are kept.
    pub kept_outputs: usize,
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self {
            max_parallel: 4,
            lease: 60,
            poll_interval: Duration::from_secs(1),
            run_timeout: Duration::from_secs(3_600),
            grace: Duration::from_secs(5),
            kept_outputs: 50,
        }
    }
}

/// An event of the daemon.
#[derive(Debug)]
pub enum CronEvent<'a> {
    /// A run has started.
    Started {
        /// The job.
        job: &'a CronJob,
        /// The run id.
        run: &'a str,
    },
    /// A run has ended, or was skipped.
    Ended(&'a JobRun),
    /// A problem that does not affect other runs.
    Warning(&'a str),
}

/// When the daemon stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCondition {
    /// Only on request.
    OnRequest,
    /// When nothing is due and nothing is running.
    Idle,
}

/// Wakes or stops the daemon.
#[derive(Debug, Default)]
pub struct WakeSignal {
    state: Mutex<WakeState>,
    condvar: Condvar,
}

#[derive(Debug, Default)]
struct WakeState {
    stop: bool,
    /// Something has changed since the last wait.
    pending: bool,
}

impl WakeSignal {
    /// Stops the daemon and its runs.
    pub fn stop(&self) {
        self.update(|rung| rung.stop = true);
    }

    fn notify(&self) {
        self.update(|rung| rung.pending = true);
    }

    fn is_stopped(&self) -> bool {
        self.state.lock().stop
    }

    fn update(&self, change: impl FnOnce(&mut WakeState)) {
        change(&mut self.state.lock());
        self.condvar.notify_all();
    }

    /// Waits for a notification, at most `most`.
    fn wait(&self, most: Duration) {
        let mut state = self.state.lock();
        let quiet = |rung: &mut WakeState| !rung.stop && !rung.pending;
        self.condvar.wait_while_for(&mut state, quiet, most);
        state.pending = false;
    }
}

/// Runs jobs when they are due.
pub struct CronDaemon<'a> {
    /// The jobs.
    pub jobs: JobStore,
    /// The commands to execute.
    pub commands: &'a dyn RunCommands,
    /// How.
    pub settings: DaemonSettings,
    /// The clock.
    pub clock: &'a dyn WallClock,
    /// Called for each event.
    pub on_event: &'a (dyn Fn(&CronEvent<'_>) + Sync),
}

impl std::fmt::Debug for CronDaemon<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CronDaemon")
            .field("jobs", &self.jobs)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl CronDaemon<'_> {
    /// Executes due runs until `bell` requests a stop, then stops those still
    /// running.
    pub fn serve(&self, bell: &WakeSignal, until: StopCondition) -> Result<(), CronError> {
        let _here = self.jobs.hold_daemon_lock()?;
        std::thread::scope(|threads| {
            let mut running: Vec<std::thread::ScopedJoinHandle<'_, ()>> = Vec::new();
            let mut watch = JobsWatch::default();
            while !bell.is_stopped() {
                running.retain(|thread| !thread.is_finished());
                let room = self.settings.max_parallel.max(1).saturating_sub(running.len());
                let claims = self.claim_due(&mut watch, room);
                if claims.is_empty() && running.is_empty() && until == StopCondition::Idle {
                    return;
                }
                for claim in claims {
                    running.push(threads.spawn(move || {
                        self.run_claim(claim, bell);
                        bell.notify();
                    }));
                }
                bell.wait(self.pause(&watch, running.len()));
            }
        });
        Ok(())
    }

    /// Executes one run now, regardless of the schedule.
    pub fn run_now(&self, wanted: &str, bell: &WakeSignal) -> Result<JobRun, CronError> {
        let claim = self.jobs.claim_now(wanted, self.settings.lease, self.clock.now())?;
        (self.on_event)(&CronEvent::Started { job: &claim.job, run: &claim.run });
        self.execute(claim, bell)
    }

    /// Claims due runs, if any could be due.
    fn claim_due(&self, watch: &mut JobsWatch, room: usize) -> Vec<RunClaim> {
        let now = self.clock.now();
        let patrol = watch.recovered_at.is_none_or(|at| at.elapsed() >= RECOVERY_INTERVAL);
        let changed = watch.has_changed(&self.jobs);
        let due = watch.next.is_some_and(|at| at <= now);
        if !(patrol || changed || due) {
            return Vec::new();
        }
        let found = self.jobs.recover(now).and_then(|interrupted| {
            let (claims, skipped) = self.jobs.claim(room, self.settings.lease, now)?;
            watch.next = self.jobs.next_due()?;
            Ok((interrupted, claims, skipped))
        });
        watch.recovered_at = Some(Instant::now());
        match found {
            Ok((interrupted, claims, skipped)) => {
                for run in interrupted.iter().chain(&skipped) {
                    (self.on_event)(&CronEvent::Ended(run));
                }
                claims
            }
            Err(error) => {
                (self.on_event)(&CronEvent::Warning(&error.to_string()));
                watch.seen = None;
                Vec::new()
            }
        }
    }

    /// Returns how long to wait before the next check.
    fn pause(&self, watch: &JobsWatch, running: usize) -> Duration {
        let full = running >= self.settings.max_parallel.max(1);
        let wait = match watch.next {
            // At full capacity, it waits for a run to end.
            Some(at) if !full => {
                let left = at.duration_since(self.clock.now());
                Duration::try_from(left).unwrap_or_default().min(self.settings.poll_interval)
            }
            _ => self.settings.poll_interval,
        };
        wait.max(Duration::from_millis(1))
    }

    fn run_claim(&self, claim: RunClaim, bell: &WakeSignal) {
        (self.on_event)(&CronEvent::Started { job: &claim.job, run: &claim.run });
        match self.execute(claim, bell) {
            Ok(run) => (self.on_event)(&CronEvent::Ended(&run)),
            Err(error) => (self.on_event)(&CronEvent::Warning(&error.to_string())),
        }
    }

    /// Executes a run, then saves and delivers the answer.
    fn execute(&self, claim: RunClaim, bell: &WakeSignal) -> Result<JobRun, CronError> {
        let time = claim.job.timeout_seconds.map_or(self.settings.run_timeout, Duration::from_secs);
        let limits = ProcessLimits { time, grace: self.settings.grace };
        let (mut renewed, mut looked) = (Instant::now(), Instant::now());
        let every = Duration::from_secs(self.settings.lease.max(3)) / 3;
        let mut halt = || {
            if bell.is_stopped() {
                return Some("the scheduler is shutting down");
            }
            if renewed.elapsed() >= every {
                renewed = Instant::now();
                // If the lock is busy, the next renewal tries again.
                let held = self.jobs.renew(&claim, self.settings.lease, self.clock.now());
                return (!held.unwrap_or(true)).then_some(CLAIM_LOST_REASON);
            }
            if looked.elapsed() >= self.settings.poll_interval {
                looked = Instant::now();
                return (!self.jobs.is_claim_held(&claim)).then_some(CLAIM_LOST_REASON);
            }
            None
        };
        let context = self.last_answers(&claim.job);
        let handle = claim.task_file(&task_prompt(&claim.job, &context))?;
        let command = self.commands.run_command(&claim.job, &claim.run);
        let ended = child_process::run_child(command, ChildInput::File(handle), limits, &mut halt);
        let outcome = RunOutcome::from_child(ended, time).require_answer();
        let ending = self.record_answer(&claim, outcome, bell);
        self.jobs.finish(claim, ending, self.clock.now())
    }

    /// Returns the last answers of the jobs in `context_from`: redacted, bounded
    /// and labelled as data.
    fn last_answers(&self, job: &CronJob) -> String {
        let mut text = String::new();
        for id in &job.context_from {
            let Some(answer) = output::last_answer(self.jobs.dir(), id) else { continue };
            let answer = self.commands.redact(&answer);
            let answer = omit_middle(&answer, MAX_CONTEXT_BYTES);
            let (whose, source) = if *id == job.id {
                ("The previous answer of this task".to_owned(), "previous run")
            } else {
                (format!("The last answer of the scheduled task {id}"), "scheduled task")
            };
            text.push_str(&format!("{whose}:\n{}\n\n", label(source, &answer).text));
        }
        text
    }

    /// Saves the answer, and delivers it.
    fn record_answer(&self, claim: &RunClaim, outcome: RunOutcome, bell: &WakeSignal) -> RunEnding {
        let answer = RunAnswer {
            status: outcome.status,
            text: &outcome.text,
            error: outcome.error.as_deref(),
            session: outcome.session.as_deref(),
        };
        let zone = claim.job.schedule.zone(self.jobs.zone());
        let zone = zone.unwrap_or_else(|_| self.jobs.zone().clone());
        let kept = self.settings.kept_outputs;
        let page = output::write_output(self.jobs.dir(), claim, &answer, &zone, kept);
        let mut ending = RunEnding::new(outcome.status);
        ending.error = outcome.error.clone();
        match &page {
            Ok(path) => ending.output = Some(path.display().to_string()),
            Err(error) => {
                let error = format!("The answer could not be saved: {error}");
                (self.on_event)(&CronEvent::Warning(&error));
                ending.error.get_or_insert(error);
            }
        }
        let silent = outcome.status == RunStatus::Ok && output::is_silent(&outcome.text);
        if !silent && outcome.status != RunStatus::Cancelled {
            ending.delivered = self.deliver(&claim.job, &outcome, ending.output.as_deref(), bell);
        }
        ending.session = outcome.session;
        ending.usage = outcome.usage;
        ending
    }

    fn deliver(
        &self,
        job: &CronJob,
        outcome: &RunOutcome,
        page: Option<&str>,
        bell: &WakeSignal,
    ) -> Vec<AnswerDelivery> {
        let mut delivered = Vec::new();
        for target in job.targets() {
            let DeliveryTarget::Message(target) = target else { continue };
            let letter = json!({
                "target": target, "title": job.name, "message": outcome.message(&job.name, page),
            });
            let limits = ProcessLimits { time: DELIVERY_TIMEOUT, grace: self.settings.grace };
            let mut halt = || bell.is_stopped().then_some("the scheduler is shutting down");
            let command = self.commands.deliver_command(job);
            let ended = child_process::run_child(
                command,
                ChildInput::Text(letter.to_string()),
                limits,
                &mut halt,
            );
            delivered.push(AnswerDelivery {
                target,
                error: RunOutcome::from_child(ended, DELIVERY_TIMEOUT).into_error(),
            });
        }
        delivered
    }
}

/// The last observed state of the jobs file.
#[derive(Debug, Default)]
struct JobsWatch {
    seen: Option<(std::time::SystemTime, u64)>,
    next: Option<Timestamp>,
    recovered_at: Option<Instant>,
}

impl JobsWatch {
    /// Whether the jobs file has changed.
    fn has_changed(&mut self, jobs: &JobStore) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::metadata(jobs.file()).ok();
        let seen = found.and_then(|file| Some((file.modified().ok()?, file.ino())));
        let changed = seen != self.seen;
        self.seen = seen;
        changed
    }
}

/// The outcome of a child process.
#[derive(Debug)]
struct RunOutcome {
    status: RunStatus,
    /// The status it reported, if it printed a result.
    reported_status: Option<String>,
    text: String,
    error: Option<String>,
    session: Option<String>,
    usage: Value,
}

impl RunOutcome {
    fn from_child(ended: std::io::Result<ChildOutcome>, time: Duration) -> Self {
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                return Self::failed(format!("The program could not be run: {error}"));
            }
        };
        let last = ended.last.unwrap_or_default();
        let word = |key: &str| last.get(key).and_then(Value::as_str).map(str::to_owned);
        let is_result = word("type").as_deref() == Some("result");
        // Calls that need approval are held back in every run. The command fails
        // then, but the task was done without them.
        let has_held =
            last.get("held_calls").and_then(Value::as_array).is_some_and(|held| !held.is_empty());
        let is_done = is_result && has_held && word("end").as_deref() == Some("done");
        let messages = ended.messages.trim();
        let shown = || {
            let said = word("error")
                .or_else(|| word("reason"))
                .or_else(|| (!messages.is_empty()).then(|| messages.to_owned()));
            said.or_else(|| word("status")).unwrap_or_else(|| "no error output".into())
        };
        let (status, error) = match ended.end {
            ChildEnd::TimedOut => {
                (RunStatus::TimedOut, Some(format!("Timed out after {} s", time.as_secs())))
            }
            ChildEnd::Stopped(why) => (RunStatus::Cancelled, Some(format!("Stopped: {why}"))),
            ChildEnd::Exited(exit) if exit.success() || is_done => (RunStatus::Ok, None),
            ChildEnd::Exited(exit) => (RunStatus::Failed, Some(format!("{} ({exit})", shown()))),
        };
        Self {
            status,
            error,
            reported_status: match is_done {
                true => Some("success".to_owned()),
                false => word("status").filter(|_| is_result),
            },
            text: word("text").unwrap_or_default(),
            session: word("session"),
            usage: last.get("usage").cloned().unwrap_or_default(),
        }
    }

    /// Fails a run without a reported success and an answer.
    fn require_answer(mut self) -> Self {
        if self.status == RunStatus::Ok {
            let wrong = match self.reported_status.as_deref() {
                Some("success") if !self.text.trim().is_empty() => return self,
                Some("success") | None => "The run returned no answer".to_owned(),
                Some(other) => format!("The run ended with status '{other}'"),
            };
            self.status = RunStatus::Failed;
            self.error = Some(wrong);
        }
        self
    }

    fn failed(error: String) -> Self {
        Self {
            status: RunStatus::Failed,
            error: Some(error),
            reported_status: None,
            text: String::new(),
            session: None,
            usage: Value::Null,
        }
    }

    fn into_error(self) -> Option<String> {
        (self.status != RunStatus::Ok)
            .then(|| self.error.unwrap_or_else(|| self.status.name().to_owned()))
    }

    /// Returns the message to deliver: the answer, or why there is none.
    fn message(&self, name: &str, page: Option<&str>) -> String {
        if self.status != RunStatus::Ok {
            let why = self.error.as_deref().unwrap_or("unknown reason");
            let line: String = why.lines().next().unwrap_or_default().chars().take(300).collect();
            return format!("Scheduled task '{name}' {}: {line}", self.status.name());
        }
        match self.text.char_indices().nth(MAX_MESSAGE_CHARS) {
            None => self.text.clone(),
            Some((end, _)) => {
                let head = self.text.get(..end).unwrap_or_default();
                let page = page.unwrap_or("the output directory");
                format!("{head}\n… [truncated; the full answer is in {page}]")
            }
        }
    }
}

/// Returns the prompt of a run, with the answers of earlier ones.
fn task_prompt(job: &CronJob, context: &str) -> String {
    format!(
        "[This is the scheduled task '{}'. No user is available to answer questions. Your last \
         message is saved and delivered automatically; do not send it yourself. If there is \
         nothing to report, answer with [SILENT] and nothing else.]\n\n{context}{}",
        job.name, job.prompt
    )
}
