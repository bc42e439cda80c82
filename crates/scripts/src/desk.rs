//! The desk at which a script's calls are taken: whose they are, whether they
//! may be made, and in which order.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_core::{EffectDisposition, EngineHandle, ToolCall, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::{Notify, Semaphore, oneshot};

use crate::frames::LARGEST;
use crate::offer::Offered;
use crate::token::Token;

/// Tools that change nothing: they wait for nobody.
const READERS: [&str; 4] = ["read_file", "search_files", "web_extract", "web_search"];

/// Large messages that are in memory at a time.
const LARGE_ONES: usize = 2;

/// Where a script's calls are taken.
pub(crate) struct Desk {
    pub(crate) token: Token,
    /// Who may read a large message.
    pub(crate) large: Arc<Semaphore>,
    host: Option<Arc<dyn EngineHandle>>,
    /// What the calls are named after.
    call_id: Arc<str>,
    tools: Arc<Vec<Offered>>,
    most: u64,
    made: AtomicU64,
    over: AtomicU64,
    forged: AtomicU64,
    open: AtomicUsize,
    closed: Notify,
    turns: Mutex<Turns>,
}

/// Calls that may change something are made in the order in which they came;
/// those that wait together are planned together.
#[derive(Default)]
struct Turns {
    taken: bool,
    waiting: Vec<(ToolCall, oneshot::Sender<ToolResult>)>,
}

#[derive(Deserialize)]
struct Request {
    id: u64,
    token: String,
    tool: String,
    #[serde(default)]
    args: Map<String, Value>,
}

/// What is sent back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// Nobody who speaks like this is listened to any more.
    pub(crate) hang_up: bool,
}

impl Desk {
    pub(crate) fn new(
        host: Option<Arc<dyn EngineHandle>>,
        call_id: Arc<str>,
        tools: Arc<Vec<Offered>>,
        most: u64,
    ) -> Result<Self, ToolError> {
        let token = Token::new().map_err(|error| ToolError::io("/dev/urandom", &error))?;
        Ok(Self {
            token,
            large: Arc::new(Semaphore::new(LARGE_ONES)),
            host,
            call_id,
            tools,
            most,
            made: AtomicU64::new(0),
            over: AtomicU64::new(0),
            forged: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            closed: Notify::new(),
            turns: Mutex::default(),
        })
    }

    /// How many tools were called.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::SeqCst)
    }

    /// How many calls were too many.
    pub(crate) fn over(&self) -> u64 {
        self.over.load(Ordering::SeqCst)
    }

    /// How many requests did not know the token.
    pub(crate) fn forged(&self) -> u64 {
        self.forged.load(Ordering::SeqCst)
    }

    /// Whether some call is being made.
    pub(crate) fn is_busy(&self) -> bool {
        self.open.load(Ordering::SeqCst) > 0
    }

    /// Waits until none is.
    pub(crate) async fn quiet(&self) {
        loop {
            let closed = self.closed.notified();
            if !self.is_busy() {
                return;
            }
            closed.await;
        }
    }

    /// Takes one request, and makes its call.
    pub(crate) async fn answer(self: &Arc<Self>, request: Vec<u8>) -> Answer {
        let request = match serde_json::from_slice::<Request>(&request) {
            Ok(request) => request,
            Err(error) => {
                let error = ToolError::invalid(format!("The request cannot be read: {error}"));
                return Answer { text: failed(None, &error.to_json()), hang_up: true };
            }
        };
        if !self.token.is(&request.token) {
            self.forged.fetch_add(1, Ordering::SeqCst);
            let error = ToolError::denied("This is not the token of this run");
            return Answer { text: failed(Some(request.id), &error.to_json()), hang_up: true };
        }
        let text = match self.permit(&request) {
            Ok(number) => {
                let id = format!("{}.{number}", self.call_id);
                let Request { id: own, tool, mut args, .. } = request;
                self.ask_for_all(&tool, &mut args);
                let result = self.make(ToolCall::new(id, tool, Value::Object(args))).await;
                told(own, result)
            }
            Err(error) => failed(Some(request.id), &error.to_json()),
        };
        Answer { text, hang_up: false }
    }

    /// What a model was shown before is told to it in a word; a script has not
    /// seen it.
    fn ask_for_all(&self, tool: &str, args: &mut Map<String, Value>) {
        let tool = self.tools.iter().find(|known| known.name == tool);
        if tool.is_some_and(|tool| tool.parameters.iter().any(|it| it.name == "fresh")) {
            args.insert("fresh".to_owned(), Value::Bool(true));
        }
    }

    /// Whether a call may be made, and which one it is.
    fn permit(&self, request: &Request) -> Result<u64, ToolError> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == request.tool) else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            let hint = match names.is_empty() {
                true => "This session has no tool that scripts may call.".to_owned(),
                false => format!("Scripts may call: {}.", names.join(", ")),
            };
            let message = format!("Scripts may not call '{}'", request.tool);
            return Err(ToolError::denied(message).with_hint(hint));
        };
        let unknown = |name: &&String| !tool.parameters.iter().any(|it| it.name == **name);
        // Other tools say for themselves what they do not know; this one knows
        // more than scripts may use.
        if tool.name == "terminal"
            && let Some(name) = request.args.keys().find(unknown)
        {
            let names: Vec<&str> = tool.parameters.iter().map(|it| it.name.as_str()).collect();
            return Err(ToolError::invalid(format!("In a script terminal has no '{name}'"))
                .with_hint(format!("It has: {}.", names.join(", "))));
        }
        let next = |made: u64| (made < self.most).then_some(made + 1);
        self.made.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).map_err(|_| {
            self.over.fetch_add(1, Ordering::SeqCst);
            ToolError::limit(format!("A script may call tools {} times", self.most))
                .with_hint("Go on with what there is, or do the rest in another script.")
        })
    }

    async fn make(self: &Arc<Self>, call: ToolCall) -> ToolResult {
        let Some(host) = &self.host else { return cut_off(&call.id, &call.name) };
        let _open = Open::new(self);
        if READERS.contains(&&*call.name) {
            return host.call(call).await;
        }
        let (call, answer) = {
            let mut turns = self.turns();
            if turns.taken {
                let (sender, answer) = oneshot::channel();
                let known = (call.id.clone(), call.name.clone());
                turns.waiting.push((call, sender));
                (None, Some((answer, known)))
            } else {
                turns.taken = true;
                (Some(call), None)
            }
        };
        if let Some((answer, (id, name))) = answer {
            return answer.await.unwrap_or_else(|_| cut_off(&id, &name));
        }
        let _turn = Turn(Arc::clone(self));
        match call {
            Some(call) => host.call(call).await,
            None => cut_off("", ""),
        }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes all calls that wait; the host knows which of them can meet.
    async fn make_waiting(self: Arc<Self>, waiting: Vec<(ToolCall, oneshot::Sender<ToolResult>)>) {
        let _turn = Turn(Arc::clone(&self));
        let _open = Open::new(&self);
        let Some(host) = &self.host else { return };
        // Somebody who is gone wants nothing.
        let waiting = waiting.into_iter().filter(|(_, answer)| !answer.is_closed());
        let (calls, answers): (Vec<_>, Vec<_>) = waiting.unzip();
        let results = host.call_all(calls).await;
        for (answer, result) in answers.into_iter().zip(results) {
            let _ = answer.send(result);
        }
    }
}

/// A turn, which goes on to those who wait, however it ends.
struct Turn(Arc<Desk>);

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = self.0.turns();
        let waiting = std::mem::take(&mut turns.waiting);
        let runtime = tokio::runtime::Handle::try_current();
        match runtime {
            Ok(runtime) if !waiting.is_empty() => {
                runtime.spawn(Arc::clone(&self.0).make_waiting(waiting));
            }
            _ => turns.taken = false,
        }
    }
}

/// A call that is being made.
struct Open<'a>(&'a Desk);

impl<'a> Open<'a> {
    fn new(desk: &'a Desk) -> Self {
        desk.open.fetch_add(1, Ordering::SeqCst);
        Self(desk)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.closed.notify_waiters();
        }
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("made", &self.made()).finish_non_exhaustive()
    }
}

fn cut_off(id: &str, name: &str) -> ToolResult {
    ToolResult::error(id, name, &ToolError::cancelled(), EffectDisposition::NotRun)
}

fn told(id: u64, result: ToolResult) -> String {
    if result.is_success() {
        let content = whole(result);
        return format!("{{\"id\":{id},\"ok\":true,\"result\":{content}}}");
    }
    failed(Some(id), &result.content)
}

fn failed(id: Option<u64>, error: &str) -> String {
    let id = id.map_or_else(|| "null".to_owned(), |id| id.to_string());
    format!("{{\"id\":{id},\"ok\":false,\"error\":{error}}}")
}

/// The answer as the tool gave it: what was put aside, or labelled, for the
/// sake of a model is no trouble to a script.
fn whole(mut result: ToolResult) -> String {
    if let Some(path) = result.spill_path.take()
        && let Some(content) = restored(&result.content, &path)
    {
        result.content = content;
    }
    if result.untrusted
        && let Some(content) = unlabelled(&result.content)
    {
        result.content = content;
    }
    result.content
}

fn restored(content: &str, path: &Path) -> Option<String> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > LARGEST as u64 / 2 {
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

fn unlabelled(content: &str) -> Option<String> {
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
#[path = "desk_tests.rs"]
mod tests;
