//! What binds a call: grants, tickets, dry runs, persistent approvals.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hermes_core::{
    ApprovalDecision, ApprovalRequest, ApprovalScope, Approver, BoxFuture, CallProposal,
    CallStatus, Effect, ErrorKind, Policy, Resource, Ruling, Scope, ToolCall, ToolOutput, Verdict,
};
use hermes_engine::{CallEvent, CallObserver, Engine};
use hermes_testkit::probe::{self, CallDiary, ProbeTool};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{built, engine};

/// A policy that asks about everything and records the approvals.
#[derive(Default)]
struct Asks {
    tickets: AtomicUsize,
    redeemable: AtomicUsize,
    kept: Mutex<Vec<ApprovalScope>>,
}

impl Policy for Asks {
    fn judge(&self, proposal: &CallProposal<'_>) -> Ruling {
        let verdict = Verdict::Ask { reason: "it writes".into(), rule: "r".into() };
        let mut ruling = Ruling::for_effects(verdict, proposal.effects);
        ruling.offered_rules = vec!["file:write below /x".into()];
        ruling
    }
    fn redeem_ticket(&self, _: &CallProposal<'_>) -> bool {
        self.redeemable
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
            .is_ok()
    }
    fn issue_ticket(&self, _: &CallProposal<'_>, reason: &str) -> Option<String> {
        assert_eq!(reason, "it writes");
        self.tickets.fetch_add(1, Ordering::SeqCst);
        Some("0123456789abcdef".into())
    }
    fn remember_approval(
        &self,
        _: &CallProposal<'_>,
        lasting: ApprovalScope,
    ) -> Result<(), String> {
        self.kept.lock().push(lasting);
        Ok(())
    }
}

struct Answers(ApprovalDecision);
impl Approver for Answers {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        assert_eq!(request.offered_rules, ["file:write below /x"]);
        Box::pin(async { self.0.clone() })
    }
}

struct Silent;
impl Approver for Silent {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, ApprovalDecision> {
        Box::pin(std::future::pending())
    }
}

fn json(content: &str) -> Value {
    serde_json::from_str(content).unwrap()
}

fn change() -> ToolCall {
    ToolCall::new("1", "change", json!({ "path": "a" }))
}

#[tokio::test]
async fn a_ticket_lets_exactly_one_call_through() {
    let diary = CallDiary::default();
    let policy = Arc::new(Asks::default());
    let tools = probe::read_and_write_probes(&diary).map(ProbeTool::into_tool).to_vec();
    let builder = Engine::builder().tools(tools).policy(Arc::clone(&policy) as Arc<dyn Policy>);
    let (engine, caller, _dir) = built(builder);
    let held = json(&engine.call(change(), &caller).await.content);
    assert_eq!(held["token"], "0123456789abcdef");
    assert!(held["hint"].as_str().unwrap().contains("hermes permissions approve 0123456789abcdef"));
    policy.redeemable.store(1, Ordering::SeqCst);
    assert!(engine.call(change(), &caller).await.is_success());
    let again = engine.call(change(), &caller).await;
    assert_eq!(again.status, CallStatus::Error(ErrorKind::ApprovalRequired));
    assert_eq!(diary.lines().len(), 2);
}

#[tokio::test]
async fn answers_last_as_long_as_they_were_meant_to() {
    let policy = Arc::new(Asks::default());
    let tools =
        probe::read_and_write_probes(&CallDiary::default()).map(ProbeTool::into_tool).to_vec();
    let builder = Engine::builder().tools(tools).policy(Arc::clone(&policy) as Arc<dyn Policy>);
    let (engine, mut caller, _dir) = built(builder);
    for lasting in [ApprovalScope::Once, ApprovalScope::Session, ApprovalScope::Always] {
        caller.approver = Some(Arc::new(Answers(ApprovalDecision::Approved(lasting))));
        assert!(engine.call(change(), &caller).await.is_success());
    }
    assert_eq!(*policy.kept.lock(), [ApprovalScope::Session, ApprovalScope::Always]);
    caller.approver = Some(Arc::new(Answers(ApprovalDecision::NoApprover)));
    let held = engine.call(change(), &caller).await;
    assert_eq!(held.status, CallStatus::Error(ErrorKind::ApprovalRequired));
}

#[tokio::test]
async fn silence_is_no() {
    let tools =
        probe::read_and_write_probes(&CallDiary::default()).map(ProbeTool::into_tool).to_vec();
    let builder = Engine::builder()
        .tools(tools)
        .policy(Arc::new(Asks::default()))
        .approval_timeout(Duration::from_millis(20));
    let (engine, mut caller, _dir) = built(builder);
    caller.approver = Some(Arc::new(Silent));
    let refused = engine.call(change(), &caller).await;
    assert_eq!(refused.status, CallStatus::Error(ErrorKind::Denied));
    assert!(refused.content.contains("a timeout counts as a refusal"), "{}", refused.content);
}

#[tokio::test]
async fn a_rehearsal_does_nothing_and_tells_everything() {
    let diary = CallDiary::default();
    let tools = probe::read_and_write_probes(&diary).map(ProbeTool::into_tool).to_vec();
    let (engine, mut caller, _dir) = engine(tools);
    caller.dry_run = true;
    let shown = json(&engine.call(change(), &caller).await.content);
    assert_eq!(
        (&shown["dry_run"], &shown["would"], &shown["verdict"]),
        (&json!(true), &json!("run"), &json!("allow"))
    );
    assert_eq!(shown["effects"][0]["scope"], "file:write");
    let policy = Arc::new(Asks::default());
    engine.set_policy(Arc::clone(&policy) as Arc<dyn Policy>);
    caller.approver = Some(Arc::new(Silent));
    let shown = json(&engine.call(change(), &caller).await.content);
    assert_eq!((&shown["kind"], &shown["dry_run"]), (&json!("approval_required"), &json!(true)));
    assert_eq!(policy.tickets.load(Ordering::SeqCst), 0);
    assert!(diary.lines().is_empty());
}

#[tokio::test]
async fn a_call_is_handed_what_it_declared_and_no_more() {
    let honest = Effect::path(Scope::FILE_READ, "/srv/data");
    let tool = ProbeTool::new("reaches").declare_effects(move |_, _| vec![honest.clone()]).on_run(
        |_, cx| async move {
            let data = Resource::Path("/srv/data/x".into());
            cx.check_grant(&Scope::FILE_READ, &data)?;
            let variables = cx.session.env_overrides();
            let plan = cx.session.update("todo", |list: &mut Vec<String>| list.push("x".into()));
            let taint = cx.session.read::<Value>("taint");
            assert!(variables.is_err() && plan.is_err() && taint.is_err());
            assert!(cx.session.update("own", |n: &mut u32| *n += 1).is_ok());
            cx.check_grant(&Scope::FILE_WRITE, &data)?;
            ToolOutput::json(&json!({}))
        },
    );
    let (engine, caller, _dir) = engine(vec![tool.into_tool()]);
    let result = engine.call(ToolCall::new("1", "reaches", json!({})), &caller).await;
    assert_eq!(result.status, CallStatus::Error(ErrorKind::Denied), "{}", result.content);
    assert_eq!(json(&result.content)["rule"], "undeclared-effect");
}

#[derive(Default)]
struct Keeps(Mutex<Vec<Value>>);
impl CallObserver for Keeps {
    fn on_event(&self, event: &CallEvent<'_>) {
        let CallEvent::Recorded(record) = event else { return };
        self.0.lock().push(serde_json::to_value(record).unwrap());
    }
}

#[tokio::test]
async fn records_say_who_what_why_and_inside_which_call() {
    let outer = ProbeTool::new("outer").on_run(|_, cx| async move {
        let host = cx.engine.clone().unwrap();
        let inner = host.call(ToolCall::new("in", "change", json!({ "path": "a" }))).await;
        ToolOutput::json(&json!({ "inner": inner.is_success() }))
    });
    let keeps = Arc::new(Keeps::default());
    let mut tools =
        probe::read_and_write_probes(&CallDiary::default()).map(ProbeTool::into_tool).to_vec();
    tools.push(outer.into_tool());
    let builder =
        Engine::builder().tools(tools).observer(Arc::clone(&keeps) as Arc<dyn CallObserver>);
    let (engine, mut caller, _dir) = built(builder);
    caller.who = "test".into();
    engine.call(ToolCall::new("out", "outer", json!({})), &caller).await;
    let lines = keeps.0.lock();
    let inner = &lines[0];
    assert_eq!(
        (&inner["who"], &inner["call"], &inner["parent"]),
        (&json!("test"), &json!("in"), &json!("out"))
    );
    assert_eq!((&inner["verdict"], &inner["status"]), (&json!("allow"), &json!("success")));
    assert_eq!(inner["effects"][0]["scope"], "file:write");
    assert_eq!(lines[1].get("parent"), None);
}
