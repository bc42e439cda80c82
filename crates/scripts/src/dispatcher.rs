//! Dispatches a script's tool calls: authenticates and authorizes them, and
//! runs them in order.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hermes_core::{EffectDisposition, EngineHandle, ToolCall, ToolError, ToolResult};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::{Notify, Semaphore, oneshot};

use crate::callable_tools::CallableTool;
use crate::frames::MAX_FRAME_BYTES;
use crate::token::RunToken;

/// Tools that change nothing, so they need not wait for other calls.
const READ_ONLY_TOOLS: [&str; 4] = ["read_file", "search_files", "web_extract", "web_search"];

/// Maximum number of large messages in memory.
const MAX_LARGE_MESSAGES: usize = 2;

/// Dispatcher of one script's tool calls.
pub(crate) struct RpcDispatcher {
    pub(crate) token: RunToken,
    /// Limits how many large messages are read at a time.
    pub(crate) large_messages: Arc<Semaphore>,
    host: Option<Arc<dyn EngineHandle>>,
    /// Prefix of the ids of the script's calls.
    call_id: Arc<str>,
    tools: Arc<Vec<CallableTool>>,
    max_calls: u64,
    calls_made: AtomicU64,
    calls_over_limit: AtomicU64,
    forged_requests: AtomicU64,
    in_flight: AtomicUsize,
    idle: Notify,
    write_queue: Mutex<WriteQueue>,
}

/// Queue of calls that may change something. They run in the order of arrival;
/// those that wait together are dispatched as a batch.
#[derive(Default)]
struct WriteQueue {
    is_busy: bool,
    waiting: Vec<(ToolCall, oneshot::Sender<ToolResult>)>,
}

#[derive(Deserialize)]
struct RpcRequest {
    id: u64,
    token: String,
    tool: String,
    #[serde(default)]
    args: Map<String, Value>,
}

/// Response to a request.
#[derive(Debug)]
pub(crate) struct RpcResponse {
    pub(crate) text: String,
    /// Whether to close the connection, after an invalid request or token.
    pub(crate) hang_up: bool,
}

impl RpcDispatcher {
    pub(crate) fn new(
        host: Option<Arc<dyn EngineHandle>>,
        call_id: Arc<str>,
        tools: Arc<Vec<CallableTool>>,
        most: u64,
    ) -> Result<Self, ToolError> {
        let token = RunToken::new().map_err(|error| ToolError::io("/dev/urandom", &error))?;
        Ok(Self {
            token,
            large_messages: Arc::new(Semaphore::new(MAX_LARGE_MESSAGES)),
            host,
            call_id,
            tools,
            max_calls: most,
            calls_made: AtomicU64::new(0),
            calls_over_limit: AtomicU64::new(0),
            forged_requests: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            idle: Notify::new(),
            write_queue: Mutex::default(),
        })
    }

    /// Returns the number of tool calls made.
    pub(crate) fn calls_made(&self) -> u64 {
        self.calls_made.load(Ordering::SeqCst)
    }

    /// Returns the number of calls refused because of the limit.
    pub(crate) fn calls_over_limit(&self) -> u64 {
        self.calls_over_limit.load(Ordering::SeqCst)
    }

    /// Returns the number of requests with a wrong token.
    pub(crate) fn forged_requests(&self) -> u64 {
        self.forged_requests.load(Ordering::SeqCst)
    }

    /// Whether any call is in flight.
    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) > 0
    }

    /// Waits until no call is in flight.
    pub(crate) async fn wait_idle(&self) {
        loop {
            let closed = self.idle.notified();
            if !self.is_busy() {
                return;
            }
            closed.await;
        }
    }

    /// Handles one request and runs its call.
    pub(crate) async fn handle_request(self: &Arc<Self>, request: Vec<u8>) -> RpcResponse {
        let request = match serde_json::from_slice::<RpcRequest>(&request) {
            Ok(request) => request,
            Err(error) => {
                let error = ToolError::invalid(format!("The request cannot be read: {error}"));
                return RpcResponse { text: render_error(None, &error.to_json()), hang_up: true };
            }
        };
        if !self.token.matches(&request.token) {
            self.forged_requests.fetch_add(1, Ordering::SeqCst);
            let error = ToolError::denied("This is not the token of this run");
            return RpcResponse {
                text: render_error(Some(request.id), &error.to_json()),
                hang_up: true,
            };
        }
        let text = match self.authorize(&request) {
            Ok(number) => {
                let id = format!("{}.{number}", self.call_id);
                let RpcRequest { id: own, tool, mut args, .. } = request;
                self.request_fresh_result(&tool, &mut args);
                let result = self.run_call(ToolCall::new(id, tool, Value::Object(args))).await;
                render_result(own, result)
            }
            Err(error) => render_error(Some(request.id), &error.to_json()),
        };
        RpcResponse { text, hang_up: false }
    }

    /// Asks the tool for the full result. A repeated result is abbreviated for
    /// a model that has seen it, but the script has not.
    fn request_fresh_result(&self, tool: &str, args: &mut Map<String, Value>) {
        let tool = self.tools.iter().find(|known| known.name == tool);
        if tool.is_some_and(|tool| tool.parameters.iter().any(|it| it.name == "fresh")) {
            args.insert("fresh".to_owned(), Value::Bool(true));
        }
    }

    /// Checks whether a call is allowed, and returns its number.
    fn authorize(&self, request: &RpcRequest) -> Result<u64, ToolError> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == request.tool) else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            let hint = match names.is_empty() {
                true => "This session has no tools that scripts may call.".to_owned(),
                false => format!("Scripts may call: {}.", names.join(", ")),
            };
            let message = format!("Scripts may not call '{}'", request.tool);
            return Err(ToolError::denied(message).with_hint(hint));
        };
        let unknown = |name: &&String| !tool.parameters.iter().any(|it| it.name == **name);
        // Other tools reject unknown parameters themselves; `terminal` has
        // parameters that scripts may not use.
        if tool.name == "terminal"
            && let Some(name) = request.args.keys().find(unknown)
        {
            let names: Vec<&str> = tool.parameters.iter().map(|it| it.name.as_str()).collect();
            return Err(ToolError::invalid(format!(
                "'terminal' has no parameter '{name}' in scripts"
            ))
            .with_hint(format!("It has: {}.", names.join(", "))));
        }
        let next = |made: u64| (made < self.max_calls).then_some(made + 1);
        self.calls_made.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).map_err(|_| {
            self.calls_over_limit.fetch_add(1, Ordering::SeqCst);
            ToolError::limit(format!("A script may make at most {} tool calls", self.max_calls))
                .with_hint("Continue with the results so far, or do the rest in another script.")
        })
    }

    async fn run_call(self: &Arc<Self>, call: ToolCall) -> ToolResult {
        let Some(host) = &self.host else { return cancelled_result(&call.id, &call.name) };
        let _open = InFlightCall::new(self);
        if READ_ONLY_TOOLS.contains(&&*call.name) {
            return host.call(call).await;
        }
        let (call, answer) = {
            let mut turns = self.write_queue();
            if turns.is_busy {
                let (sender, answer) = oneshot::channel();
                let known = (call.id.clone(), call.name.clone());
                turns.waiting.push((call, sender));
                (None, Some((answer, known)))
            } else {
                turns.is_busy = true;
                (Some(call), None)
            }
        };
        if let Some((answer, (id, name))) = answer {
            return answer.await.unwrap_or_else(|_| cancelled_result(&id, &name));
        }
        let _turn = WriteTurn(Arc::clone(self));
        match call {
            Some(call) => host.call(call).await,
            None => cancelled_result("", ""),
        }
    }

    fn write_queue(&self) -> MutexGuard<'_, WriteQueue> {
        self.write_queue.lock()
    }

    /// Runs all waiting calls; the host knows which of them conflict.
    async fn run_queued(self: Arc<Self>, waiting: Vec<(ToolCall, oneshot::Sender<ToolResult>)>) {
        let _turn = WriteTurn(Arc::clone(&self));
        let _open = InFlightCall::new(&self);
        let Some(host) = &self.host else { return };
        // Skip calls whose caller is gone.
        let waiting = waiting.into_iter().filter(|(_, answer)| !answer.is_closed());
        let (calls, answers): (Vec<_>, Vec<_>) = waiting.unzip();
        let results = host.call_all(calls).await;
        for (answer, result) in answers.into_iter().zip(results) {
            let _ = answer.send(result);
        }
    }
}

/// Turn of a write call. When dropped, it passes the turn to the waiting calls.
struct WriteTurn(Arc<RpcDispatcher>);

impl Drop for WriteTurn {
    fn drop(&mut self) {
        let mut turns = self.0.write_queue();
        let waiting = std::mem::take(&mut turns.waiting);
        let runtime = tokio::runtime::Handle::try_current();
        match runtime {
            Ok(runtime) if !waiting.is_empty() => {
                runtime.spawn(Arc::clone(&self.0).run_queued(waiting));
            }
            _ => turns.is_busy = false,
        }
    }
}

/// Counts a call as in flight until dropped.
struct InFlightCall<'a>(&'a RpcDispatcher);

impl<'a> InFlightCall<'a> {
    fn new(desk: &'a RpcDispatcher) -> Self {
        desk.in_flight.fetch_add(1, Ordering::SeqCst);
        Self(desk)
    }
}

impl Drop for InFlightCall<'_> {
    fn drop(&mut self) {
        if self.0.in_flight.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

impl std::fmt::Debug for RpcDispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RpcDispatcher").field("made", &self.calls_made()).finish_non_exhaustive()
    }
}

fn cancelled_result(id: &str, name: &str) -> ToolResult {
    ToolResult::error(id, name, &ToolError::cancelled(), EffectDisposition::NotRun)
}

fn render_result(id: u64, result: ToolResult) -> String {
    if result.is_success() {
        let content = full_content(result);
        return format!("{{\"id\":{id},\"ok\":true,\"result\":{content}}}");
    }
    render_error(Some(id), &result.content)
}

fn render_error(id: Option<u64>, error: &str) -> String {
    let id = id.map_or_else(|| "null".to_owned(), |id| id.to_string());
    format!("{{\"id\":{id},\"ok\":false,\"error\":{error}}}")
}

/// Returns the content as the tool produced it: without spilling and labels,
/// which only matter to a model.
fn full_content(mut result: ToolResult) -> String {
    if let Some(path) = result.spill_path.take()
        && let Some(content) = read_spilled(&result.content, &path)
    {
        result.content = content;
    }
    if result.untrusted
        && let Some(content) = strip_label(&result.content)
    {
        result.content = content;
    }
    result.content
}

fn read_spilled(content: &str, path: &Path) -> Option<String> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > MAX_FRAME_BYTES as u64 / 2 {
        return None;
    }
    let file = std::fs::read_to_string(path).ok()?;
    let mut value: Value = serde_json::from_str(content).ok()?;
    let note = value.as_object_mut()?.shift_remove("spilled")?;
    let Some(field) = note.get("field").and_then(Value::as_str) else {
        return serde_json::from_str::<Value>(&file).ok().map(|value| value.to_string());
    };
    value.as_object_mut()?.shift_remove("truncated");
    let pointer = format!("/{field}");
    let slot = match value.pointer(&pointer).is_some() {
        true => value.pointer_mut(&pointer),
        false => value.get_mut("result").and_then(|inner| inner.pointer_mut(&pointer)),
    };
    *slot? = file.into();
    Some(value.to_string())
}

fn strip_label(content: &str) -> Option<String> {
    let mut value: Value = serde_json::from_str(content).ok()?;
    match value.get_mut("content").map(Value::take)? {
        Value::String(text) => {
            let inner = hermes_threats::unlabel(&text)?;
            serde_json::from_str::<Value>(inner).ok().map(|value| value.to_string())
        }
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
#[path = "dispatcher_tests.rs"]
mod tests;
