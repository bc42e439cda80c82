//! Many concurrent calls to one server. The server counts how many ran at the
//! same time; no clock is involved.

use std::process::Command;

use futures_util::future::join_all;
use hermes_core::ToolCall;
use serde_json::{Value, json};

use super::{World, caller, content, is_running, odd, until, with};

/// As many as a batch runs side by side.
pub(super) const CROWD: usize = 32;

/// What each call of a batch answers.
pub(super) async fn batch(world: &World, calls: Vec<(&str, Value)>) -> Vec<Value> {
    let calls = calls.into_iter().enumerate();
    let calls = calls.map(|(at, (tool, given))| ToolCall::new(at.to_string(), tool, given));
    let results = world.engine.dispatch(calls.collect(), &caller(world.home.path())).await;
    results.iter().map(content).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_at_the_server_together() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let all = json!({"result": CROWD.to_string()});
    let calls = (0..CROWD).map(|_| world.call("mcp__odd__meet", json!({"count": CROWD})));
    assert!(join_all(calls).await.contains(&all));
    servers.stop().await;
    // So it is in one batch, whether the tools say that they only look or
    // nothing at all.
    let servers = world.ready(&json!({"other": odd(&[])})).await;
    let tools = ["mcp__other__meet", "mcp__other__look"];
    let calls = (0..CROWD).map(|at| (tools[at % 2], json!({"count": CROWD})));
    assert!(batch(&world, calls.collect()).await.contains(&all));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_changes_something_keeps_its_place() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let mixed = ["change", "meet", "change", "change", "look"];
    let names = mixed.map(|name| format!("mcp__odd__{name}"));
    let calls = names.iter().map(|name| (name.as_str(), json!({})));
    let answers = batch(&world, calls.collect()).await;
    assert!(answers.iter().all(|it| *it == json!({"result": "1"})), "{answers:?}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_have_the_last_word() {
    let world = World::new();
    let set = |value: bool| with(odd(&[]), json!({"supports_parallel_tool_calls": value}));
    let servers = world.ready(&json!({"one": set(false), "many": set(true)})).await;
    let answers = batch(&world, vec![("mcp__one__look", json!({})); 6]).await;
    assert!(answers.iter().all(|it| *it == json!({"result": "1"})), "{answers:?}");
    let answers = batch(&world, vec![("mcp__many__change", json!({"count": 6})); 6]).await;
    assert!(answers.contains(&json!({"result": "6"})), "{answers:?}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_under_many_calls_is_one_failure() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let ask = async |tool: &str| {
        let answer = world.call(&format!("mcp__odd__{tool}"), json!({})).await;
        answer["result"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let first = ask("pid").await;
    // More than will ever come.
    let call = || world.call("mcp__odd__meet", json!({"count": CROWD}));
    let calls = join_all((0..8).map(|_| call()));
    let kill = async {
        while ask("here").await != "8" {}
        assert!(Command::new("kill").args(["-9", &first]).status().unwrap().success());
    };
    let (answers, ()) = tokio::join!(calls, kill);
    for answer in answers {
        assert_eq!(answer["effect_disposition"], "unknown", "{answer}");
    }
    // It is not left alone for that: the next call has it started again.
    assert_ne!(ask("pid").await, first);
    until("the first is gone", || !is_running(&first)).await;
    servers.stop().await;
}
