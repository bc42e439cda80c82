//! Calls that a server continues as a task after its first response; the client
//! polls the task until it ends.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use hermes_core::{ToolContext, ToolError};
use rmcp::model::{
    CallToolResult, CancelTaskParams, CancelTaskRequest, ClientRequest, CustomRequest, ErrorCode,
    ErrorData, GetTaskParams, GetTaskRequest, GetTaskResult, InputRequests, InputResponses,
    JsonObject, ProtocolVersion, ServerResult, Task, TaskPayload, UpdateTaskParams,
    UpdateTaskRequest,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Value, json};

use super::connection::{McpConnection, RequestTimeouts};
use super::error::{McpRequestError, unexpected_response};
use super::sanitize::excerpt;

/// Poll interval if the server suggests none.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Bounds on the poll interval that a server suggests.
const POLL_INTERVAL_RANGE: (Duration, Duration) =
    (Duration::from_millis(20), Duration::from_secs(60));

/// Consecutive failed polls after which the task is considered lost.
const MAX_POLL_FAILURES: usize = 3;

impl McpConnection {
    /// Polls a task until it ends. Cancels it on the server if dropped.
    pub(super) async fn poll_task(
        &self,
        task: Task,
        timeout: RequestTimeouts,
        cx: &ToolContext,
    ) -> Result<CallToolResult, McpRequestError> {
        let began = Instant::now();
        let mut left = CancelTaskOnDrop { peer: self.peer(), task: Some(task.task_id.clone()) };
        let mut now = task;
        let mut shown = None;
        let mut answered = HashSet::new();
        let mut failures = 0;
        loop {
            if now.status_message != shown {
                shown = now.status_message.clone();
                cx.report_progress(None, excerpt(shown.as_deref().unwrap_or_default(), 300));
            }
            let pause = now.poll_interval_ms.map_or(DEFAULT_POLL_INTERVAL, Duration::from_millis);
            let pause = pause.clamp(POLL_INTERVAL_RANGE.0, POLL_INTERVAL_RANGE.1);
            let waited = cx.cancel.run_until_cancelled(tokio::time::sleep(pause)).await;
            waited.ok_or(McpRequestError::Cancelled)?;
            if began.elapsed() >= timeout.total {
                return Err(McpRequestError::TotalTimeout(timeout.total));
            }
            let state = match self.get_task(&now.task_id, timeout, cx).await {
                Ok(state) => state,
                // The task was created earlier, so it runs even if this poll
                // was not sent.
                Err(McpRequestError::NotSent(why) | McpRequestError::Lost(why)) => {
                    failures += 1;
                    if failures >= MAX_POLL_FAILURES || self.is_closed() {
                        return Err(McpRequestError::Lost(why));
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
                    self.update_task(&now.task_id, input_requests, &mut answered, timeout, cx)
                        .await?;
                    continue;
                }
                TaskPayload::Completed { result } => serde_json::from_value(Value::Object(result))
                    .map_err(|error| {
                        McpRequestError::Refused(unexpected_response(
                            self.name(),
                            &format!("the task result is not a tool result: {error}"),
                        ))
                    }),
                TaskPayload::Failed { error } => Err(self.task_error(Value::Object(error))),
                TaskPayload::Cancelled => Err(McpRequestError::Refused(ToolError::conflict(
                    format!("The MCP server '{}' cancelled the task", self.name()),
                ))),
                _ => Err(McpRequestError::Refused(unexpected_response(
                    self.name(),
                    "the task is in an unknown state",
                ))),
            };
            left.task = None;
            return ended;
        }
    }

    /// Whether a tool was refused because it can only be called as a task.
    /// 2025-11-25 signals this with a code that has no other meaning for an
    /// existing tool; some servers put it into the text of the result instead.
    pub(super) fn requires_task(&self, answered: &Result<ServerResult, McpRequestError>) -> bool {
        if self.info.protocol_version != ProtocolVersion::V_2025_11_25 {
            return false;
        }
        match answered {
            Err(McpRequestError::Refused(why)) => {
                why.details().get("code") == Some(&ErrorCode::METHOD_NOT_FOUND.0.into())
            }
            Ok(ServerResult::CallToolResult(result)) if result.is_error == Some(true) => {
                let text = result.content.first().and_then(|block| block.as_text());
                text.is_some_and(|text| text.text.starts_with("MCP error -32601"))
            }
            _ => false,
        }
    }

    /// Calls a tool as a 2025-11-25 task and waits for its result.
    pub(super) async fn call_as_task(
        &self,
        tool: &str,
        arguments: &JsonObject,
        timeout: RequestTimeouts,
        cx: &ToolContext,
    ) -> Result<CallToolResult, McpRequestError> {
        let params = json!({ "name": tool, "arguments": arguments, "task": {} });
        let made = self.request(custom_request("tools/call", params), timeout, Some(cx)).await?;
        let written = serde_json::to_value(&made).unwrap_or_default();
        let id = written.pointer("/task/taskId").and_then(Value::as_str);
        let id = id.ok_or_else(|| self.unexpected_result(&made))?;
        let mut left = CancelTaskOnDrop { peer: self.peer(), task: Some(id.to_owned()) };
        // The server responds only when the task ends, and is silent until
        // then.
        let timeout = RequestTimeouts { idle: timeout.total, ..timeout };
        let request = custom_request("tasks/result", json!({ "taskId": id }));
        let result = match self.request(request, timeout, Some(cx)).await {
            Ok(ServerResult::CallToolResult(result)) => Ok(result),
            Ok(other) => Err(self.unexpected_result(&other)),
            Err(McpRequestError::NotSent(why)) => Err(McpRequestError::Lost(why)),
            Err(fault @ McpRequestError::Cancelled) => return Err(fault),
            Err(fault) => Err(fault),
        };
        left.task = None;
        result
    }

    async fn get_task(
        &self,
        task: &str,
        timeout: RequestTimeouts,
        cx: &ToolContext,
    ) -> Result<GetTaskResult, McpRequestError> {
        let request = ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(task)));
        match self.request(request, timeout, Some(cx)).await? {
            ServerResult::GetTaskResult(state) => Ok(state),
            other => Err(self.unexpected_result(&other)),
        }
    }

    /// Answers the task's input requests, each once.
    async fn update_task(
        &self,
        task: &str,
        wanted: InputRequests,
        answered: &mut HashSet<String>,
        timeout: RequestTimeouts,
        cx: &ToolContext,
    ) -> Result<(), McpRequestError> {
        let mut responses = InputResponses::new();
        for (key, request) in wanted {
            if answered.insert(key.clone()) {
                responses.insert(key, self.answer_input(&request, cx).await?);
            }
        }
        if responses.is_empty() {
            return Ok(());
        }
        let params = UpdateTaskParams::new(task, responses);
        let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
        self.request(request, timeout, Some(cx)).await.map(drop)
    }

    fn task_error(&self, error: Value) -> McpRequestError {
        match serde_json::from_value::<ErrorData>(error) {
            Ok(error) => {
                McpRequestError::from_service_error(self.name(), ServiceError::McpError(error))
            }
            Err(_) => McpRequestError::Refused(unexpected_response(
                self.name(),
                "the task failed without a valid error",
            )),
        }
    }
}

/// A request that the current protocol no longer defines.
fn custom_request(method: &str, params: Value) -> ClientRequest {
    ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)))
}

/// Cancels the task on drop, unless it has ended.
struct CancelTaskOnDrop<'a> {
    peer: &'a Peer<RoleClient>,
    task: Option<String>,
}

impl Drop for CancelTaskOnDrop<'_> {
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
