//! Examples of tools that need something to reach for, with that in place.

use std::sync::Arc;

use hermes_core::{BoxFuture, DynTool, Ports, ToolCall, UserPrompter};
use hermes_cron::JobStore;
use hermes_engine::{Caller, Engine};
use hermes_memory::{MemoryLimits, MemoryStore};
use hermes_testkit::contract::contains;
use hermes_tools_agent::messages::MessageTargets;
use serde_json::Value;

/// The tools whose examples cannot work without a port.
pub(crate) const NEED_PORTS: &[&str] = &["clarify", "cronjob", "memory", "send_message"];

/// A user who takes the first choice.
struct Obliging;

impl UserPrompter for Obliging {
    fn ask<'a>(&'a self, _: &'a str, choices: &'a [String]) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { Some(choices.first().cloned().unwrap_or_else(|| "Hermes".into())) })
    }
}

#[tokio::test]
async fn examples_work_where_there_are_ports() {
    let mut ran = 0;
    let described = serde_json::json!({"phone": {"kind": "ntfy", "topic": "mine"}});
    let targets = MessageTargets::from_settings(&described, Arc::new(|_| None)).expect("a target");
    let mut tools = hermes_tools_agent::tools();
    tools.retain(|tool| tool.spec().name != "send_message");
    tools.push(hermes_tools_agent::send_message(targets));
    for tool in tools {
        if NEED_PORTS.contains(&&*tool.spec().name) {
            ran += run_examples(&tool).await;
        }
    }
    assert!(ran >= 6, "{ran} examples");
}

async fn run_examples(tool: &Arc<dyn DynTool>) -> usize {
    let spec = tool.spec();
    for example in &spec.examples {
        let dir = tempfile::tempdir().expect("a folder");
        let memory = MemoryStore::new(dir.path().join("memories"), MemoryLimits::default());
        let ports = Ports::new()
            .with(Arc::new(memory))
            .with(Arc::new(JobStore::for_home(dir.path())))
            .with::<dyn UserPrompter>(Arc::new(Obliging));
        let engine = Engine::builder()
            .spill_to(dir.path().join("spill"))
            .ports(ports)
            .tools(vec![Arc::clone(tool)])
            .build()
            .expect("one tool fits");
        let call = ToolCall::from_text("example", spec.name.clone(), example.arguments.clone());
        let result = engine.call(call, &Caller::new(dir.path())).await;
        engine.shutdown().await;
        assert!(result.is_success(), "{}: {}: {}", spec.name, example.title, result.content);
        if let Some(gives) = &example.expected {
            let wanted: Value = serde_json::from_str(gives).expect("JSON");
            let got: Value = serde_json::from_str(&result.content).expect("JSON");
            assert!(contains(&got, &wanted), "{}: {got}", example.title);
        }
    }
    spec.examples.len()
}

#[tokio::test]
async fn targets_of_messages_are_the_users_own_words() {
    let described = serde_json::json!({
        "the whole family": {"kind": "ntfy", "topic": "mine", "server": "http://127.0.0.1:9"},
        "phone": {"kind": "ntfy", "topic": "mine"},
    });
    let targets = MessageTargets::from_settings(&described, Arc::new(|_| None)).expect("targets");
    let dir = tempfile::tempdir().expect("a folder");
    let engine = Engine::builder()
        .spill_to(dir.path().join("spill"))
        .tools(vec![hermes_tools_agent::send_message(targets)])
        .build()
        .expect("one tool fits");
    let caller = Caller::new(dir.path());
    let dry = r#"{"target":"phone","message":"see you at the harbour","dry_run":true}"#;
    for arguments in [r#"{"action":"list"}"#, dry] {
        let call = ToolCall::from_text("list", "send_message", arguments);
        let result = engine.call(call, &caller).await;
        assert!(result.is_success() && !result.untrusted, "{}", result.content);
        assert!(!result.content.contains("untrusted"), "{}", result.content);
    }
    // The reply of an external service is untrusted.
    let sent = r#"{"target":"the whole family","message":"see you at the harbour"}"#;
    let result = engine.call(ToolCall::from_text("send", "send_message", sent), &caller).await;
    assert!(!result.is_success() && result.untrusted, "{}", result.content);
    engine.shutdown().await;
}
