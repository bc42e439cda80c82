//! A call that a server goes on with after it has answered: we ask how it gets
//! on until it is through.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use hermes_core::{ToolContext, ToolError};
use rmcp::model::{
    CallToolResult, CancelTaskParams, CancelTaskRequest, ClientRequest, ErrorData, GetTaskParams,
    GetTaskRequest, GetTaskResult, InputRequests, InputResponses, ServerResult, Task, TaskPayload,
    UpdateTaskParams, UpdateTaskRequest,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;

use super::connection::{Connection, Patience};
use super::fault::{Fault, odd};
use super::plain::excerpt;

/// How often is asked where the server does not say.
const PAUSE: Duration = Duration::from_secs(1);

/// Nobody is asked more often, and nobody waits longer.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(60));

/// How often in a row asking may fail.
const FAILURES: usize = 3;

impl Connection {
    /// Sees a task through. Whoever stops waiting tells the server so.
    pub(super) async fn follow(
        &self,
        task: Task,
        patience: Patience,
        cx: &ToolContext,
    ) -> Result<CallToolResult, Fault> {
        let began = Instant::now();
        let mut left = Left { peer: self.peer(), task: Some(task.task_id.clone()) };
        let mut now = task;
        let mut told = None;
        let mut answered = HashSet::new();
        let mut failures = 0;
        loop {
            if now.status_message != told {
                told = now.status_message.clone();
                cx.report(None, excerpt(told.as_deref().unwrap_or_default(), 300));
            }
            let pause = now.poll_interval_ms.map_or(PAUSE, Duration::from_millis);
            let pause = pause.clamp(PAUSES.0, PAUSES.1);
            let waited = cx.cancel.run_until_cancelled(tokio::time::sleep(pause)).await;
            waited.ok_or(Fault::Cancelled)?;
            if began.elapsed() >= patience.total {
                return Err(Fault::Late(patience.total));
            }
            let state = match self.ask_after(&now.task_id, patience, cx).await {
                Ok(state) => state,
                // It was asked before, so it is under way, whatever came of this.
                Err(Fault::NotSent(why) | Fault::Lost(why)) => {
                    failures += 1;
                    if failures >= FAILURES || self.is_closed() {
                        return Err(Fault::Lost(why));
                    }
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            failures = 0;
            let (mut task, payload) = (state.task.task, state.task.payload);
            task.task_id = now.task_id;
            now = task;
            let ended = match payload {
                TaskPayload::Working => continue,
                TaskPayload::InputRequired { input_requests } => {
                    self.supply(&now.task_id, input_requests, &mut answered, patience, cx).await?;
                    continue;
                }
                TaskPayload::Completed { result } => {
                    serde_json::from_value(Value::Object(result)).map_err(|error| {
                        Fault::Refused(odd(self.name(), &format!("its result is none: {error}")))
                    })
                }
                TaskPayload::Failed { error } => Err(self.failed(Value::Object(error))),
                TaskPayload::Cancelled => Err(Fault::Refused(ToolError::conflict(format!(
                    "The MCP server '{}' has given the task up",
                    self.name()
                )))),
                _ => Err(Fault::Refused(odd(self.name(), "its task is in a state of its own"))),
            };
            left.task = None;
            return ended;
        }
    }

    async fn ask_after(
        &self,
        task: &str,
        patience: Patience,
        cx: &ToolContext,
    ) -> Result<GetTaskResult, Fault> {
        let request = ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(task)));
        match self.request(request, patience, Some(cx)).await? {
            ServerResult::GetTaskResult(state) => Ok(state),
            other => Err(self.odd(&other)),
        }
    }

    /// Gives a task what it wants to know, each thing once.
    async fn supply(
        &self,
        task: &str,
        wanted: InputRequests,
        answered: &mut HashSet<String>,
        patience: Patience,
        cx: &ToolContext,
    ) -> Result<(), Fault> {
        let mut responses = InputResponses::new();
        for (key, request) in wanted {
            if answered.insert(key.clone()) {
                responses.insert(key, self.answer(&request, cx).await?);
            }
        }
        if responses.is_empty() {
            return Ok(());
        }
        let params = UpdateTaskParams::new(task, responses);
        let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
        self.request(request, patience, Some(cx)).await.map(drop)
    }

    fn failed(&self, error: Value) -> Fault {
        match serde_json::from_value::<ErrorData>(error) {
            Ok(error) => Fault::of(self.name(), ServiceError::McpError(error)),
            Err(_) => Fault::Refused(odd(self.name(), "its task has failed, and not why")),
        }
    }
}

/// A task that somebody waits for.
struct Left<'a> {
    peer: &'a Peer<RoleClient>,
    task: Option<String>,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        let (Some(task), Ok(runtime)) = (self.task.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let peer = self.peer.clone();
        let request = CancelTaskRequest::new(CancelTaskParams::new(task));
        runtime.spawn(async move {
            let _ = peer.send_request(ClientRequest::CancelTaskRequest(request)).await;
        });
    }
}
