use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use hermes_agent::BudgetLimits;
use hermes_core::ToolCall;
use hermes_delegation::MixtureSettings;
use hermes_llm::{FallbackModel, RetrySettings};
use hermes_testkit::models::{ModelServer, ReplyStep, ScriptedReply};
use serde_json::{Value, json};

use crate::stage::{Plan, Stage, endless, json, model_at};

/// An answer that takes so many tokens.
fn answer(text: &str, tokens: u64) -> ScriptedReply {
    let usage = ReplyStep::Usage { input: tokens, output: 1, cached: 0, cost: None };
    ScriptedReply::from_steps([ReplyStep::Text(text.to_owned()), usage])
}

/// An address where nobody is.
fn nowhere() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

async fn mix(stage: &Stage) -> Value {
    let arguments = json!({"user_prompt": "Why is the sky blue?"});
    let call = ToolCall::new("call_1", "mixture_of_agents", arguments);
    json(&stage.engine.call(call, &stage.caller).await)
}

fn plan(references: &[(&str, &str)], aggregator: Option<&str>) -> Plan {
    let mut plan = Plan::default();
    for (name, url) in references {
        plan.services.models.insert((*name).to_owned(), model_at(url, name));
    }
    plan.mixture = MixtureSettings {
        references: references.iter().map(|(name, _)| (*name).to_owned()).collect(),
        aggregator: aggregator.map(str::to_owned),
        ..MixtureSettings::default()
    };
    plan
}

#[tokio::test]
async fn a_dead_model_is_done_without() {
    let (one, two) = (
        ModelServer::start([answer("Rayleigh.", 100)]),
        ModelServer::start([answer("Scattering.", 200)]),
    );
    let mut plan = plan(&[("one", &one.url()), ("dead", &nowhere()), ("two", &two.url())], None);
    plan.mixture.references.push("unheard-of".to_owned());
    let stage = Stage::with([answer("Rayleigh scattering.", 300)], plan);
    let shown = mix(&stage).await;
    assert_eq!(shown["response"], "Rayleigh scattering.", "{shown}");
    assert_eq!(shown["models_used"]["reference_models"], json!(["one", "two"]));
    assert_eq!(shown["models_used"]["aggregator_model"], "first");
    assert_eq!(shown["failed"], 2);
    assert_eq!(shown["tokens"], json!({"input": 600, "output": 3}));
    assert!((shown["cost_usd"].as_f64().unwrap() - 0.603).abs() < 1e-9);
    let opinions = shown["opinions"].as_array().unwrap();
    let of = |name: &str| opinions.iter().find(|opinion| opinion["model"] == name).unwrap();
    assert_eq!(of("one")["cost_usd"], json!(0.101));
    assert_eq!(of("dead")["status"], "failed");
    assert!(of("dead")["error"].is_string() && of("dead")["duration_seconds"].is_number());
    assert_eq!(stage.budget.spent().usage.input, 600, "it is billed");
    let asked = stage.server.model_requests()[0]["messages"].to_string();
    assert!(asked.contains("Rayleigh.") && asked.contains("Scattering."), "{asked}");
}

#[tokio::test]
async fn too_few_answers_are_an_error_that_names_each() {
    let dead = nowhere();
    let one = ModelServer::start([answer("Rayleigh.", 1)]);
    let mut plan = plan(&[("one", &one.url()), ("dead", &dead)], None);
    plan.mixture.min_answers = 2;
    let stage = Stage::with(Vec::new(), plan);
    let shown = mix(&stage).await;
    assert_eq!(shown["kind"], "network", "{shown}");
    assert_eq!(shown["opinions"].as_array().unwrap().len(), 2);
    assert!(stage.server.model_requests().is_empty(), "there is nothing to make an answer of");
    assert_eq!(stage.budget.spent().usage.input, 1, "what was answered is paid for");
}

#[tokio::test]
async fn a_model_that_never_ends_is_left_behind() {
    let (url, _told) = endless().await;
    let one = ModelServer::start([answer("Rayleigh.", 1)]);
    let mut plan = plan(&[("one", &one.url()), ("endless", &url)], None);
    plan.mixture.reply_timeout = Duration::from_millis(800);
    let stage = Stage::with([answer("Rayleigh it is.", 1)], plan);
    let shown = mix(&stage).await;
    assert_eq!(shown["response"], "Rayleigh it is.", "{shown}");
    let opinions = shown["opinions"].as_array().unwrap();
    let endless = opinions.iter().find(|opinion| opinion["model"] == "endless").unwrap();
    assert_eq!(endless["status"], "failed", "whoever loses patience first: {endless}");
}

#[tokio::test]
async fn a_model_that_fails_until_patience_ends_is_told_with_its_failure() {
    let one = ModelServer::start([answer("Rayleigh.", 1)]);
    let broken = json!({"error": {"message": "the disk is full"}});
    let failing = ModelServer::start([ScriptedReply::fails(500, broken).again()]);
    let mut plan = plan(&[("one", &one.url()), ("failing", &failing.url())], None);
    let retries = RetrySettings { max_retries: 1_000, ..RetrySettings::default() };
    let steady = FallbackModel::new(
        vec![vec![model_at(&failing.url(), "failing")]],
        retries,
        std::sync::Arc::new(|_| {}),
    );
    plan.services.models.insert("failing".to_owned(), std::sync::Arc::new(steady));
    plan.mixture.reply_timeout = Duration::from_millis(800);
    let stage = Stage::with([answer("Rayleigh it is.", 1)], plan);
    let shown = mix(&stage).await;
    let opinions = shown["opinions"].as_array().unwrap();
    let failing = opinions.iter().find(|opinion| opinion["model"] == "failing").unwrap();
    let why = failing["error"].as_str().unwrap();
    assert!(why.contains("within 0.8 s") && why.contains("the disk is full"), "{failing}");
}

#[tokio::test]
async fn layers_see_the_answers_before_them_and_a_dead_aggregator_is_replaced() {
    let one = ModelServer::start([
        answer("first thought", 1),
        answer("second thought", 1).when("first thought"),
        answer("Both.", 1).when("second thought"),
    ]);
    let mut plan = plan(&[("one", &one.url())], Some("dead"));
    plan.services.models.insert("dead".to_owned(), model_at(&nowhere(), "dead"));
    plan.mixture.layers = 2;
    let stage = Stage::with(Vec::new(), plan);
    let shown = mix(&stage).await;
    assert_eq!(shown["response"], "Both.", "{shown}");
    assert_eq!(shown["models_used"]["aggregator_model"], "one");
    assert_eq!(shown["opinions"].as_array().unwrap().len(), 4);
    assert_eq!(one.model_requests().len(), 3);
}

#[tokio::test]
async fn one_model_stands_for_several_at_different_temperatures() {
    let mut scenes = vec![answer("merged", 1).when("# Answer 3")];
    // One that does not take a temperature is asked without.
    let refusal = json!({"error": {"message": "Unsupported parameter: 'temperature'"}});
    scenes.push(ScriptedReply::fails(400, refusal).when("\"temperature\":1"));
    scenes.push(answer("an opinion", 1).again());
    let stage = Stage::new(scenes);
    let shown = mix(&stage).await;
    assert_eq!(shown["response"], "merged", "{shown}");
    assert_eq!(shown["failed"], 0);
    let asked = stage.server.model_requests();
    assert!(asked.iter().any(|body| body["temperature"] == 1.0), "{asked:?}");
    // What it refused once it is not sent again.
    assert!(asked.last().unwrap()["temperature"].is_null(), "the aggregator");
    assert_eq!(asked.len(), 5);
}

#[tokio::test]
async fn a_used_up_budget_asks_nobody() {
    let plan = Plan {
        allowance: BudgetLimits { tokens: Some(0), ..BudgetLimits::default() },
        ..Plan::default()
    };
    let stage = Stage::with(Vec::new(), plan);
    assert_eq!(mix(&stage).await["kind"], "limit");
    assert!(stage.server.model_requests().is_empty());
}
