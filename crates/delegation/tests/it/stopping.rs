use std::sync::Arc;
use std::time::Duration;

use hermes_core::CancellationToken;
use hermes_testkit::models::{ModelServer, ScriptedReply};
use serde_json::{Value, json};

use crate::stage::{Plan, Stage, calls, endless, model_at};

#[tokio::test]
async fn stopping_the_parent_stops_all_of_them_and_nothing_is_billed_after() {
    let (url, mut shown) = endless().await;
    let mut stage = Stage::at(ModelServer::start(Vec::new()), &url, Plan::default());
    stage.caller.cancel = CancellationToken::new();
    let cancel = stage.caller.cancel.clone();
    let goals = ["a", "b", "c", "d"].map(|goal| json!({"goal": goal}));
    let stop = async {
        for _ in 0..3 {
            assert_eq!(shown.recv().await, Some("asked"));
        }
        cancel.cancel();
        for _ in 0..3 {
            assert_eq!(shown.recv().await, Some("closed"), "and the fourth is never asked");
        }
    };
    let (answer, ()) = tokio::join!(stage.stopped(json!({"tasks": goals})), stop);
    let reports = answer["results"].as_array().unwrap();
    assert!(reports.iter().all(|report| report["status"] == "interrupted"), "{answer}");
    assert_eq!(reports.len(), 4);
    assert_eq!(stage.budget.spent().usage, Default::default());
    assert_eq!(*stage.services.farewells.lock(), ["interrupted"; 3]);
    let after = tokio::time::timeout(Duration::from_millis(50), shown.recv()).await;
    assert!(after.is_err(), "nobody is asked any more: {after:?}");
}

/// The parent is stopped while the sub-agent of its sub-agent thinks.
#[tokio::test]
async fn the_whole_tree_is_stopped() {
    let (url, mut shown) = endless().await;
    let lead = json!({"goal": "dig"});
    let server = ModelServer::start([calls("lead", "delegate_task", &lead)]);
    let mut plan = Plan::default();
    // The first asks the script, everybody else the one that never ends.
    plan.settings.model = Some("first".to_owned());
    plan.services.models.insert("first".to_owned(), Arc::new(Forked::new(&server.url(), &url)));
    let mut stage = Stage::at(server, &url, plan);
    stage.caller.cancel = CancellationToken::new();
    let cancel = stage.caller.cancel.clone();
    let stop = async {
        assert_eq!(shown.recv().await, Some("asked"));
        cancel.cancel();
        assert_eq!(shown.recv().await, Some("closed"));
    };
    let wanted = json!({"goal": "lead", "role": "orchestrator"});
    let (answer, ()) = tokio::join!(stage.stopped(wanted), stop);
    assert_eq!(answer["results"][0]["status"], "interrupted", "{answer}");
    assert_eq!(stage.server.model_requests().len(), 1);
    assert_eq!(*stage.services.farewells.lock(), ["interrupted"; 2]);
}

/// Asks one server about leading, another about the rest.
#[derive(Debug)]
struct Forked {
    leading: Arc<dyn hermes_llm::LanguageModel>,
    rest: Arc<dyn hermes_llm::LanguageModel>,
}

impl Forked {
    fn new(leading: &str, rest: &str) -> Self {
        Self { leading: model_at(leading, "first"), rest: model_at(rest, "first") }
    }
}

impl hermes_llm::LanguageModel for Forked {
    fn name(&self) -> &str {
        "forked"
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn ask<'a>(
        &'a self,
        request: &'a hermes_llm::ModelRequest,
    ) -> hermes_core::BoxFuture<'a, Result<hermes_llm::ReplyStream, hermes_llm::ModelError>> {
        let leads = request.messages[0].text().contains("Your task: lead");
        if leads { self.leading.ask(request) } else { self.rest.ask(request) }
    }
}

#[tokio::test]
async fn what_was_done_before_is_told() {
    let (url, mut shown) = endless().await;
    let server = ModelServer::start([ScriptedReply::says("Led.").when("Your task: lead")]);
    let mut plan = Plan::default();
    plan.settings.model = Some("first".to_owned());
    plan.services.models.insert("first".to_owned(), Arc::new(Forked::new(&server.url(), &url)));
    let mut stage = Stage::at(server, &url, plan);
    stage.caller.cancel = CancellationToken::new();
    let cancel = stage.caller.cancel.clone();
    let stop = async {
        assert_eq!(shown.recv().await, Some("asked"));
        while stage.services.farewells.lock().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let goals = ["lead", "dig"].map(|goal| json!({"goal": goal}));
    let (answer, ()) = tokio::join!(stage.stopped(json!({"tasks": goals})), stop);
    let statuses: Vec<&Value> =
        answer["results"].as_array().unwrap().iter().map(|report| &report["status"]).collect();
    assert_eq!(statuses, ["completed", "interrupted"]);
    assert_eq!(answer["results"][0]["summary"], "Led.");
}

/// Nothing keeps the engine alive once its owner has let go of it.
#[tokio::test]
async fn the_engine_goes_when_its_owner_lets_it_go() {
    let mut stage = Stage::new([ScriptedReply::says("Done.")]);
    stage.delegate(json!({"goal": "do it"})).await;
    stage.serving = None;
    let error = stage.refusal(json!({"goal": "do it"})).await;
    assert_eq!(error["kind"], "unavailable");
    let Stage { engine, caller, pool, services, .. } = stage;
    drop((engine, caller));
    assert_eq!(Arc::strong_count(&pool), 1, "no tool holds it any more");
    drop(pool);
    assert_eq!(Arc::strong_count(&services), 1);
}
