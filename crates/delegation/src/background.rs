//! Delegations that go on while their parent does something else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{CancellationToken, NoticeSink, ProcessEvent, ProcessNotice, ToolError};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;

use crate::progress_board::{LiveSubagent, ProgressBoard};
use crate::report::{SubagentReport, SubagentStatus, UsageTotal, combined_status};
use crate::text::{excerpt, rounded_seconds, shorten};

/// How many that have ended are remembered.
const MAX_ENDED_JOBS: usize = 50;
/// How much of the reports is told when one has ended.
const MAX_NOTICE_BYTES: usize = 8_000;

/// What handles begin with.
const HANDLE_PREFIX: &str = "deleg_";

/// Whether this is the name of a delegation in the background.
pub(crate) fn is_handle(name: &str) -> bool {
    name.starts_with(HANDLE_PREFIX)
}

/// What is in the background.
#[derive(Debug)]
pub(crate) struct DelegationJobs {
    max_running: usize,
    jobs: Mutex<JobTable>,
}

#[derive(Debug, Default)]
struct JobTable {
    next: u64,
    by_number: BTreeMap<u64, Arc<DelegationJob>>,
}

/// A delegation in the background.
#[derive(Debug)]
pub(crate) struct DelegationJob {
    handle: String,
    session: String,
    goals: Vec<String>,
    began: Instant,
    board: Arc<ProgressBoard>,
    pub(crate) cancel: CancellationToken,
    outcome: watch::Sender<Option<JobOutcome>>,
}

/// What has come of it.
#[derive(Debug, Clone)]
struct JobOutcome {
    reports: Arc<[SubagentReport]>,
    elapsed: Duration,
}

/// A delegation in the background, for whoever asks.
#[derive(Debug, Serialize)]
pub(crate) struct DelegationView {
    handle: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<LiveSubagent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<Vec<SubagentReport>>,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<UsageTotal>,
}

/// The same in a line.
#[derive(Debug, Serialize)]
pub(crate) struct DelegationSummary {
    handle: String,
    status: &'static str,
    goals: Vec<String>,
    duration_seconds: f64,
}

impl DelegationJobs {
    /// Room for so many at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self { max_running: most, jobs: Mutex::default() }
    }

    /// Takes one in, if there is room.
    pub(crate) fn begin(
        &self,
        session: &str,
        goals: Vec<String>,
        board: Arc<ProgressBoard>,
        cancel: CancellationToken,
    ) -> Result<Arc<DelegationJob>, ToolError> {
        let mut jobs = self.jobs.lock();
        let at_work = jobs.by_number.values().filter(|job| job.is_running()).count();
        if at_work >= self.max_running {
            let message = format!("{at_work} delegations are at work in the background already");
            return Err(ToolError::limit(message)
                .with_hint("Wait for one of them, cancel one, or call without `background`."));
        }
        let over = jobs.by_number.len().saturating_sub(MAX_ENDED_JOBS + at_work);
        let done = jobs.by_number.iter().filter(|(_, job)| !job.is_running());
        let oldest: Vec<u64> = done.take(over).map(|(number, _)| *number).collect();
        oldest.iter().for_each(|number| drop(jobs.by_number.remove(number)));
        jobs.next += 1;
        let number = jobs.next;
        let job = Arc::new(DelegationJob {
            handle: format!("{HANDLE_PREFIX}{number}"),
            session: session.to_owned(),
            goals,
            began: Instant::now(),
            board,
            cancel,
            outcome: watch::Sender::new(None),
        });
        jobs.by_number.insert(number, Arc::clone(&job));
        Ok(job)
    }

    /// One of a session's own.
    pub(crate) fn find(
        &self,
        session: &str,
        handle: &str,
    ) -> Result<Arc<DelegationJob>, ToolError> {
        let jobs = self.jobs.lock();
        let own = || jobs.by_number.values().filter(|job| job.session == session);
        if let Some(job) = own().find(|job| job.handle == handle) {
            return Ok(Arc::clone(job));
        }
        let known: Vec<&str> = own().map(|job| job.handle.as_str()).collect();
        let message = match known.is_empty() {
            true => format!("There is no delegation '{handle}', nor any other"),
            false => format!("There is no delegation '{handle}', only {}", known.join(", ")),
        };
        Err(ToolError::not_found(message))
    }

    /// A session's own, the oldest first.
    pub(crate) fn list(&self, session: &str) -> Vec<DelegationSummary> {
        let jobs = self.jobs.lock();
        let own = jobs.by_number.values().filter(|job| job.session == session);
        own.map(|job| job.summary()).collect()
    }

    /// Waits until nothing is at work any more: of a session, or of all.
    pub(crate) async fn wait_until_idle(&self, session: Option<&str>) {
        let is_meant =
            |job: &&Arc<DelegationJob>| session.is_none_or(|session| job.session == session);
        let all: Vec<Arc<DelegationJob>> =
            self.jobs.lock().by_number.values().filter(is_meant).cloned().collect();
        for job in all {
            job.wait().await;
        }
    }

    /// Stops those of a session that are at work: their handles and goals.
    pub(crate) fn stop_session(&self, session: &str) -> Vec<(String, String)> {
        let jobs = self.jobs.lock();
        let own = jobs.by_number.values().filter(|job| job.session == session);
        let at_work = own.filter(|job| job.is_running() && !job.cancel.is_cancelled());
        let stopped = at_work.map(|job| {
            job.cancel.cancel();
            (job.handle.clone(), job.goals.join("; "))
        });
        stopped.collect()
    }
}

impl DelegationJob {
    /// By what it is asked for.
    pub(crate) fn handle(&self) -> &str {
        &self.handle
    }

    pub(crate) fn is_running(&self) -> bool {
        self.outcome.borrow().is_none()
    }

    /// It has ended; its session is told, if it listens.
    pub(crate) fn finish(&self, reports: Vec<SubagentReport>, notices: Option<&dyn NoticeSink>) {
        let notice = self.notice(&reports);
        let after = self.began.elapsed();
        // Whoever waits for the end finds the notice there.
        if let Some(notices) = notices {
            notices.notify(&self.session, notice);
        }
        self.outcome.send_replace(Some(JobOutcome { reports: reports.into(), elapsed: after }));
    }

    /// Waits until it has ended.
    pub(crate) async fn wait(&self) {
        // The sender is here, so it cannot be gone.
        let _ = self.outcome.subscribe().wait_for(Option::is_some).await;
    }

    /// How it stands.
    pub(crate) fn view(&self) -> DelegationView {
        let ended = self.outcome.borrow().clone();
        let duration_seconds = self.seconds(ended.as_ref());
        let handle = self.handle.clone();
        match ended {
            None => DelegationView {
                handle,
                status: "working",
                tasks: self.board.snapshot(),
                results: None,
                duration_seconds,
                total: None,
            },
            Some(JobOutcome { reports, .. }) => DelegationView {
                handle,
                status: combined_status(&reports).name(),
                tasks: Vec::new(),
                total: Some(UsageTotal::sum(&reports)),
                results: Some(reports.to_vec()),
                duration_seconds,
            },
        }
    }

    fn summary(&self) -> DelegationSummary {
        let ended = self.outcome.borrow();
        let status =
            ended.as_ref().map_or("working", |ended| combined_status(&ended.reports).name());
        let duration_seconds = self.seconds(ended.as_ref());
        DelegationSummary {
            handle: self.handle.clone(),
            status,
            goals: self.goals.clone(),
            duration_seconds,
        }
    }

    fn seconds(&self, ended: Option<&JobOutcome>) -> f64 {
        rounded_seconds(ended.map_or_else(|| self.began.elapsed(), |ended| ended.elapsed))
    }

    fn notice(&self, reports: &[SubagentReport]) -> ProcessNotice {
        let status = combined_status(reports);
        let each = MAX_NOTICE_BYTES / reports.len().max(1);
        let words = |report: &SubagentReport| {
            let said = report.summary.as_deref().or(report.error.as_deref()).unwrap_or_default();
            // A label that is cut in the middle is none.
            let said = if report.untrusted { "" } else { said };
            format!("{} ({}): {}", report.task_index, report.status.name(), shorten(said, each).0)
        };
        let told: Vec<String> = reports.iter().map(words).collect();
        let output = format!(
            "{}\n[delegate_task with action poll and handle {} gives the whole reports]",
            told.join("\n"),
            self.handle
        );
        let exit_code = match status {
            SubagentStatus::Completed => 0,
            SubagentStatus::Interrupted => 130,
            _ => 1,
        };
        ProcessNotice {
            session_id: self.handle.clone(),
            command: excerpt(&format!("delegate_task {}", self.goals.join("; ")), 120),
            event: ProcessEvent::Completed { reason: status.name(), exit_code, output },
        }
    }
}
