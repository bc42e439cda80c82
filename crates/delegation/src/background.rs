//! Delegations that go on while their parent does something else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hermes_core::{CancellationToken, ProcessEvent, ProcessNotice, NoticeSink, ToolError};
use serde::Serialize;
use tokio::sync::watch;

use crate::board::{Board, Live};
use crate::crew::lock;
use crate::report::{Report, Status, Total, status_of};
use crate::text::{excerpt, fit, seconds};

/// How many that have ended are remembered.
const KEPT: usize = 50;
/// How much of the reports is told when one has ended.
const TOLD: usize = 8_000;

/// What handles begin with.
const HANDLE: &str = "deleg_";

/// Whether this is the name of a delegation in the background.
pub(crate) fn is_handle(name: &str) -> bool {
    name.starts_with(HANDLE)
}

/// What is in the background.
#[derive(Debug)]
pub(crate) struct Background {
    most: usize,
    jobs: Mutex<Jobs>,
}

#[derive(Debug, Default)]
struct Jobs {
    next: u64,
    by_number: BTreeMap<u64, Arc<Job>>,
}

/// A delegation in the background.
#[derive(Debug)]
pub(crate) struct Job {
    handle: String,
    session: String,
    goals: Vec<String>,
    began: Instant,
    board: Arc<Board>,
    pub(crate) cancel: CancellationToken,
    ended: watch::Sender<Option<Ended>>,
}

/// What has come of it.
#[derive(Debug, Clone)]
struct Ended {
    reports: Arc<[Report]>,
    after: Duration,
}

/// A delegation in the background, for whoever asks.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    handle: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<Live>,
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<Vec<Report>>,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Total>,
}

/// The same in a line.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    handle: String,
    status: &'static str,
    goals: Vec<String>,
    duration_seconds: f64,
}

impl Background {
    /// Room for so many at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, jobs: Mutex::default() }
    }

    /// Takes one in, if there is room.
    pub(crate) fn begin(
        &self,
        session: &str,
        goals: Vec<String>,
        board: Arc<Board>,
        cancel: CancellationToken,
    ) -> Result<Arc<Job>, ToolError> {
        let mut jobs = lock(&self.jobs);
        let at_work = jobs.by_number.values().filter(|job| job.is_at_work()).count();
        if at_work >= self.most {
            let message = format!("{at_work} delegations are at work in the background already");
            return Err(ToolError::limit(message)
                .with_hint("Wait for one of them, cancel one, or call without `background`."));
        }
        let over = jobs.by_number.len().saturating_sub(KEPT + at_work);
        let done = jobs.by_number.iter().filter(|(_, job)| !job.is_at_work());
        let oldest: Vec<u64> = done.take(over).map(|(number, _)| *number).collect();
        oldest.iter().for_each(|number| drop(jobs.by_number.remove(number)));
        jobs.next += 1;
        let number = jobs.next;
        let job = Arc::new(Job {
            handle: format!("{HANDLE}{number}"),
            session: session.to_owned(),
            goals,
            began: Instant::now(),
            board,
            cancel,
            ended: watch::Sender::new(None),
        });
        jobs.by_number.insert(number, Arc::clone(&job));
        Ok(job)
    }

    /// One of a session's own.
    pub(crate) fn find(&self, session: &str, handle: &str) -> Result<Arc<Job>, ToolError> {
        let jobs = lock(&self.jobs);
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
    pub(crate) fn list(&self, session: &str) -> Vec<Line> {
        let jobs = lock(&self.jobs);
        let own = jobs.by_number.values().filter(|job| job.session == session);
        own.map(|job| job.line()).collect()
    }

    /// Waits until nothing is at work any more: of a session, or of all.
    pub(crate) async fn settle(&self, session: Option<&str>) {
        let is_meant = |job: &&Arc<Job>| session.is_none_or(|session| job.session == session);
        let all: Vec<Arc<Job>> =
            lock(&self.jobs).by_number.values().filter(is_meant).cloned().collect();
        for job in all {
            job.wait().await;
        }
    }

    /// Stops those of a session that are at work: their handles and goals.
    pub(crate) fn stop(&self, session: &str) -> Vec<(String, String)> {
        let jobs = lock(&self.jobs);
        let own = jobs.by_number.values().filter(|job| job.session == session);
        let at_work = own.filter(|job| job.is_at_work() && !job.cancel.is_cancelled());
        let stopped = at_work.map(|job| {
            job.cancel.cancel();
            (job.handle.clone(), job.goals.join("; "))
        });
        stopped.collect()
    }
}

impl Job {
    /// By what it is asked for.
    pub(crate) fn handle(&self) -> &str {
        &self.handle
    }

    pub(crate) fn is_at_work(&self) -> bool {
        self.ended.borrow().is_none()
    }

    /// It has ended; its session is told, if it listens.
    pub(crate) fn end(&self, reports: Vec<Report>, notices: Option<&dyn NoticeSink>) {
        let notice = self.notice(&reports);
        let after = self.began.elapsed();
        // Whoever waits for the end finds the notice there.
        if let Some(notices) = notices {
            notices.notify(&self.session, notice);
        }
        self.ended.send_replace(Some(Ended { reports: reports.into(), after }));
    }

    /// Waits until it has ended.
    pub(crate) async fn wait(&self) {
        // The sender is here, so it cannot be gone.
        let _ = self.ended.subscribe().wait_for(Option::is_some).await;
    }

    /// How it stands.
    pub(crate) fn view(&self) -> View {
        let ended = self.ended.borrow().clone();
        let duration_seconds = self.seconds(ended.as_ref());
        let handle = self.handle.clone();
        match ended {
            None => View {
                handle,
                status: "working",
                tasks: self.board.live(),
                results: None,
                duration_seconds,
                total: None,
            },
            Some(Ended { reports, .. }) => View {
                handle,
                status: status_of(&reports).name(),
                tasks: Vec::new(),
                total: Some(Total::of(&reports)),
                results: Some(reports.to_vec()),
                duration_seconds,
            },
        }
    }

    fn line(&self) -> Line {
        let ended = self.ended.borrow();
        let status = ended.as_ref().map_or("working", |ended| status_of(&ended.reports).name());
        let duration_seconds = self.seconds(ended.as_ref());
        Line { handle: self.handle.clone(), status, goals: self.goals.clone(), duration_seconds }
    }

    fn seconds(&self, ended: Option<&Ended>) -> f64 {
        seconds(ended.map_or_else(|| self.began.elapsed(), |ended| ended.after))
    }

    fn notice(&self, reports: &[Report]) -> ProcessNotice {
        let status = status_of(reports);
        let each = TOLD / reports.len().max(1);
        let words = |report: &Report| {
            let said = report.summary.as_deref().or(report.error.as_deref()).unwrap_or_default();
            // A label that is cut in the middle is none.
            let said = if report.untrusted { "" } else { said };
            format!("{} ({}): {}", report.task_index, report.status.name(), fit(said, each).0)
        };
        let told: Vec<String> = reports.iter().map(words).collect();
        let output = format!(
            "{}\n[delegate_task with action poll and handle {} gives the whole reports]",
            told.join("\n"),
            self.handle
        );
        let exit_code = match status {
            Status::Completed => 0,
            Status::Interrupted => 130,
            _ => 1,
        };
        ProcessNotice {
            session_id: self.handle.clone(),
            command: excerpt(&format!("delegate_task {}", self.goals.join("; ")), 120),
            event: ProcessEvent::Completed { reason: status.name(), exit_code, output },
        }
    }
}
