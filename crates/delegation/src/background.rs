//! Delegations that run in the background.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{CancellationToken, NoticeSink, ProcessEvent, ProcessNotice, ToolError};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;

use crate::progress_board::{LiveSubagent, ProgressBoard};
use crate::prompt;
use crate::report::{SubagentReport, SubagentStatus, UsageTotal, combined_status};
use crate::rounding::rounded_seconds;
use hermes_core::text::{omit_middle, one_line_excerpt};

/// Number of ended delegations kept.
const MAX_ENDED_JOBS: usize = 50;
/// Maximum size of the reports in the completion notice.
const MAX_NOTICE_BYTES: usize = 8_000;

/// Prefix of handles.
const HANDLE_PREFIX: &str = "deleg_";

/// Whether `name` is the handle of a background delegation.
pub(crate) fn is_handle(name: &str) -> bool {
    name.starts_with(HANDLE_PREFIX)
}

/// The background delegations of all sessions.
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

/// A background delegation.
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

/// Its reports and run time.
#[derive(Debug, Clone)]
struct JobOutcome {
    reports: Arc<[SubagentReport]>,
    elapsed: Duration,
}

/// State of a background delegation, as returned by `poll`.
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

/// State of a background delegation, as returned by `list`.
#[derive(Debug, Serialize)]
pub(crate) struct DelegationSummary {
    handle: String,
    status: &'static str,
    goals: Vec<String>,
    duration_seconds: f64,
}

impl DelegationJobs {
    /// Allows up to `most` running delegations.
    pub(crate) fn new(most: usize) -> Self {
        Self { max_running: most, jobs: Mutex::default() }
    }

    /// Registers a delegation; fails if too many are running.
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
            let message = format!("{at_work} delegations are already running in the background");
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

    /// Finds a delegation of the session.
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
            true => format!("No delegation '{handle}'; this session has none"),
            false => format!("No delegation '{handle}'; this session has {}", known.join(", ")),
        };
        Err(ToolError::not_found(message))
    }

    /// Finds a delegation, or one task of it: `deleg_1` or `deleg_1/0`.
    pub(crate) fn find_task(
        &self,
        session: &str,
        handle: &str,
    ) -> Result<(Arc<DelegationJob>, Option<usize>), ToolError> {
        let Some((handle, index)) = handle.split_once('/') else {
            return Ok((self.find(session, handle)?, None));
        };
        let job = self.find(session, handle)?;
        let count = job.goals.len();
        let index = index.parse().ok().filter(|index| *index < count);
        let index = index.ok_or_else(|| {
            let last = count.saturating_sub(1);
            ToolError::not_found(format!("The tasks of {handle} are {handle}/0 to {handle}/{last}"))
        })?;
        Ok((job, Some(index)))
    }

    /// Lists the delegations of the session, oldest first.
    pub(crate) fn list(&self, session: &str) -> Vec<DelegationSummary> {
        let jobs = self.jobs.lock();
        let own = jobs.by_number.values().filter(|job| job.session == session);
        own.map(|job| job.summary()).collect()
    }

    /// Waits until no delegation of the session, or of any session, is running.
    pub(crate) async fn wait_until_idle(&self, session: Option<&str>) {
        let is_meant =
            |job: &&Arc<DelegationJob>| session.is_none_or(|session| job.session == session);
        let all: Vec<Arc<DelegationJob>> =
            self.jobs.lock().by_number.values().filter(is_meant).cloned().collect();
        for job in all {
            job.wait().await;
        }
    }

    /// Returns the running delegations of a session.
    pub(crate) fn running(&self, session: &str) -> Vec<Arc<DelegationJob>> {
        let jobs = self.jobs.lock();
        let own = jobs.by_number.values().filter(|job| job.session == session);
        own.filter(|job| job.is_running()).cloned().collect()
    }

    /// Cancels the running delegations of a session; returns their handles and
    /// goals.
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
    /// The handle.
    pub(crate) fn handle(&self) -> &str {
        &self.handle
    }

    pub(crate) fn is_running(&self) -> bool {
        self.outcome.borrow().is_none()
    }

    /// Cancels the delegation, or one task of it.
    pub(crate) fn stop(&self, task: Option<usize>) {
        match task {
            Some(task) => drop(self.board.stop(task)),
            None => self.cancel.cancel(),
        }
    }

    /// Sends a message to the sub-agents that have not ended, or to one of them.
    pub(crate) fn steer(&self, task: Option<usize>, message: &str) -> Result<usize, ToolError> {
        if message.trim().is_empty() {
            return Err(ToolError::invalid("`message` is empty"));
        }
        match self.board.steer(task, &prompt::steering(message)) {
            0 => Err(ToolError::conflict(format!("{} has ended", self.handle))
                .with_hint("Start another task.")),
            reached => Ok(reached),
        }
    }

    /// One line for the user.
    pub(crate) fn status_line(&self) -> String {
        let mut line = format!("{} {}", self.handle, self.summary().status);
        for (task, live) in self.board.snapshot().iter().enumerate() {
            line.push_str(&format!("\n  {}/{task} {live}", self.handle));
        }
        line
    }

    /// Stores the reports and notifies the session.
    pub(crate) fn finish(&self, reports: Vec<SubagentReport>, notices: Option<&dyn NoticeSink>) {
        let notice = self.notice(&reports);
        let after = self.began.elapsed();
        // Notify first, so a waiter finds the notice.
        if let Some(notices) = notices {
            notices.notify(&self.session, notice);
        }
        self.outcome.send_replace(Some(JobOutcome { reports: reports.into(), elapsed: after }));
    }

    /// Waits until the delegation has ended.
    pub(crate) async fn wait(&self) {
        // `self` owns the sender, so the channel cannot be closed.
        let _ = self.outcome.subscribe().wait_for(Option::is_some).await;
    }

    /// Returns the current state.
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
            let output = report.output.as_ref().map(ToString::to_string);
            let said = output.as_deref().or(report.summary.as_deref());
            let said = said.or(report.error.as_deref()).unwrap_or_default();
            // Truncation would break the label around untrusted text.
            let said = if report.untrusted { "" } else { said };
            format!("{} ({}): {}", report.task_index, report.status.name(), omit_middle(said, each))
        };
        let shown: Vec<String> = reports.iter().map(words).collect();
        let output = format!(
            "{}\n[full reports: delegate_task with action poll and handle {}]",
            shown.join("\n"),
            self.handle
        );
        let exit_code = match status {
            SubagentStatus::Completed => 0,
            SubagentStatus::Interrupted => 130,
            _ => 1,
        };
        ProcessNotice {
            session_id: self.handle.clone(),
            command: one_line_excerpt(&format!("delegate_task {}", self.goals.join("; ")), 120),
            event: ProcessEvent::Completed { reason: status.name(), exit_code, output },
        }
    }
}
