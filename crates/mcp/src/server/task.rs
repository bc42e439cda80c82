//! Calls that take long, for clients that would rather come back for the
//! answer than wait for it. A call that is through in a moment is answered as
//! ever; any other becomes a task, which the client asks after.

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

/// How long a client waits before it is told to come back.
const TASK_DELAY: Duration = Duration::from_secs(1);

/// How often a client should ask.
const POLL_INTERVAL_MS: u64 = 500;

/// How much longer than its tool may run a task is kept.
const EXTRA_TTL: Duration = Duration::from_secs(15 * 60);

/// No task is kept longer.
const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a tool may run that does not say so.
const DEFAULT_TOOL_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Tasks that may run at a time; with more of them clients wait.
const MAX_RUNNING_TASKS: usize = 64;

type CallFuture = Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send>>;

/// What a call and its task know of one another.
#[derive(Default)]
pub(crate) struct TaskLink {
    task: OnceLock<TaskContext>,
    /// Questions for which the client's request is still needed.
    open_questions: AtomicUsize,
}

impl TaskLink {
    /// Says what the call is doing, if it is a task; whether it is.
    pub(crate) fn set_status(&self, message: Option<&str>) -> bool {
        let Some(task) = self.task.get() else { return false };
        if let Some(message) = message {
            task.set_status_message(message);
        }
        true
    }

    /// Puts a question to whoever asks after the task; nothing if there is no
    /// task yet.
    pub(crate) async fn request_input(
        &self,
        key: &str,
        form: &ElicitRequestParams,
    ) -> Option<Option<ElicitResult>> {
        let task = self.task.get()?;
        let request = InputRequest::Elicitation(ElicitRequest::new(form.clone()));
        // A key counts once in the life of a task.
        let mut tried = task.request_input(key, request.clone()).await;
        for number in 2..10 {
            if matches!(tried, Ok(_) | Err(TaskExit::Cancelled)) {
                break;
            }
            tried = task.request_input(format!("{key}-{number}"), request.clone()).await;
        }
        Some(tried.ok().and_then(|value| serde_json::from_value(value).ok()))
    }

    /// A question that is not the task's. While it is open there is none.
    pub(crate) fn question_opened(&self) {
        self.open_questions.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn question_closed(&self) {
        self.open_questions.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits for a call, or makes it a task if it takes long. `request` is set
/// when the client gives its request up; `given_up` stops the call.
pub(crate) async fn run_as_task_if_slow(
    tasks: &TaskManager,
    handover: Arc<TaskLink>,
    mut work: CallFuture,
    request: &CancellationToken,
    given_up: CancellationToken,
    patience: Option<Duration>,
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
        patience.unwrap_or(DEFAULT_TOOL_TIMEOUT).saturating_add(EXTRA_TTL).min(MAX_TTL).as_millis(),
    );
    let options = TaskOptions::new().with_ttl_ms(kept.ok()).with_poll_interval_ms(POLL_INTERVAL_MS);
    let task =
        tasks.spawn(options, |task| {
            // Before the client hears of it: what it was promised holds from then on.
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
                    _ => Err(ErrorData::internal_error("The call has ended with a question", None)
                        .into()),
                }
            })
        });
    Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
}

impl std::fmt::Debug for TaskLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handover").field("open", &self.open_questions).finish_non_exhaustive()
    }
}
