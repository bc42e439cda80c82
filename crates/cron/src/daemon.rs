//! Whoever runs jobs: claims what is due, has a program make each run, and
//! hands on the answers.

use std::process::Command;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::CronError;
use crate::child::{self, Ended, Input, Limits, Over};
use crate::claims::Claim;
use crate::job::{Job, Target};
use crate::jobs::Jobs;
use crate::output::{self, Answer};
use crate::run::{Delivery, Ending, Run, Status};

/// How long the delivery of an answer may take.
const DELIVERY: Duration = Duration::from_secs(120);

/// How much of an answer is sent; the rest is in its file.
const SENT: usize = 50_000;

/// Why a run is stopped whose job is not there any more.
const TAKEN: &str = "its job was taken away";

/// How often runs of others are looked after.
const PATROL: Duration = Duration::from_secs(10);

/// The time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The time of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// The programs that are run.
pub trait Orders: Send + Sync {
    /// The one that carries out a task. It reads the task from its standard
    /// input; the last line of its output is a JSON object with `status`,
    /// `text` and `session`.
    fn run(&self, job: &Job, run: &str) -> Command;

    /// The one that sends a message. It reads a JSON object with `target`,
    /// `title` and `message`.
    fn deliver(&self, job: &Job) -> Command;
}

/// How jobs are run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many at once.
    pub parallel: usize,
    /// How many seconds a claim lasts unless it is renewed.
    pub lease: u64,
    /// How often to look whether somebody has changed the jobs.
    pub poll: Duration,
    /// How long a run may take, unless its job says something else.
    pub time: Duration,
    /// How long a program has to end by itself when it is asked to.
    pub grace: Duration,
    /// How many answers of a job are kept.
    pub kept: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            parallel: 4,
            lease: 60,
            poll: Duration::from_secs(1),
            time: Duration::from_secs(3_600),
            grace: Duration::from_secs(5),
            kept: 50,
        }
    }
}

/// What happens.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run begins.
    Started {
        /// The job.
        job: &'a Job,
        /// The run's id.
        run: &'a str,
    },
    /// A run is over, or was passed over.
    Ended(&'a Run),
    /// Something that does not keep the others from running.
    Trouble(&'a str),
}

/// When to stop by oneself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Only when told to.
    Told,
    /// When nothing is due and nothing runs.
    Idle,
}

/// A bell that wakes whoever runs jobs.
#[derive(Debug, Default)]
pub struct Bell {
    state: Mutex<Rung>,
    heard: Condvar,
}

#[derive(Debug, Default)]
struct Rung {
    stop: bool,
    /// Something has changed since somebody last listened.
    news: bool,
}

impl Bell {
    /// Tells everybody to stop.
    pub fn stop(&self) {
        self.change(|rung| rung.stop = true);
    }

    fn ring(&self) {
        self.change(|rung| rung.news = true);
    }

    fn is_stopped(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stop
    }

    fn change(&self, change: impl FnOnce(&mut Rung)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.heard.notify_all();
    }

    /// Waits until somebody rings, at most so long.
    fn wait(&self, most: Duration) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let quiet = |rung: &mut Rung| !rung.stop && !rung.news;
        let waited = self.heard.wait_timeout_while(state, most, quiet);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.news = false;
    }
}

/// Whoever runs jobs.
pub struct Daemon<'a> {
    /// The jobs.
    pub jobs: Jobs,
    /// The programs.
    pub orders: &'a dyn Orders,
    /// How.
    pub settings: Settings,
    /// The time.
    pub clock: &'a dyn Clock,
    /// Who is told what happens.
    pub tell: &'a (dyn Fn(&Event<'_>) + Sync),
}

impl std::fmt::Debug for Daemon<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon")
            .field("jobs", &self.jobs)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Daemon<'_> {
    /// Runs what is due, until the bell says stop; then what runs is stopped,
    /// too.
    pub fn serve(&self, bell: &Bell, until: Until) -> Result<(), CronError> {
        let _here = self.jobs.attend()?;
        std::thread::scope(|threads| {
            let mut running: Vec<std::thread::ScopedJoinHandle<'_, ()>> = Vec::new();
            let mut watch = Watch::default();
            while !bell.is_stopped() {
                running.retain(|thread| !thread.is_finished());
                let room = self.settings.parallel.max(1).saturating_sub(running.len());
                let claims = self.look(&mut watch, room);
                if claims.is_empty() && running.is_empty() && until == Until::Idle {
                    return;
                }
                for claim in claims {
                    running.push(threads.spawn(move || {
                        self.attend(claim, bell);
                        bell.ring();
                    }));
                }
                bell.wait(self.pause(&watch, running.len()));
            }
        });
        Ok(())
    }

    /// Makes one run now, whatever the schedule says.
    pub fn run_now(&self, wanted: &str, bell: &Bell) -> Result<Run, CronError> {
        let claim = self.jobs.claim_now(wanted, self.settings.lease, self.clock.now())?;
        (self.tell)(&Event::Started { job: &claim.job, run: &claim.run });
        self.carry_out(claim, bell)
    }

    /// Claims what is due, if it can be that something is.
    fn look(&self, watch: &mut Watch, room: usize) -> Vec<Claim> {
        let now = self.clock.now();
        let patrol = watch.patrolled.is_none_or(|at| at.elapsed() >= PATROL);
        let changed = watch.changed(&self.jobs);
        let due = watch.next.is_some_and(|at| at <= now);
        if !(patrol || changed || due) {
            return Vec::new();
        }
        let found = self.jobs.recover(now).and_then(|interrupted| {
            let (claims, skipped) = self.jobs.claim(room, self.settings.lease, now)?;
            watch.next = self.jobs.next_due()?;
            Ok((interrupted, claims, skipped))
        });
        watch.patrolled = Some(Instant::now());
        match found {
            Ok((interrupted, claims, skipped)) => {
                for run in interrupted.iter().chain(&skipped) {
                    (self.tell)(&Event::Ended(run));
                }
                claims
            }
            Err(error) => {
                (self.tell)(&Event::Trouble(&error.to_string()));
                watch.seen = None;
                Vec::new()
            }
        }
    }

    /// How long there is nothing to do.
    fn pause(&self, watch: &Watch, running: usize) -> Duration {
        let full = running >= self.settings.parallel.max(1);
        let wait = match watch.next {
            // Without room for it, it waits for somebody to end.
            Some(at) if !full => {
                let left = at.duration_since(self.clock.now());
                Duration::try_from(left).unwrap_or_default().min(self.settings.poll)
            }
            _ => self.settings.poll,
        };
        wait.max(Duration::from_millis(1))
    }

    fn attend(&self, claim: Claim, bell: &Bell) {
        (self.tell)(&Event::Started { job: &claim.job, run: &claim.run });
        match self.carry_out(claim, bell) {
            Ok(run) => (self.tell)(&Event::Ended(&run)),
            Err(error) => (self.tell)(&Event::Trouble(&error.to_string())),
        }
    }

    /// Makes a run: the program, the file, the messages.
    fn carry_out(&self, claim: Claim, bell: &Bell) -> Result<Run, CronError> {
        let time = claim.job.timeout_seconds.map_or(self.settings.time, Duration::from_secs);
        let limits = Limits { time, grace: self.settings.grace };
        let (mut renewed, mut looked) = (Instant::now(), Instant::now());
        let every = Duration::from_secs(self.settings.lease.max(3)) / 3;
        let mut halt = || {
            if bell.is_stopped() {
                return Some("whoever ran it was told to stop");
            }
            if renewed.elapsed() >= every {
                renewed = Instant::now();
                // A lock that is busy now will be free the next time.
                let held = self.jobs.renew(&claim, self.settings.lease, self.clock.now());
                return (!held.unwrap_or(true)).then_some(TAKEN);
            }
            if looked.elapsed() >= self.settings.poll {
                looked = Instant::now();
                return (!self.jobs.holds(&claim)).then_some(TAKEN);
            }
            None
        };
        let handle = claim.hand_over(&task(&claim.job))?;
        let command = self.orders.run(&claim.job, &claim.run);
        let ended = child::attend(command, Input::File(handle), limits, &mut halt);
        let outcome = Outcome::of(ended, time).held_to_its_word();
        let ending = self.hand_on(&claim, outcome, bell);
        self.jobs.finish(claim, ending, self.clock.now())
    }

    /// Writes the answer down, and sends it.
    fn hand_on(&self, claim: &Claim, outcome: Outcome, bell: &Bell) -> Ending {
        let answer = Answer {
            status: outcome.status,
            text: &outcome.text,
            error: outcome.error.as_deref(),
            session: outcome.session.as_deref(),
        };
        let zone = claim.job.schedule.zone(self.jobs.zone());
        let zone = zone.unwrap_or_else(|_| self.jobs.zone().clone());
        let kept = self.settings.kept;
        let page = output::keep(self.jobs.folder(), claim, &answer, &zone, kept);
        let mut ending = Ending::of(outcome.status);
        ending.error = outcome.error.clone();
        match &page {
            Ok(path) => ending.output = Some(path.display().to_string()),
            Err(error) => {
                let error = format!("The answer is not kept: {error}");
                (self.tell)(&Event::Trouble(&error));
                ending.error.get_or_insert(error);
            }
        }
        let silent = outcome.status == Status::Ok && output::is_silent(&outcome.text);
        if !silent && outcome.status != Status::Cancelled {
            ending.delivered = self.deliver(&claim.job, &outcome, ending.output.as_deref(), bell);
        }
        ending.session = outcome.session;
        ending.usage = outcome.usage;
        ending
    }

    fn deliver(
        &self,
        job: &Job,
        outcome: &Outcome,
        page: Option<&str>,
        bell: &Bell,
    ) -> Vec<Delivery> {
        let mut delivered = Vec::new();
        for target in job.targets() {
            let Target::Message(target) = target else { continue };
            let letter = json!({
                "target": target, "title": job.name, "message": outcome.message(&job.name, page),
            });
            let limits = Limits { time: DELIVERY, grace: self.settings.grace };
            let mut halt = || bell.is_stopped().then_some("whoever sent it was told to stop");
            let command = self.orders.deliver(job);
            let ended = child::attend(command, Input::Text(letter.to_string()), limits, &mut halt);
            delivered.push(Delivery { target, error: Outcome::of(ended, DELIVERY).refusal() });
        }
        delivered
    }
}

/// What was last seen of the jobs.
#[derive(Debug, Default)]
struct Watch {
    seen: Option<(std::time::SystemTime, u64)>,
    next: Option<Timestamp>,
    patrolled: Option<Instant>,
}

impl Watch {
    /// Whether somebody has changed the jobs.
    fn changed(&mut self, jobs: &Jobs) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::metadata(jobs.file()).ok();
        let seen = found.and_then(|file| Some((file.modified().ok()?, file.ino())));
        let changed = seen != self.seen;
        self.seen = seen;
        changed
    }
}

/// What a program had to say.
#[derive(Debug)]
struct Outcome {
    status: Status,
    /// How it went in its own word, if it told a result.
    said: Option<String>,
    text: String,
    error: Option<String>,
    session: Option<String>,
    usage: Value,
}

impl Outcome {
    fn of(ended: std::io::Result<Ended>, time: Duration) -> Self {
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                return Self::failed(format!("The program cannot be started: {error}"));
            }
        };
        let last = ended.last.unwrap_or_default();
        let word = |key: &str| last.get(key).and_then(Value::as_str).map(str::to_owned);
        let messages = ended.messages.trim();
        let told = || {
            let said = word("error")
                .or_else(|| word("reason"))
                .or_else(|| (!messages.is_empty()).then(|| messages.to_owned()));
            said.or_else(|| word("status")).unwrap_or_else(|| "it said nothing".into())
        };
        let (status, error) = match ended.over {
            Over::TimedOut => {
                (Status::TimedOut, Some(format!("It took longer than {} s", time.as_secs())))
            }
            Over::Stopped(why) => (Status::Cancelled, Some(format!("It was stopped: {why}"))),
            Over::Exited(exit) if exit.success() => (Status::Ok, None),
            Over::Exited(exit) => (Status::Failed, Some(format!("{} ({exit})", told()))),
        };
        Self {
            status,
            error,
            said: word("status").filter(|_| word("type").as_deref() == Some("result")),
            text: word("text").unwrap_or_default(),
            session: word("session"),
            usage: last.get("usage").cloned().unwrap_or_default(),
        }
    }

    /// A task that is done has an answer, and its program says that it is done.
    fn held_to_its_word(mut self) -> Self {
        if self.status == Status::Ok {
            let wrong = match self.said.as_deref() {
                Some("success") if !self.text.trim().is_empty() => return self,
                Some("success") | None => "It gave no answer".to_owned(),
                Some(other) => format!("It ended with '{other}'"),
            };
            self.status = Status::Failed;
            self.error = Some(wrong);
        }
        self
    }

    fn failed(error: String) -> Self {
        Self {
            status: Status::Failed,
            error: Some(error),
            said: None,
            text: String::new(),
            session: None,
            usage: Value::Null,
        }
    }

    fn refusal(self) -> Option<String> {
        (self.status != Status::Ok)
            .then(|| self.error.unwrap_or_else(|| self.status.name().to_owned()))
    }

    /// What is sent: the answer, or why there is none.
    fn message(&self, name: &str, page: Option<&str>) -> String {
        if self.status != Status::Ok {
            let why = self.error.as_deref().unwrap_or("it is not known why");
            let line: String = why.lines().next().unwrap_or_default().chars().take(300).collect();
            return format!("Scheduled task '{name}' {}: {line}", self.status.name());
        }
        match self.text.char_indices().nth(SENT) {
            None => self.text.clone(),
            Some((end, _)) => {
                let head = self.text.get(..end).unwrap_or_default();
                let page = page.unwrap_or("the output folder");
                format!("{head}\n… [cut; the whole is in {page}]")
            }
        }
    }
}

/// What the program is told.
fn task(job: &Job) -> String {
    format!(
        "[This is the scheduled task '{}'. Nobody is there to answer questions. Your last message \
         is kept, and sent to whoever wants it; do not send it yourself. If there is nothing to \
         report, answer with [SILENT] and nothing else.]\n\n{}",
        job.name, job.prompt
    )
}
