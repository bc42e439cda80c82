//! Claims: one process claims each run before it starts it. The claim is in the
//! jobs file, with the next slot already set, so a crash at any point can lose
//! a run but never repeat it. A file lock, which the kernel releases with its
//! last holder, shows that the holder is alive; a lease does so where locks do
//! not reach.

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

/// Maximum number of attempts of an interrupted run.
const MAX_ATTEMPTS: u32 = 3;

/// Maximum number of past slots considered.
const MAX_PASSED_SLOTS: usize = JobRun::MAX_MISSED as usize + 1;

/// A run that this process has claimed. If it is dropped without
/// [`JobStore::finish`], the run counts as interrupted.
#[derive(Debug)]
pub struct RunClaim {
    /// The job at the time of the claim.
    pub job: CronJob,
    /// The run id.
    pub run: String,
    /// When it was due.
    pub due: Timestamp,
    /// When it started.
    pub started: Timestamp,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    missed: u32,
    file: File,
    path: PathBuf,
}

impl RunClaim {
    /// Returns a handle to a file with `text`, positioned at its start. An open
    /// handle keeps the claim alive, so only the process that executes the run
    /// may hold it.
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

/// What to do about a due job.
#[derive(Debug, PartialEq, Eq)]
enum ClaimPlan {
    /// Run this slot; `missed` slots before it are skipped.
    Run { slot: Timestamp, missed: u32, next: Option<Timestamp>, attempt: u32, asked: bool },
    /// Skip `missed` past slots, of which `slot` is the last.
    Skip { slot: Timestamp, missed: u32, next: Option<Timestamp> },
    /// Only set another time.
    Reschedule { next: Option<Timestamp> },
}

impl JobStore {
    /// Claims up to `most` due runs, longest waiting first, each for `lease`
    /// seconds. Also returns the runs that were skipped.
    pub fn claim(
        &self,
        most: usize,
        lease: u64,
        now: Timestamp,
    ) -> Result<(Vec<RunClaim>, Vec<JobRun>), CronError> {
        let now = truncate_to_second(now);
        let claim_due = |document: &mut JobsDocument| {
            let (mut claims, mut skipped) = (Vec::new(), Vec::new());
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
            Ok((claims, skipped))
        };
        // Only after the jobs file: if it cannot be written, the same runs are
        // skipped again. A run that cannot be recorded must not cost the claims.
        self.update_then(now, claim_due, |(_, skipped): &(Vec<RunClaim>, Vec<JobRun>)| {
            for run in skipped {
                let _ = history::append(&self.dir, run);
            }
        })
    }

    /// Claims a run of this job, regardless of its schedule.
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
                    "'{}' is already running (process {})",
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
            // An invalid schedule must not block the other jobs.
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
                skipped.push(self.unstarted_run(job, slot, missed, RunStatus::Skipped, now));
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
                // The jobs file may have been edited by another program.
                if let Err(error) = check_prompt(&job.prompt) {
                    let mut run = self.unstarted_run(job, slot, missed, RunStatus::Refused, now);
                    run.error = Some(error.to_string());
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

    /// Records that this process runs the job.
    fn write_claim(
        &self,
        job: &mut CronJob,
        due: Timestamp,
        missed: u32,
        attempt: u32,
        lease: u64,
        now: Timestamp,
    ) -> Result<RunClaim, CronError> {
        let dir = self.dir.join(RUNS_DIR);
        files::create_private_dir(&dir)?;
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

    /// Renews the lease. Returns false if the claim was lost; the run must then
    /// be stopped.
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

    /// Whether the claim is still held; true if the jobs file cannot be read.
    pub(crate) fn is_claim_held(&self, claim: &RunClaim) -> bool {
        let Ok(document) = self.read() else { return true };
        let held = document.get(&claim.job.id).and_then(|job| job.held.as_ref());
        held.is_some_and(|held| held.run == claim.run)
    }

    /// Records how the run ended, and releases the claim.
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
            // A job that was removed in the meantime has no history.
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

    /// Records runs whose process is gone as interrupted, and requests another
    /// attempt if the job allows it.
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
                // The run may have ended just before its process died.
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
        let what = if again { "it will be retried" } else { "it will not be retried" };
        run.error = Some(format!("The process that ran it is gone; {what}"));
        history::append(&self.dir, &run)?;
        record_last_run(job, &run);
        if again {
            job.asked = Some(RequestedRun { at: now, attempt: held.attempt + 1 });
        }
        job.finish_if_done(true);
        Ok(run)
    }

    /// Returns when the next job is due; none if nothing is scheduled.
    pub fn next_due(&self) -> Result<Option<Timestamp>, CronError> {
        let document = self.read()?;
        let waiting =
            document.jobs().filter(|job| job.held.is_none() && job.unsupported_field().is_none());
        Ok(waiting.filter_map(due_at).min())
    }

    /// Whether the holder of a lease is certainly gone.
    fn is_dead(&self, held: &JobLease, now: Timestamp) -> bool {
        let free = match regular_file::open(&lease_file(&self.dir, &held.run)) {
            Ok(file) => file.try_lock().is_ok(),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        let here = boot_id();
        free && ((!here.is_empty() && held.host == here) || now > held.until)
    }

    /// Removes files of claims that a crash kept from being recorded. The
    /// caller holds the lock, so no claim is being made.
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

/// Returns when a job is due next.
fn due_at(job: &CronJob) -> Option<Timestamp> {
    let asked = job.asked.as_ref().map(|asked| asked.at);
    asked.into_iter().chain(job.next_run_at.filter(|_| job.is_waiting())).min()
}

/// Decides what to do about a due job.
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

/// Copies the result of a run to the job's `last_*` fields.
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

fn lease_file(dir: &Path, run: &str) -> PathBuf {
    dir.join(RUNS_DIR).join(format!("{run}.task"))
}

fn random_suffix(now: Timestamp) -> String {
    format!("{}_{}", now.strftime("%Y%m%d_%H%M%S"), hermes_core::ids::random_hex(6))
}

/// Identifies this boot of this machine.
fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
