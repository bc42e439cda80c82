//! Connections of a call's child processes: the call's policy judges each one,
//! the approver is asked if necessary, and each is recorded.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture, CallProposal,
    ConnectionJudge, ConnectionRecord, ConnectionRefusal, ConnectionRequest, ConnectionVerdict,
    Effect, NetworkMode, Policy, Resource, Ruling, Scope, Session, SessionNetworks,
    ToolAnnotations, Verdict, WorkingDir,
};
use hermes_net::{AddressReach, host_reach};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Authorization, BatchContext, ResolvedCall};
use crate::observer::{CallEvent, CallObserver};
use crate::record::{CallRecord, ConnectionDetails};

/// The tool name under which connections are recorded.
const RECORD_TOOL_NAME: &str = "network";

/// Judges the connections of a call's child processes, and of those that
/// earlier calls of the session left running.
///
/// It holds only the parts of the engine that it needs: it outlives the call
/// and must not keep the engine alive.
struct CallConnectionJudge {
    policy: Arc<dyn Policy>,
    observers: Vec<Arc<dyn CallObserver>>,
    approver: Option<Arc<dyn Approver>>,
    approval_timeout: Duration,
    session: Session,
    task_id: Arc<str>,
    who: Arc<str>,
    parent: Option<Arc<str>>,
    depth: u8,
    working_dir: Arc<WorkingDir>,
    call_id: String,
    tool: String,
    toolset: String,
    annotations: ToolAnnotations,
    /// The network effects that the call was allowed.
    granted: Vec<Effect>,
    /// Verdicts so far, by effect.
    answers: Mutex<HashMap<String, ConnectionVerdict>>,
    /// Held while the approver is asked: one request at a time.
    approval_lock: tokio::sync::Mutex<()>,
}

impl BatchContext {
    /// Installs a judge for the connections of the call's child processes.
    pub(super) fn judge_connections(
        self: &Arc<Self>,
        call: &ResolvedCall,
        authorization: &Authorization,
    ) {
        let is_isolated = authorization
            .confinement
            .as_ref()
            .is_some_and(|confinement| confinement.network == NetworkMode::Isolated);
        let ports = self.caller.ports.as_ref().unwrap_or(self.engine.ports());
        let Some(networks) = ports.get::<dyn SessionNetworks>().filter(|_| is_isolated) else {
            return;
        };
        let is_network = |effect: &&Effect| effect.scope.family() == "network";
        let granted = call.effects.iter().chain(&authorization.implied).filter(is_network);
        let judge = CallConnectionJudge {
            policy: self.engine.policy(),
            observers: self.engine.observers().to_vec(),
            approver: self.caller.approver.clone(),
            approval_timeout: self.engine.approval_timeout(),
            session: self.caller.session.clone(),
            task_id: Arc::clone(&self.caller.task_id),
            who: Arc::clone(&self.caller.who),
            parent: self.caller.parent.clone(),
            depth: self.caller.depth,
            working_dir: self.working_dir.load_full(),
            call_id: call.id.clone(),
            tool: call.entry.name().to_owned(),
            toolset: call.entry.toolset().to_owned(),
            annotations: call.entry.spec().annotations,
            granted: granted.cloned().collect(),
            answers: Mutex::default(),
            approval_lock: tokio::sync::Mutex::default(),
        };
        networks.set_judge(self.caller.session.id(), Arc::new(judge));
    }
}

impl CallConnectionJudge {
    /// Whether the call was granted this effect.
    fn is_granted(&self, effect: &Effect) -> bool {
        let Resource::Host(host) = &effect.resource else { return false };
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        // A command that names loopback means the session's own; requests to
        // the proxy are for the host's.
        if host_reach(name) == AddressReach::Loopback {
            return false;
        }
        self.granted.iter().any(|granted| {
            let is_as_much = granted.scope == effect.scope
                || granted.scope == Scope::NETWORK_SEND && effect.scope == Scope::NETWORK_FETCH;
            is_as_much
                && match &granted.resource {
                    // Without a port, the grant covers every port of the host.
                    Resource::Host(own) => own == host || own == name,
                    // Anything unknown when the call was judged is judged now.
                    _ => false,
                }
        })
    }

    /// Calls `ask` with the proposal for a connection.
    fn with_proposal<T>(
        &self,
        request: &ConnectionRequest,
        effect: &Effect,
        ask: impl FnOnce(&CallProposal<'_>) -> T,
    ) -> T {
        let arguments = proposal_arguments(request);
        let effects = [effect.clone()];
        ask(&CallProposal {
            tool: &self.tool,
            toolset: &self.toolset,
            arguments: &arguments,
            effects: &effects,
            code: None,
            annotations: self.annotations,
            working_dir: &self.working_dir,
            call_id: &self.call_id,
            session: &self.session,
            task_id: &self.task_id,
            depth: self.depth,
        })
    }

    async fn decide(&self, request: &ConnectionRequest) -> ConnectionVerdict {
        let policy = Arc::clone(&self.policy);
        let effect = policy.connection_effect(request);
        if request.address.is_none() && self.is_granted(&effect) {
            return ConnectionVerdict::Allow;
        }
        if let Some(answer) = self.cached_verdict(&effect) {
            return answer;
        }
        let (asked, tool) = (request.clone(), self.tool.clone());
        let settled = {
            let policy = Arc::clone(&policy);
            tokio::task::spawn_blocking(move || policy.permits_connection(&asked, &tool)).await
        };
        if settled.unwrap_or_default() {
            return ConnectionVerdict::Allow;
        }
        let ruling = self.with_proposal(request, &effect, |proposal| policy.judge(proposal));
        match ruling.verdict.clone() {
            Verdict::Allow => ConnectionVerdict::Allow,
            Verdict::Deny { reason, rule } => {
                ConnectionVerdict::Refuse(refusal(&reason, &rule, &effect, None, false))
            }
            Verdict::Ask { reason, rule } => {
                self.ask_approver(request, &effect, &ruling, &reason, &rule).await
            }
        }
    }

    fn cached_verdict(&self, effect: &Effect) -> Option<ConnectionVerdict> {
        let answers = self.answers.lock();
        answers.get(&effect.to_string()).cloned()
    }

    /// Asks the approver, once per host.
    async fn ask_approver(
        &self,
        request: &ConnectionRequest,
        effect: &Effect,
        ruling: &Ruling,
        reason: &str,
        rule: &str,
    ) -> ConnectionVerdict {
        let _turn = self.approval_lock.lock().await;
        if let Some(answer) = self.cached_verdict(effect) {
            return answer;
        }
        let policy = &self.policy;
        if self.with_proposal(request, effect, |proposal| policy.redeem_ticket(proposal)) {
            return self.remember_verdict(effect, ConnectionVerdict::Allow);
        }
        let wish = connection_summary(request, effect);
        let decision = match &self.approver {
            None => ApprovalDecision::NoApprover,
            Some(approver) => {
                let question = ApprovalRequest {
                    call_id: self.call_id.clone(),
                    tool: self.tool.clone(),
                    arguments: proposal_arguments(request),
                    effects: vec![effect.clone()],
                    reason: format!("{wish}: {reason}"),
                    rule: rule.to_owned(),
                    offered_rules: ruling.offered_rules.clone(),
                };
                let answer = approver.ask(question);
                let answer = tokio::time::timeout(self.approval_timeout, answer).await;
                answer.unwrap_or(ApprovalDecision::Refused(None))
            }
        };
        let verdict = match decision {
            ApprovalDecision::Approved(lasting) => {
                if lasting != ApprovalScope::Once {
                    // An approval that cannot be saved applies to this call
                    // only.
                    let _ = self
                        .with_proposal(request, effect, |it| policy.remember_approval(it, lasting));
                }
                ConnectionVerdict::Allow
            }
            ApprovalDecision::Refused(word) => {
                let reason = word.unwrap_or_else(|| "The user refused this connection".to_owned());
                ConnectionVerdict::Refuse(refusal(&reason, rule, effect, None, false))
            }
            ApprovalDecision::NoApprover => {
                let reason = format!("{wish}: {reason}");
                let token =
                    self.with_proposal(request, effect, |it| policy.issue_ticket(it, &reason));
                ConnectionVerdict::Refuse(refusal(&reason, rule, effect, token.as_deref(), true))
            }
        };
        self.remember_verdict(effect, verdict)
    }

    fn remember_verdict(&self, effect: &Effect, verdict: ConnectionVerdict) -> ConnectionVerdict {
        let mut answers = self.answers.lock();
        answers.insert(effect.to_string(), verdict.clone());
        verdict
    }
}

impl ConnectionJudge for CallConnectionJudge {
    fn judge<'a>(&'a self, request: &'a ConnectionRequest) -> BoxFuture<'a, ConnectionVerdict> {
        Box::pin(self.decide(request))
    }

    fn record(&self, record: ConnectionRecord) {
        if self.observers.is_empty() {
            return;
        }
        let request = &record.request;
        let destination = Resource::Host(request.destination.to_string());
        let effect = self.policy.connection_effect(request);
        let effects = [Effect { resource: destination, ..effect }];
        let (verdict, rule, status) = match &record.verdict {
            ConnectionVerdict::Allow if record.error.is_some() => ("allow", None, "network"),
            ConnectionVerdict::Allow => ("allow", None, "success"),
            ConnectionVerdict::Refuse(refusal) if refusal.is_approvable => {
                ("ask", Some(refusal.rule.as_str()), "approval_required")
            }
            ConnectionVerdict::Refuse(refusal) => ("deny", Some(refusal.rule.as_str()), "denied"),
        };
        let record = CallRecord {
            time_ms: hermes_core::clock::unix_millis(),
            who: &self.who,
            session: self.session.id(),
            task: &self.task_id,
            call: &self.call_id,
            parent: self.parent.as_deref(),
            tool: RECORD_TOOL_NAME,
            called_as: None,
            effects: &effects,
            profile: None,
            verdict: Some(verdict),
            rule,
            approval: None,
            would: None,
            would_rule: None,
            dry_run: false,
            untrusted: false,
            status,
            duration_us: record.duration_ms.saturating_mul(1000),
            chars: 0,
            coerced: 0,
            connection: Some(ConnectionDetails {
                program: request.client.as_ref().map(hermes_core::ClientProcess::name),
                address: request.address,
                sent: record.sent,
                received: record.received,
                error: record.error.as_deref(),
            }),
        };
        self.observers.iter().for_each(|observer| observer.on_event(&CallEvent::Recorded(&record)));
    }
}

/// The arguments shown for a connection. They are the same for the same program
/// and host, so an approval can be found again.
fn proposal_arguments(request: &ConnectionRequest) -> Value {
    json!({
        "program": request.client.as_ref().map_or("unknown", hermes_core::ClientProcess::name),
        "host": request.destination.to_string(),
        "address": request.address.map(|address| address.to_string()),
    })
}

/// `npm wants registry.example:443`
fn connection_summary(request: &ConnectionRequest, effect: &Effect) -> String {
    let who = request.client.as_ref().map_or("A process", hermes_core::ClientProcess::name);
    let verb = if effect.scope == Scope::NETWORK_SEND { "wants to reach" } else { "wants" };
    match request.address {
        Some(address) => format!("{who} {verb} {}, which is {address}", request.destination),
        None => format!("{who} {verb} {}", request.destination),
    }
}

fn refusal(
    reason: &str,
    rule: &str,
    effect: &Effect,
    token: Option<&str>,
    is_approvable: bool,
) -> ConnectionRefusal {
    let host = effect.resource.as_text();
    let host = host.rsplit_once(':').map_or(&*host, |(name, _)| name);
    let lasting =
        format!("in the profile: approved: [{{scope: {}, hosts: [\"{host}\"]}}]", effect.scope);
    let allow = match token {
        Some(token) => {
            format!("`hermes permissions approve {token}` and run it again, or {lasting}")
        }
        None => lasting,
    };
    ConnectionRefusal { reason: reason.to_owned(), rule: rule.to_owned(), allow, is_approvable }
}
