use std::sync::Arc;

use hermes_core::{BoxFuture, ProcessEvent};
use hermes_delegation::DelegationSettings;
use hermes_engine::Caller;
use hermes_llm::{LanguageModel, ModelError, ModelRequest, ReplyStream};
use hermes_testkit::models::{ModelServer, ScriptedReply};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::stage::{Plan, Stage, endless, json, model_at, says};

/// A stage whose model replies as often as the gate permits.
fn gated(script: impl Into<hermes_testkit::models::ServerScript>) -> (Stage, Arc<Semaphore>) {
    let server = ModelServer::start(script);
    let mut plan = Plan::default();
    let gate = Arc::new(Semaphore::new(0));
    let gated = Gated { inner: model_at(&server.url(), "first"), gate: Arc::clone(&gate) };
    plan.settings.model = Some("first".to_owned());
    plan.settings.max_parallel = 1;
    plan.services.models.insert("first".to_owned(), Arc::new(gated));
    let url = server.url();
    (Stage::at(server, &url, plan), gate)
}

#[tokio::test]
async fn a_running_task_gets_messages_and_can_be_stopped_alone() {
    let done = |goal: &str| says(goal, "Done.", 1).again();
    let (stage, gate) = gated(vec![done("read"), done("count"), done("write")]);
    let tasks = json!([{"goal": "read"}, {"goal": "count"}, {"goal": "write"}]);
    let begun = stage.delegate(json!({"tasks": tasks, "background": true})).await;
    let handle = begun["handle"].as_str().unwrap();
    let steer =
        |to: &str, message: &str| json!({"action": "steer", "handle": to, "message": message});
    // The first works or waits for a slot, the others wait for it.
    stage.delegate(steer(handle, "In French, please.")).await;
    stage.delegate(steer(&format!("{handle}/2"), "Use ink.")).await;
    stage.delegate(json!({"action": "cancel", "handle": format!("{handle}/1")})).await;
    for wrong in ["deleg_9", &format!("{handle}/3"), &format!("{handle}/x")] {
        assert_eq!(stage.refusal(steer(wrong, "Hello.")).await["kind"], "not_found", "{wrong}");
    }
    assert_eq!(stage.refusal(steer(handle, " ")).await["kind"], "invalid_arguments");
    let session = stage.caller.session.id();
    assert!(stage.pool.describe_running(session)[0].contains("write"));
    assert!(stage.pool.describe_running("another session").is_empty());
    gate.add_permits(100);
    let ended = stage.delegate(json!({"action": "wait", "handle": handle})).await;
    let status = |at: usize| ended["results"][at]["status"].as_str().unwrap().to_owned();
    assert_eq!([status(0), status(1), status(2)], ["completed", "interrupted", "completed"]);
    let asked = stage.server.model_requests();
    let heard = |goal: &str, message: &str| {
        let about = format!("Your task: {goal}");
        asked
            .iter()
            .map(|body| body.to_string())
            .any(|text| text.contains(&about) && text.contains(message))
    };
    assert!(heard("read", "In French") && heard("write", "In French") && heard("write", "Use ink"));
    assert!(!heard("read", "Use ink") && !heard("count", "Your task"));
    assert_eq!(stage.refusal(steer(handle, "Too late.")).await["kind"], "conflict");
    assert!(stage.pool.steer_task(session, handle, "Too late.").is_err());
}

/// A model that replies once the gate is open.
#[derive(Debug)]
struct Gated {
    inner: Arc<dyn LanguageModel>,
    gate: Arc<Semaphore>,
}

impl LanguageModel for Gated {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ReplyStream, ModelError>> {
        Box::pin(async move {
            let _open = self.gate.acquire().await.unwrap();
            self.inner.ask(request).await
        })
    }
}

#[tokio::test]
async fn a_task_in_the_background_is_asked_after_and_told_of() {
    let server = ModelServer::start([says("read it all", "All read.", 50)]);
    let mut plan = Plan::default();
    let gate = Arc::new(Semaphore::new(0));
    let gated = Gated { inner: model_at(&server.url(), "first"), gate: Arc::clone(&gate) };
    plan.settings.model = Some("first".to_owned());
    plan.services.models.insert("first".to_owned(), Arc::new(gated));
    let url = server.url();
    let stage = Stage::at(server, &url, plan);
    stage.notices.set_listening();
    let begun = stage.delegate(json!({"goal": "read it all", "background": true})).await;
    assert_eq!((&begun["status"], &begun["count"]), (&json!("dispatched"), &json!(1)));
    let handle = begun["handle"].clone();
    let poll = stage.delegate(json!({"action": "poll", "handle": handle})).await;
    assert_eq!(poll["status"], "working");
    assert_eq!(poll["tasks"][0]["goal"], "read it all");
    let list = stage.delegate(json!({"action": "list"})).await;
    assert_eq!(list["delegations"][0]["handle"], handle);

    let short = json!({"action": "wait", "handle": handle, "timeout": 0.001});
    assert_eq!(stage.delegate(short).await["status"], "working");
    gate.add_permits(1);
    let ended = stage.delegate(json!({"action": "wait", "handle": handle})).await;
    assert_eq!(ended["status"], "completed");
    assert_eq!(ended["results"][0]["summary"], "All read.");
    assert_eq!(ended["total"]["tokens"], json!({"input": 50, "output": 10}));
    assert_eq!(stage.budget.spent().usage.input, 50, "the parent pays");
    let shown = stage.notices.drain(stage.caller.session.id(), 10);
    assert!(shown.is_empty(), "who has waited is not told again: {shown:?}");

    let outsider = Caller::new(stage.dir.path());
    let wanted = json!({"action": "poll", "handle": handle});
    let other = stage.result_of(wanted, &outsider).await;
    assert_eq!(json(&other)["kind"], "not_found", "it is nobody else's");
}

#[tokio::test]
async fn who_does_not_wait_is_told() {
    let stage = Stage::new([says("read", "Read.", 1)]);
    stage.delegate(json!({"goal": "read", "background": true})).await;
    let session = stage.caller.session.id();
    let shown = loop {
        let shown = stage.notices.drain(session, 10);
        if !shown.is_empty() {
            break shown;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert_eq!(shown[0].session_id, "deleg_1");
    let ProcessEvent::Completed { reason, exit_code, output } = &shown[0].event else {
        panic!("{shown:?}")
    };
    assert_eq!((*reason, *exit_code), ("completed", 0));
    assert!(output.contains("Read."), "{output}");
}

#[tokio::test]
async fn it_can_be_cancelled_and_ends_with_the_crew() {
    let (url, mut shown) = endless().await;
    let plan = Plan {
        settings: DelegationSettings { max_background: 2, ..DelegationSettings::default() },
        ..Plan::default()
    };
    let mut stage = Stage::at(ModelServer::start(Vec::new()), &url, plan);
    let begin = json!({"goal": "wait", "background": true});
    let first = stage.delegate(begin.clone()).await;
    stage.delegate(begin.clone()).await;
    assert_eq!((shown.recv().await, shown.recv().await), (Some("asked"), Some("asked")));
    assert_eq!(stage.refusal(begin.clone()).await["kind"], "limit");

    let ended = stage.delegate(json!({"action": "cancel", "handle": first["handle"]})).await;
    assert_eq!(ended["status"], "interrupted");
    assert_eq!(shown.recv().await, Some("closed"));
    stage.delegate(begin.clone()).await;
    assert_eq!(shown.recv().await, Some("asked"));
    assert!(stage.pool.stop_session("another session").is_empty());
    let stopped = stage.pool.stop_session(stage.caller.session.id());
    let wait = |handle: &str| (handle.to_owned(), "wait".to_owned());
    assert_eq!(stopped, [wait("deleg_2"), wait("deleg_3")], "it is told what was stopped");
    assert_eq!((shown.recv().await, shown.recv().await), (Some("closed"), Some("closed")));
    // The slots of stopped delegations are free once they have ended.
    stage.pool.wait_until_idle(stage.caller.session.id()).await;
    stage.delegate(begin.clone()).await;
    assert_eq!(shown.recv().await, Some("asked"));
    stage.serving = None;
    assert_eq!(shown.recv().await, Some("closed"));
    stage.serving = Some(stage.pool.serve(stage.engine.clone()));
    stage.delegate(json!({"action": "wait", "handle": "deleg_4"})).await;
    stage.delegate(begin).await;
    assert_eq!(shown.recv().await, Some("asked"));
    stage.engine.shutdown().await;
    assert_eq!(shown.recv().await, Some("closed"));
    assert_eq!(stage.budget.spent().usage, Default::default());
}

#[tokio::test]
async fn where_nobody_could_be_told_it_is_done_at_once() {
    let stage = Stage::new(vec![ScriptedReply::says("Done.").again()]);
    let wanted = || json!({"goal": "do it", "background": true});
    let below = stage.result_of(wanted(), &stage.at_depth(1)).await;
    let by_hand = stage.result_of(wanted(), &Caller::new(stage.dir.path())).await;
    for result in [below, by_hand] {
        let answer = json(&result);
        assert_eq!(answer["results"][0]["status"], "completed", "{answer}");
        assert!(answer["note"].as_str().unwrap().contains("in the foreground"));
    }
}
