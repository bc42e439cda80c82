//! Runs one call of a client through the pipeline, with progress and
//! elicitation.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hermes_core::{AccessMode, Approver, CancellationToken, ToolCall, ToolResult, UserPrompter};
use hermes_engine::{CallObserver, Caller};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequestParams, ElicitResult,
    InputRequiredResult, ProgressNotificationParam, ProgressToken, ProtocolVersion, RequestId,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::elicitation::CallElicitor;
use super::progress::{HEARTBEAT_INTERVAL, ProgressNotifier};
use super::task::{self, TaskLink};
use super::{ServerShared, tool_result};

/// Progress notifications queued for a slow client; further ones are dropped.
const PROGRESS_QUEUE: usize = 16;

/// How long a result waits for the progress notifications before it.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// What a running call sends to its client. Handled in the task of the client's
/// request, so it reaches the client together with the response.
#[derive(Debug)]
pub(crate) enum CallEvent {
    Progress(ProgressNotificationParam),
    Elicit(Box<ElicitRequestParams>, oneshot::Sender<Option<ElicitResult>>),
}

/// Runs a client's call. A slow call becomes a task if the client supports
/// tasks.
pub(crate) async fn call_tool(
    shared: &Arc<ServerShared>,
    session: String,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if !context.client_capabilities().is_some_and(|can| can.supports_tasks()) {
        let given_up = context.ct.clone();
        return run_call(shared, &session, request, &context, &given_up, None).await;
    }
    let (handover, given_up) = (Arc::<TaskLink>::default(), CancellationToken::new());
    let timeout = shared.engine.snapshot().find(&request.name).and_then(|it| it.spec().timeout);
    let ends = context.ct.clone();
    let work = {
        let (shared, handover) = (Arc::clone(shared), Arc::clone(&handover));
        let given_up = given_up.clone();
        Box::pin(async move {
            let handover = Some(&handover);
            run_call(&shared, &session, request, &context, &given_up, handover).await
        })
    };
    task::run_as_task_if_slow(&shared.tasks, handover, work, &ends, given_up, timeout).await
}

async fn run_call(
    shared: &ServerShared,
    session: &str,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    given_up: &CancellationToken,
    handover: Option<&Arc<TaskLink>>,
) -> Result<CallToolResponse, ErrorData> {
    let listing = shared.listing().await;
    let listing = listing.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
    let scope = &listing.definitions.scope;
    let id = shared.next_call_id();
    let (errands, received) = mpsc::channel(PROGRESS_QUEUE);
    let mut caller = shared.caller(session);
    caller.who = "mcp".into();
    caller.scope = Some(Arc::clone(scope));
    caller.cancel = shared.cancel_calls.child_token();
    let token = context.meta.get_progress_token();
    let wants_signs = token.is_some();
    // A task reports progress as its status, even without a progress token.
    let token = token.or_else(|| handover.map(|_| ProgressToken(RequestId::Number(0))));
    let signs = token.map(|token| Arc::new(ProgressNotifier::new(&id, token, errands.clone())));
    caller.observer = signs.clone().map(|signs| signs as Arc<dyn CallObserver>);
    let about = seal_context(session, &request);
    let answers = input_responses(shared, &request, &about)?;
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    let call = ToolCall::new(id, request.name.into_owned(), arguments);
    let desk = call_elicitor(shared, &call, &caller, context, answers, errands).await;
    let desk = desk.map(|desk| Arc::new(desk.with_task(handover.cloned())));
    if let Some(desk) = &desk {
        caller.approver = Some(Arc::clone(desk) as Arc<dyn Approver>);
        let ports = caller.ports.as_ref().unwrap_or_else(|| shared.engine.ports());
        let ports = (**ports).clone().with::<dyn UserPrompter>(Arc::clone(desk) as _);
        caller.ports = Some(Arc::new(ports));
    }
    let client = CallClient {
        peer: &context.peer,
        cancelled: given_up,
        task_link: handover,
        wants_progress: wants_signs,
        progress: signs,
    };
    let result = wait_for_result(shared, call, &caller, client, received).await;
    if let Some(questions) = desk.and_then(|desk| desk.pending_requests()) {
        let state = shared.request_states.seal(&about)?;
        return Ok(InputRequiredResult::new(Some(questions), Some(state)).into());
    }
    let snapshot = shared.engine.snapshot();
    let exists = snapshot.find(&result.name).is_some_and(|entry| scope.contains(entry.name()));
    let schema = listing.output_schemas.get(&result.name);
    Ok(tool_result::render(result, exists, schema).await?.into())
}

/// Returns the elicitor for this call, if the client supports one.
async fn call_elicitor(
    shared: &ServerShared,
    call: &ToolCall,
    caller: &Caller,
    context: &RequestContext<RoleServer>,
    answers: HashMap<String, ElicitResult>,
    errands: mpsc::Sender<CallEvent>,
) -> Option<CallElicitor> {
    if !shared.settings.can_elicit || !supports_forms(context) {
        return None;
    }
    let newer = context.protocol_version().is_some_and(|v| v >= ProtocolVersion::V_2026_07_28);
    if !newer {
        return Some(CallElicitor::inline(&call.id, errands));
    }
    // A call without side effects may run twice: once to ask, once with the
    // answer.
    let preview = shared.engine.preview(call.clone(), caller).await;
    let repeatable = preview.is_ok_and(|preview| {
        preview.effects.iter().all(|effect| effect.scope.access() == AccessMode::Shared)
    });
    Some(CallElicitor::deferred(&call.id, answers, repeatable))
}

/// Returns the data that a seal is bound to: this call in this session.
fn seal_context(session: &str, request: &CallToolRequestParams) -> Vec<u8> {
    let call = (session, &request.name, &request.arguments);
    serde_json::to_vec(&call).unwrap_or_default()
}

/// Returns the answers in the request, if they belong to a sealed question.
fn input_responses(
    shared: &ServerShared,
    request: &CallToolRequestParams,
    about: &[u8],
) -> Result<HashMap<String, ElicitResult>, ErrorData> {
    let Some(sealed) = &request.request_state else { return Ok(HashMap::new()) };
    if !shared.request_states.redeem(sealed, about)? {
        return Ok(HashMap::new());
    }
    let given = request.input_responses.iter().flatten();
    // An unparsable answer is ignored, and the question is asked again.
    let read = |value: &Value| serde_json::from_value(value.clone()).ok();
    Ok(given.filter_map(|(key, value)| Some((key.clone(), read(value)?))).collect())
}

fn supports_forms(context: &RequestContext<RoleServer>) -> bool {
    let asked = context.client_capabilities().and_then(|can| can.elicitation);
    asked.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// The client that made a call.
struct CallClient<'a> {
    peer: &'a Peer<RoleServer>,
    /// Set when the client has cancelled the call.
    cancelled: &'a CancellationToken,
    task_link: Option<&'a Arc<TaskLink>>,
    /// Whether the client asked for progress notifications.
    wants_progress: bool,
    progress: Option<Arc<ProgressNotifier>>,
}

impl CallClient<'_> {
    async fn notify_progress(&self, sign: ProgressNotificationParam) {
        let is_task = self.task_link.is_some_and(|it| it.set_status(sign.message.as_deref()));
        if self.wants_progress && !is_task {
            let _ = self.peer.notify_progress(sign).await;
        }
    }
}

/// Sends progress notifications in order, concurrently with the call, which
/// must not wait for a slow client.
async fn forward_progress(
    client: &CallClient<'_>,
    mut signs: mpsc::Receiver<ProgressNotificationParam>,
) {
    while let Some(sign) = signs.recv().await {
        client.notify_progress(sign).await;
    }
}

/// Waits for the result, and handles the events of the call meanwhile.
async fn wait_for_result(
    shared: &ServerShared,
    call: ToolCall,
    caller: &Caller,
    client: CallClient<'_>,
    mut errands: mpsc::Receiver<CallEvent>,
) -> ToolResult {
    let mut running = pin!(shared.engine.call(call, caller));
    let mut questions = FuturesUnordered::new();
    let given_up = client.cancelled;
    let (signs, shown) = mpsc::channel(PROGRESS_QUEUE);
    let mut telling = pin!(forward_progress(&client, shown));
    // Dropped if the client does not keep up.
    let sign = |sign| drop(signs.try_send(sign));
    let mut beats = tokio::time::interval_at(
        tokio::time::Instant::now() + HEARTBEAT_INTERVAL,
        HEARTBEAT_INTERVAL,
    );
    let result = loop {
        tokio::select! {
            biased;
            () = given_up.cancelled(), if !caller.cancel.is_cancelled() => caller.cancel.cancel(),
            Some(errand) = errands.recv() => match errand {
                CallEvent::Progress(progress) => sign(progress),
                CallEvent::Elicit(form, reply) => questions.push(elicit(client.peer, *form, reply)),
            },
            Some(()) = questions.next() => {}
            now = beats.tick() => {
                let beat = client.progress.as_ref().and_then(|signs| signs.heartbeat(now.into_std()));
                beat.map(sign);
            }
            () = &mut telling => {}
            result = &mut running => break result,
        }
    };
    while let Ok(errand) = errands.try_recv() {
        if let CallEvent::Progress(progress) = errand {
            sign(progress);
        }
    }
    drop(signs);
    // Progress is sent before the result, unless the client stops reading.
    let said = tokio::time::timeout(FLUSH_TIMEOUT, telling);
    let _ = caller.cancel.run_until_cancelled(said).await;
    result
}

/// Asks the client, until the call no longer waits for the answer.
async fn elicit(
    peer: &Peer<RoleServer>,
    form: ElicitRequestParams,
    mut reply: oneshot::Sender<Option<ElicitResult>>,
) {
    tokio::select! {
        answer = peer.create_elicitation(form) => {
            let _ = reply.send(answer.ok());
        }
        () = reply.closed() => {}
    }
}
