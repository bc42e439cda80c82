//! Terminates many jobs at once.
//!
//! Scanning all processes per job would take too long during shutdown. So each
//! job is signalled as a process group, and one final scan finds processes that
//! left their group.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::job::Job;
use crate::job_handle::JobHandle;
use crate::jobs::{JobRegistry, has_finished};
use crate::tree::{self, JobRoot, ProcessTable};

/// Time to exit after SIGTERM, and then after SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(1500);
const KILL_TIMEOUT: Duration = Duration::from_millis(500);

/// Interval of the checks for exited processes.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl JobRegistry {
    /// Terminates the running jobs started by a call, and returns their
    /// commands.
    pub async fn terminate_started_by(&self, session: &str, call: &str) -> Vec<String> {
        let left =
            |handle: &Arc<JobHandle>| handle.was_started_by(call) && !has_finished(&handle.job);
        let left: Vec<_> = self.session_jobs(session).into_iter().filter(left).collect();
        left.iter().for_each(|handle| handle.acknowledge_end());
        if !left.is_empty() {
            terminate_all(left.iter().map(|handle| Arc::clone(&handle.job)).collect()).await;
        }
        left.iter().map(|handle| handle.job.command.clone()).collect()
    }
}

/// Terminates jobs with all their descendants.
pub(crate) async fn terminate_all(jobs: Vec<Arc<Job>>) {
    let all: Vec<(Arc<Job>, Option<JobRoot>)> = jobs
        .into_iter()
        .map(|job| {
            let pid = job.pid.filter(|_| job.ended().is_none());
            let root = pid.and_then(|pid| JobRoot::for_pid(pid, &job.id));
            (job, root)
        })
        .collect();
    // Remote jobs, and jobs whose first process has ended, have no trustworthy
    // process group.
    let apart: Vec<_> = all.iter().filter(|(_, root)| root.is_none()).collect();
    let apart: Vec<_> =
        apart.into_iter().map(|(job, _)| spawn_termination(job, TERM_GRACE)).collect();
    let grouped: Vec<(Arc<Job>, JobRoot)> =
        all.into_iter().filter_map(|(job, root)| Some((job, root?))).collect();
    signal_all(&grouped, Signal::TERM);
    // A stopped process handles SIGTERM only after SIGCONT.
    signal_all(&grouped, Signal::CONT);
    wait_for_exit(&grouped, TERM_GRACE).await;
    signal_all(&grouped, Signal::KILL);
    wait_for_exit(&grouped, KILL_TIMEOUT).await;
    let ends: Vec<_> =
        remaining(grouped).await.iter().map(|job| spawn_termination(job, POLL_INTERVAL)).collect();
    for end in apart.into_iter().chain(ends) {
        let _ = end.await;
    }
}

fn spawn_termination(job: &Arc<Job>, grace: Duration) -> tokio::task::JoinHandle<()> {
    let job = Arc::clone(job);
    tokio::spawn(async move { job.terminate(grace).await })
}

fn signal_all(jobs: &[(Arc<Job>, JobRoot)], signal: Signal) {
    for (job, root) in jobs {
        // The process id cannot be reused before the process is reaped.
        if job.ended().is_none()
            && tree::is_alive(root.pid, root.started)
            && let Some(group) = i32::try_from(root.pid).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process_group(group, signal);
        }
    }
}

async fn wait_for_exit(jobs: &[(Arc<Job>, JobRoot)], most: Duration) {
    let until = Instant::now() + most;
    while Instant::now() < until && jobs.iter().any(|(job, _)| job.ended().is_none()) {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns the jobs that still have processes.
async fn remaining(jobs: Vec<(Arc<Job>, JobRoot)>) -> Vec<Arc<Job>> {
    let look = tokio::task::spawn_blocking(move || {
        let first = jobs.iter().map(|(_, root)| root.started).min();
        let table = first.and_then(|first| ProcessTable::read_since(first).ok());
        let is_left = |job: &Job, root: &JobRoot| match &table {
            Some(table) => table.has_members(root),
            None => !has_finished(job),
        };
        jobs.into_iter().filter(|(job, root)| is_left(job, root)).map(|(job, _)| job).collect()
    });
    look.await.unwrap_or_default()
}
