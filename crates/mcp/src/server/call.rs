//! One call of a client: through the pipeline, with its progress and its
//! questions on the way.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hermes_core::{AccessMode, Approver, CancellationToken, UserPrompter, ToolCall, ToolResult};
use hermes_engine::{Caller, CallObserver};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequestParams, ElicitResult,
    InputRequiredResult, ProgressNotificationParam, ProgressToken, ProtocolVersion, RequestId,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, Peer, RoleServer};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::progress::{BEAT, Signs};
use super::question::Desk;
use super::task::{self, Handover};
use super::{Shared, answer};

/// Signs of life that wait for a slow client; more are left out.
const WAITING: usize = 16;

/// How long an answer waits for the signs that came before it.
const MOMENT: Duration = Duration::from_secs(1);

/// What a running call wants of its client. It is done where the client's
/// request is handled, so that it reaches the client with its answer.
#[derive(Debug)]
pub(crate) enum Errand {
    Progress(ProgressNotificationParam),
    Ask(Box<ElicitRequestParams>, oneshot::Sender<Option<ElicitResult>>),
}

/// Makes the call that a client asks for. One that takes long becomes a task,
/// for clients that know what that is.
pub(crate) async fn make(
    shared: &Arc<Shared>,
    session: String,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if !context.client_capabilities().is_some_and(|can| can.supports_tasks()) {
        let given_up = context.ct.clone();
        return carry_out(shared, &session, request, &context, &given_up, None).await;
    }
    let (handover, given_up) = (Arc::<Handover>::default(), CancellationToken::new());
    let patience = shared.engine.snapshot().find(&request.name).and_then(|it| it.spec().timeout);
    let ends = context.ct.clone();
    let work = {
        let (shared, handover) = (Arc::clone(shared), Arc::clone(&handover));
        let given_up = given_up.clone();
        Box::pin(async move {
            let handover = Some(&handover);
            carry_out(&shared, &session, request, &context, &given_up, handover).await
        })
    };
    task::attend(&shared.tasks, handover, work, &ends, given_up, patience).await
}

async fn carry_out(
    shared: &Shared,
    session: &str,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    given_up: &CancellationToken,
    handover: Option<&Arc<Handover>>,
) -> Result<CallToolResponse, ErrorData> {
    let listing = shared.listing().await;
    let listing = listing.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
    let scope = &listing.definitions.scope;
    let id = shared.next_call();
    let (errands, received) = mpsc::channel(WAITING);
    let mut caller = shared.caller(session);
    caller.who = "mcp".into();
    caller.scope = Some(Arc::clone(scope));
    caller.cancel = shared.calls.child_token();
    let token = context.meta.get_progress_token();
    let wants_signs = token.is_some();
    // A task says how it gets on to whoever asks after it.
    let token = token.or_else(|| handover.map(|_| ProgressToken(RequestId::Number(0))));
    let signs = token.map(|token| Arc::new(Signs::new(&id, token, errands.clone())));
    caller.observer = signs.clone().map(|signs| signs as Arc<dyn CallObserver>);
    let about = about(session, &request);
    let answers = answers(shared, &request, &about)?;
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    let call = ToolCall::new(id, request.name.into_owned(), arguments);
    let desk = desk(shared, &call, &caller, context, answers, errands).await;
    let desk = desk.map(|desk| Arc::new(desk.with(handover.cloned())));
    if let Some(desk) = &desk {
        caller.approver = Some(Arc::clone(desk) as Arc<dyn Approver>);
        let ports = caller.ports.as_ref().unwrap_or_else(|| shared.engine.ports());
        let ports = (**ports).clone().with::<dyn UserPrompter>(Arc::clone(desk) as _);
        caller.ports = Some(Arc::new(ports));
    }
    let client = Client { peer: &context.peer, given_up, handover, wants_signs, signs };
    let result = attend(shared, call, &caller, client, received).await;
    if let Some(questions) = desk.and_then(|desk| desk.open()) {
        let state = shared.replies.seal(&about)?;
        return Ok(InputRequiredResult::new(Some(questions), Some(state)).into());
    }
    let snapshot = shared.engine.snapshot();
    let exists = snapshot.find(&result.name).is_some_and(|entry| scope.contains(entry.name()));
    let schema = listing.answers.get(&result.name);
    Ok(answer::render(result, exists, schema).await?.into())
}

/// Who can be asked about this call, if anybody.
async fn desk(
    shared: &Shared,
    call: &ToolCall,
    caller: &Caller,
    context: &RequestContext<RoleServer>,
    answers: HashMap<String, ElicitResult>,
    errands: mpsc::Sender<Errand>,
) -> Option<Desk> {
    if !shared.settings.asks || !fills_in_forms(context) {
        return None;
    }
    let newer = context.protocol_version().is_some_and(|v| v >= ProtocolVersion::V_2026_07_28);
    if !newer {
        return Some(Desk::now(&call.id, errands));
    }
    // What changes nothing may run twice: once to ask, once with the answer.
    let preview = shared.engine.preview(call.clone(), caller).await;
    let repeatable = preview.is_ok_and(|preview| {
        preview.effects.iter().all(|effect| effect.scope.access() == AccessMode::Shared)
    });
    Some(Desk::later(&call.id, answers, repeatable))
}

/// What a seal is about: this call of this session, and no other.
fn about(session: &str, request: &CallToolRequestParams) -> Vec<u8> {
    let call = (session, &request.name, &request.arguments);
    serde_json::to_vec(&call).unwrap_or_default()
}

/// The answers that come with the request, if they are to questions of ours.
fn answers(
    shared: &Shared,
    request: &CallToolRequestParams,
    about: &[u8],
) -> Result<HashMap<String, ElicitResult>, ErrorData> {
    let Some(sealed) = &request.request_state else { return Ok(HashMap::new()) };
    if !shared.replies.redeem(sealed, about)? {
        return Ok(HashMap::new());
    }
    let given = request.input_responses.iter().flatten();
    // What is no answer is as good as none: the question is put again.
    let read = |value: &Value| serde_json::from_value(value.clone()).ok();
    Ok(given.filter_map(|(key, value)| Some((key.clone(), read(value)?))).collect())
}

fn fills_in_forms(context: &RequestContext<RoleServer>) -> bool {
    let asked = context.client_capabilities().and_then(|can| can.elicitation);
    asked.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// Whoever has asked for a call.
struct Client<'a> {
    peer: &'a Peer<RoleServer>,
    /// Set when it no longer wants the call.
    given_up: &'a CancellationToken,
    handover: Option<&'a Arc<Handover>>,
    /// Whether it has asked for signs of life.
    wants_signs: bool,
    signs: Option<Arc<Signs>>,
}

impl Client<'_> {
    async fn tell(&self, sign: ProgressNotificationParam) {
        let is_task = self.handover.is_some_and(|it| it.tell(sign.message.as_deref()));
        if self.wants_signs && !is_task {
            let _ = self.peer.notify_progress(sign).await;
        }
    }
}

/// Tells signs one after the other, beside the call: it must not wait for
/// whoever hears of it.
async fn tell_all(client: &Client<'_>, mut signs: mpsc::Receiver<ProgressNotificationParam>) {
    while let Some(sign) = signs.recv().await {
        client.tell(sign).await;
    }
}

/// Waits for the result, and does what the call wants of its client meanwhile.
async fn attend(
    shared: &Shared,
    call: ToolCall,
    caller: &Caller,
    client: Client<'_>,
    mut errands: mpsc::Receiver<Errand>,
) -> ToolResult {
    let mut running = pin!(shared.engine.call(call, caller));
    let mut questions = FuturesUnordered::new();
    let given_up = client.given_up;
    let (signs, told) = mpsc::channel(WAITING);
    let mut telling = pin!(tell_all(&client, told));
    // A client that does not keep up misses some.
    let sign = |sign| drop(signs.try_send(sign));
    let mut beats = tokio::time::interval_at(tokio::time::Instant::now() + BEAT, BEAT);
    let result = loop {
        tokio::select! {
            biased;
            () = given_up.cancelled(), if !caller.cancel.is_cancelled() => caller.cancel.cancel(),
            Some(errand) = errands.recv() => match errand {
                Errand::Progress(progress) => sign(progress),
                Errand::Ask(form, reply) => questions.push(ask(client.peer, *form, reply)),
            },
            Some(()) = questions.next() => {}
            now = beats.tick() => {
                let beat = client.signs.as_ref().and_then(|signs| signs.beat(now.into_std()));
                beat.map(sign);
            }
            () = &mut telling => {}
            result = &mut running => break result,
        }
    };
    while let Ok(errand) = errands.try_recv() {
        if let Errand::Progress(progress) = errand {
            sign(progress);
        }
    }
    drop(signs);
    // What was said comes before the answer, unless nobody takes it.
    let said = tokio::time::timeout(MOMENT, telling);
    let _ = caller.cancel.run_until_cancelled(said).await;
    result
}

/// Asks the client, unless nobody waits for the answer any more.
async fn ask(
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
