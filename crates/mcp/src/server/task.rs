//! Runs slow calls as tasks that the client polls. A quick call is answered
//! directly; any other becomes a task.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes_core::CancellationToken;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CreateTaskResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    InputRequest,
};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};

/// How long a call may run before it becomes a task.
const TASK_DELAY: Duration = Duration::from_secs(1);

/// Suggested poll interval.
const POLL_INTERVAL_MS: u64 = 500;

/// How long a task is kept beyond the timeout of its tool.
const EXTRA_TTL: Duration = Duration::from_secs(15 * 60);

/// Maximum lifetime of a task.
const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// Assumed timeout of a tool that declares none.
const DEFAULT_TOOL_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Maximum number of running tasks; beyond it, clients wait for the result.
const MAX_RUNNING_TASKS: usize = 64;

type CallFuture = Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send>>;

/// State shared by a call and its task.
#[derive(Default)]
pub(crate) struct TaskLink {
    task: OnceLock<TaskContext>,
    /// Open questions that need the client's original request.
    open_questions: AtomicUsize,
}

impl TaskLink {
    /// Sets the status message of the task. Returns whether the call is a task.
    pub(crate) fn set_status(&self, message: Option<&str>) -> bool {
        let Some(task) = self.task.get() else { return false };
        if let Some(message) = message {
            task.set_status_message(message);
        }
        true
    }

    /// Asks a question through the task; returns none if the call is not a
    /// task.
    pub(crate) async fn request_input(
        &self,
        key: &str,
        form: &ElicitRequestParams,
    ) -> Option<Option<ElicitResult>> {
        let task = self.task.get()?;
        let request = InputRequest::Elicitation(ElicitRequest::new(form.clone()));
        // A task accepts each key once.
        let mut tried = task.request_input(key, request.clone()).await;
        for number in 2..10 {
            if matches!(tried, Ok(_) | Err(TaskExit::Cancelled)) {
                break;
            }
            tried = task.request_input(format!("{key}-{number}"), request.clone()).await;
        }
        Some(tried.ok().and_then(|value| serde_json::from_value(value).ok()))
    }

    /// Records an open question outside the task. Until it is closed, the call
    /// does not become a task.
    pub(crate) fn question_opened(&self) {
        self.open_questions.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn question_closed(&self) {
        self.open_questions.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits for a call, or turns it into a task if it is slow. `request` is set
/// when the client cancels its request; `given_up` cancels the call.
pub(crate) async fn run_as_task_if_slow(
    tasks: &TaskManager,
    handover: Arc<TaskLink>,
    mut work: CallFuture,
    request: &CancellationToken,
    given_up: CancellationToken,
    timeout: Option<Duration>,
) -> Result<CallToolResponse, ErrorData> {
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = request.cancelled(), if !given_up.is_cancelled() => given_up.cancel(),
            () = tokio::time::sleep(TASK_DELAY) => {
                let is_asking = handover.open_questions.load(Ordering::SeqCst) > 0;
                if !is_asking && tasks.running_task_count() < MAX_RUNNING_TASKS {
                    break;
                }
            }
        }
    }
    let kept = u64::try_from(
        timeout.unwrap_or(DEFAULT_TOOL_TIMEOUT).saturating_add(EXTRA_TTL).min(MAX_TTL).as_millis(),
    );
    let options = TaskOptions::new().with_ttl_ms(kept.ok()).with_poll_interval_ms(POLL_INTERVAL_MS);
    let task = tasks.spawn(options, |task| {
        // Set before the client learns of the task and can poll it.
        let _ = handover.task.set(task.clone());
        Box::pin(async move {
            let done = tokio::select! {
                done = &mut work => done,
                () = task.cancelled() => {
                    given_up.cancel();
                    let _ = work.await;
                    return Err(TaskExit::Cancelled);
                }
            };
            match done? {
                CallToolResponse::Complete(result) => Ok(result),
                _ => Err(ErrorData::internal_error("The call ended with a question", None).into()),
            }
        })
    });
    Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
}

impl std::fmt::Debug for TaskLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskLink").field("open", &self.open_questions).finish_non_exhaustive()
    }
}
