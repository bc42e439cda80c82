//! Runs: each is claimed by one process before it begins, and by no other. The
//! claim stands in the file of the jobs, with the next slot already set, so a
//! crash at any point can lose a run but never make it twice. That its holder
//! lives is said by a lock, which the system takes away with the last process
//! that has it; a lease says it where locks do not reach.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use hermes_store::regular_file;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::document::JobsDocument;
use crate::job::{CronJob, JobLease, JobState, MissedRunPolicy, RequestedRun};
use crate::job_store::{JobStore, check_prompt};
use crate::run::{JobRun, RunEnding, RunStatus};
use crate::stamp::{add_seconds, seconds_between, truncate_to_second};
use crate::{CronError, files, history};

/// How often a run that is interrupted is begun again.
const MAX_ATTEMPTS: u32 = 3;

/// How many passed slots are looked at.
const MAX_PASSED_SLOTS: usize = JobRun::MAX_MISSED as usize + 1;

/// A run that this process may make. Dropped without an end, it counts as
/// interrupted.
#[derive(Debug)]
pub struct RunClaim {
    /// The job, as it was when it was claimed.
    pub job: CronJob,
    /// The run's id.
    pub run: String,
    /// When it was due.
    pub due: Timestamp,
    /// When it began.
    pub started: Timestamp,
    /// The how-manieth attempt it is.
    pub attempt: u32,
    missed: u32,
    file: File,
    path: PathBuf,
}

impl RunClaim {
    /// A handle that has what `text` says to read, from its beginning. Whoever
    /// holds it keeps the claim alive, so it is for the process that makes the
    /// run, and for no other at the same time.
    pub fn task_file(&self, text: &str) -> Result<File, CronError> {
        let write = |mut file: &File| {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text.as_bytes())?;
            file.seek(SeekFrom::Start(0))?;
            file.try_clone()
        };
        write(&self.file).map_err(|e| CronError::io("write", &self.path, e))
    }
}

/// What is to be done about a job.
#[derive(Debug, PartialEq, Eq)]
enum ClaimPlan {
    /// A run for a slot; so many before it are passed over.
    Run { slot: Timestamp, missed: u32, next: Option<Timestamp>, attempt: u32, asked: bool },
    /// No run for slots that have passed; the last of them, and how many.
    Skip { slot: Timestamp, missed: u32, next: Option<Timestamp> },
    /// Nothing but another time.
    Reschedule { next: Option<Timestamp> },
}

impl JobStore {
    /// Claims runs that are due, at most so many, those that wait longest
    /// first, each for so many seconds. Also tells of runs that were passed
    /// over.
    pub fn claim(
        &self,
        most: usize,
        lease: u64,
        now: Timestamp,
    ) -> Result<(Vec<RunClaim>, Vec<JobRun>), CronError> {
        let now = truncate_to_second(now);
        let mut claims = Vec::new();
        let mut skipped = Vec::new();
        self.update(now, |document| {
            let mut due: Vec<(Timestamp, String)> = document
                .jobs()
                .filter(|job| job.held.is_none() && job.unsupported_field().is_none())
                .filter_map(|job| Some((due_at(job).filter(|at| *at <= now)?, job.id.clone())))
                .collect();
            due.sort();
            for (_, id) in due {
                let Some(job) = document.get_mut(&id) else { continue };
                self.claim_job(job, most, lease, now, &mut claims, &mut skipped)?;
            }
            Ok(())
        })?;
        Ok((claims, skipped))
    }

    /// Claims a run of this job, whatever its schedule says.
    pub fn claim_now(
        &self,
        wanted: &str,
        lease: u64,
        now: Timestamp,
    ) -> Result<RunClaim, CronError> {
        let now = truncate_to_second(now);
        self.update(now, |document| {
            let id = document.resolve_id(wanted)?;
            let job = document.get_mut(&id).ok_or_else(|| CronError::NotFound(id.clone()))?;
            crate::job_store::require_supported(job)?;
            check_prompt(&job.prompt)?;
            if let Some(held) = &job.held {
                return Err(CronError::State(format!(
                    "'{}' is running already (process {})",
                    job.name, held.pid
                )));
            }
            job.asked = None;
            self.write_claim(job, now, 0, 1, lease, now)
        })
    }

    fn claim_job(
        &self,
        job: &mut CronJob,
        most: usize,
        lease: u64,
        now: Timestamp,
        claims: &mut Vec<RunClaim>,
        skipped: &mut Vec<JobRun>,
    ) -> Result<(), CronError> {
        let plan = match plan_claim(job, &self.zone, now) {
            Ok(plan) => plan,
            // A schedule that makes no sense is nobody else's trouble.
            Err(error) => {
                job.enabled = false;
                job.state = JobState::Error;
                job.last_status = Some("error".into());
                job.last_error = Some(error.to_string());
                return Ok(());
            }
        };
        match plan {
            ClaimPlan::Reschedule { next } => {
                job.next_run_at = next;
                job.finish_if_done(false);
            }
            ClaimPlan::Skip { slot, missed, next } => {
                job.next_run_at = next;
                job.finish_if_done(true);
                let run = self.unstarted_run(job, slot, missed, RunStatus::Skipped, now);
                history::append(&self.dir, &run)?;
                skipped.push(run);
            }
            ClaimPlan::Run { .. } if claims.len() >= most => {}
            ClaimPlan::Run { slot, missed, next, attempt, asked } => {
                if asked {
                    job.asked = None;
                } else {
                    job.next_run_at = next;
                    job.repeat.completed = job.repeat.completed.saturating_add(1);
                    if !job.has_runs_left() {
                        job.next_run_at = None;
                    }
                }
                // The file may have been written by anybody.
                if let Err(error) = check_prompt(&job.prompt) {
                    let mut run = self.unstarted_run(job, slot, missed, RunStatus::Refused, now);
                    run.error = Some(error.to_string());
                    history::append(&self.dir, &run)?;
                    job.enabled = false;
                    job.state = JobState::Paused;
                    job.paused_at = Some(now);
                    job.paused_reason = run.error.clone();
                    skipped.push(run);
                    return Ok(());
                }
                claims.push(self.write_claim(job, slot, missed, attempt, lease, now)?);
            }
        }
        Ok(())
    }

    /// Writes down that this process runs the job.
    fn write_claim(
        &self,
        job: &mut CronJob,
        due: Timestamp,
        missed: u32,
        attempt: u32,
        lease: u64,
        now: Timestamp,
    ) -> Result<RunClaim, CronError> {
        let folder = self.dir.join(RUNS_DIR);
        files::create_private_dir(&folder)?;
        let (run, path) = loop {
            let run = format!("{}_{}", job.id, random_suffix(now));
            let path = lease_file(&self.dir, &run);
            if !path.exists() {
                break (run, path);
            }
        };
        let file = files::open(&path)?;
        file.lock().map_err(|e| CronError::io("lock", &path, e))?;
        job.held = Some(JobLease {
            run: run.clone(),
            due,
            started: now,
            until: add_seconds(now, lease),
            attempt,
            missed,
            pid: std::process::id(),
            host: boot_id(),
        });
        Ok(RunClaim { job: job.clone(), run, due, started: now, attempt, missed, file, path })
    }

    /// Says that the run goes on. False if it is not ours any more: then it
    /// must be stopped.
    pub fn renew(&self, claim: &RunClaim, lease: u64, now: Timestamp) -> Result<bool, CronError> {
        self.update(truncate_to_second(now), |document| {
            let held = document.get_mut(&claim.job.id).and_then(|job| job.held.as_mut());
            match held {
                Some(held) if held.run == claim.run => {
                    held.until = add_seconds(now, lease);
                    Ok(true)
                }
                _ => Ok(false),
            }
        })
    }

    /// Whether a run still holds its job, as far as can be read.
    pub(crate) fn is_claim_held(&self, claim: &RunClaim) -> bool {
        let Ok(document) = self.read() else { return true };
        let held = document.get(&claim.job.id).and_then(|job| job.held.as_ref());
        held.is_some_and(|held| held.run == claim.run)
    }

    /// Says how the run has ended, and gives the claim back.
    pub fn finish(
        &self,
        claim: RunClaim,
        ending: RunEnding,
        now: Timestamp,
    ) -> Result<JobRun, CronError> {
        let now = truncate_to_second(now);
        let run = JobRun {
            id: claim.run.clone(),
            job: claim.job.id.clone(),
            due: claim.due,
            started: claim.started,
            ended: now.max(claim.started),
            status: ending.status,
            attempt: claim.attempt,
            missed: claim.missed,
            session: ending.session,
            output: ending.output,
            error: ending.error,
            delivered: ending.delivered,
            usage: ending.usage,
        };
        self.update(now, |document| {
            // A job that was removed meanwhile has no history to write to.
            let Some(job) = document.get_mut(&run.job) else { return Ok(()) };
            history::append(&self.dir, &run)?;
            if job.held.as_ref().is_some_and(|held| held.run == run.id) {
                job.held = None;
                record_last_run(job, &run);
                job.finish_if_done(run.status != RunStatus::Ok);
            }
            Ok(())
        })?;
        files::remove(&claim.path)?;
        Ok(run)
    }

    /// Looks for runs whose process is gone. They are written down as
    /// interrupted; a job that says so is run once more.
    pub fn recover(&self, now: Timestamp) -> Result<Vec<JobRun>, CronError> {
        let now = truncate_to_second(now);
        let document = self.read()?;
        let is_dead = |job: &CronJob| job.held.as_ref().is_some_and(|held| self.is_dead(held, now));
        if !document.jobs().any(is_dead) {
            return Ok(Vec::new());
        }
        self.update(now, |document| {
            let mut found = Vec::new();
            for job in document.jobs_mut() {
                let Some(held) = job.held.clone().filter(|held| self.is_dead(held, now)) else {
                    continue;
                };
                job.held = None;
                // It may have come to its end and died before it could say so.
                match history::find(&self.dir, &job.id, &held.run)? {
                    None => found.push(self.record_interrupted(job, &held, now)?),
                    Some(run) => {
                        record_last_run(job, &run);
                        job.finish_if_done(run.status != RunStatus::Ok);
                    }
                }
                files::remove(&lease_file(&self.dir, &held.run))?;
            }
            self.remove_stale_files(document);
            Ok(found)
        })
    }

    fn record_interrupted(
        &self,
        job: &mut CronJob,
        held: &JobLease,
        now: Timestamp,
    ) -> Result<JobRun, CronError> {
        let again = job.retry && held.attempt < MAX_ATTEMPTS;
        let mut run = self.unstarted_run(job, held.due, held.missed, RunStatus::Interrupted, now);
        run.id.clone_from(&held.run);
        run.started = held.started;
        run.attempt = held.attempt;
        let what = if again { "it is begun again" } else { "it is not begun again" };
        run.error = Some(format!("The process that ran it is gone; {what}"));
        history::append(&self.dir, &run)?;
        record_last_run(job, &run);
        if again {
            job.asked = Some(RequestedRun { at: now, attempt: held.attempt + 1 });
        }
        job.finish_if_done(true);
        Ok(run)
    }

    /// When there is something to do next; none if nothing is planned.
    pub fn next_due(&self) -> Result<Option<Timestamp>, CronError> {
        let document = self.read()?;
        let waiting =
            document.jobs().filter(|job| job.held.is_none() && job.unsupported_field().is_none());
        Ok(waiting.filter_map(due_at).min())
    }

    /// Whether nobody can be working on it any more.
    fn is_dead(&self, held: &JobLease, now: Timestamp) -> bool {
        let free = match regular_file::open(&lease_file(&self.dir, &held.run)) {
            Ok(file) => file.try_lock().is_ok(),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        let here = boot_id();
        free && ((!here.is_empty() && held.host == here) || now > held.until)
    }

    /// Removes what a crash has left between making a claim and writing it
    /// down. The caller holds the lock, so nobody is in between.
    fn remove_stale_files(&self, document: &JobsDocument) {
        let Ok(entries) = std::fs::read_dir(self.dir.join(RUNS_DIR)) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let named = document.jobs().filter_map(|job| job.held.as_ref()).any(|held| {
                path.file_stem().is_some_and(|stem| stem.to_string_lossy() == held.run)
            });
            let free = || regular_file::open(&path).is_ok_and(|file| file.try_lock().is_ok());
            if !named && free() {
                let _ = std::fs::remove_file(&path);
            }
        }
    }

    fn unstarted_run(
        &self,
        job: &CronJob,
        slot: Timestamp,
        missed: u32,
        status: RunStatus,
        now: Timestamp,
    ) -> JobRun {
        JobRun {
            id: format!("{}_{}", job.id, random_suffix(now)),
            job: job.id.clone(),
            due: slot,
            started: now,
            ended: now,
            status,
            attempt: 1,
            missed,
            session: None,
            output: None,
            error: None,
            delivered: Vec::new(),
            usage: serde_json::Value::Null,
        }
    }
}

/// When a job wants to be looked at.
fn due_at(job: &CronJob) -> Option<Timestamp> {
    let asked = job.asked.as_ref().map(|asked| asked.at);
    asked.into_iter().chain(job.next_run_at.filter(|_| job.is_waiting())).min()
}

/// What is to be done about a job that is due.
fn plan_claim(job: &CronJob, zone: &TimeZone, now: Timestamp) -> Result<ClaimPlan, CronError> {
    if let Some(asked) = &job.asked {
        let (slot, attempt) = (asked.at, asked.attempt);
        return Ok(ClaimPlan::Run { slot, missed: 0, next: None, attempt, asked: true });
    }
    let Some(first) = job.next_run_at else { return Ok(ClaimPlan::Reschedule { next: None }) };
    if !job.has_runs_left() {
        return Ok(ClaimPlan::Reschedule { next: None });
    }
    let schedule = &job.schedule;
    if !schedule.has_slot(first, zone)? {
        let from = Timestamp::from_second(first.min(now).as_second() - 1).unwrap_or(now);
        return Ok(ClaimPlan::Reschedule { next: schedule.next(from, from, zone)? });
    }
    let slots = schedule.passed_slots(first, now, MAX_PASSED_SLOTS, zone)?;
    let last = slots.last().copied().unwrap_or(first);
    let before = u32::try_from(slots.len() - 1).unwrap_or(u32::MAX);
    let next = schedule.next(last, now, zone)?;
    let on_time = seconds_between(last, now) <= schedule.grace(last, zone)?;
    Ok(match job.missed {
        MissedRunPolicy::Skip if !on_time => {
            ClaimPlan::Skip { slot: last, missed: before + 1, next }
        }
        MissedRunPolicy::Skip | MissedRunPolicy::Once => {
            ClaimPlan::Run { slot: last, missed: before, next, attempt: 1, asked: false }
        }
        MissedRunPolicy::All(most) => {
            let most = usize::try_from(most.clamp(1, MissedRunPolicy::MAX_CATCH_UP)).unwrap_or(1);
            let over = slots.len().saturating_sub(most);
            let slot = slots.get(over).copied().unwrap_or(last);
            let missed = u32::try_from(over).unwrap_or(u32::MAX);
            let next = slots.get(over + 1).copied().or(next);
            ClaimPlan::Run { slot, missed, next, attempt: 1, asked: false }
        }
    })
}

/// What a job shows of its last run.
fn record_last_run(job: &mut CronJob, run: &JobRun) {
    job.last_run_at = Some(run.started);
    let well = run.status == RunStatus::Ok;
    job.last_status = Some(if well { "ok" } else { "error" }.into());
    job.last_error = if well {
        None
    } else {
        Some(run.error.clone().unwrap_or_else(|| run.status.name().to_owned()))
    };
    let failed = run
        .delivered
        .iter()
        .find_map(|delivery| Some(format!("{}: {}", delivery.target, delivery.error.as_ref()?)));
    job.last_delivery_error = failed;
}

const RUNS_DIR: &str = "runs";

fn lease_file(folder: &Path, run: &str) -> PathBuf {
    folder.join(RUNS_DIR).join(format!("{run}.task"))
}

fn random_suffix(now: Timestamp) -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let random = RandomState::new().hash_one(now.as_second()) & 0xff_ffff;
    format!("{}_{random:06x}", now.strftime("%Y%m%d_%H%M%S"))
}

/// What tells this machine, since it was started, from all others.
fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
