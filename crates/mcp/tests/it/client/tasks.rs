//! Servers that continue a call after they have responded to it.

use std::sync::Arc;
use std::time::Duration;

use hermes_core::{CancellationToken, ToolCall};
use serde_json::{Value, json};

use super::questions::Person;
use super::{World, caller, content, odd};

async fn ends(world: &World, how: &str) -> Value {
    world.call("mcp__odd__task", json!({ "ends": how })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_seen_through_however_it_ends() {
    for modes in [&[][..], &["modern"]] {
        let mut world = World::new();
        world.asker = Some(Arc::new(Person));
        let servers = world.ready(&json!({"odd": odd(modes)})).await;
        assert_eq!(ends(&world, "completed").await, json!({"result": "done after 3"}));
        let failed = ends(&world, "failed").await;
        assert!(failed["error"].as_str().unwrap().contains("the press is jammed"), "{failed}");
        let given_up = ends(&world, "cancelled").await;
        assert!(given_up["error"].as_str().unwrap().contains("cancelled the task"), "{given_up}");
        let asked = ends(&world, "asks").await;
        assert!(asked["result"].as_str().unwrap().contains("Ann"), "{asked}");
        let lost = ends(&world, "dies").await;
        assert_eq!(lost["effect_disposition"], "unknown", "{lost}");
        servers.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_only_there_as_a_task_is_called_as_one() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    for tool in ["mcp__odd__old_task", "mcp__odd__worded_task"] {
        let done = world.call(tool, json!({"ends": "completed"})).await;
        assert_eq!(done, json!({"result": "old and done"}));
    }
    servers.stop().await;
    // The newer protocol has no such tools.
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&["modern"])})).await;
    let refused = world.call("mcp__odd__old_task", json!({"ends": "completed"})).await;
    assert_eq!(refused["kind"], "not_found", "{refused}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_nobody_waits_for_is_given_up() {
    for tool in ["mcp__odd__task", "mcp__odd__old_task"] {
        let world = World::new();
        let servers = world.ready(&json!({"odd": odd(&[])})).await;
        let mut caller = caller(world.home.path());
        caller.cancel = CancellationToken::new();
        let cancel = caller.cancel.clone();
        let engine = world.engine.clone();
        let running = tokio::spawn(async move {
            engine.call(ToolCall::new("1", tool, json!({"ends": "never"})), &caller).await
        });
        eventually(&world, "asked").await;
        cancel.cancel();
        let result = running.await.unwrap();
        assert_eq!(content(&result)["kind"], "cancelled", "{}", result.content);
        eventually(&world, "cancelled").await;
        servers.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_takes_too_long_is_not_reported_as_silence() {
    let world = World::new();
    let mut entry = odd(&[]);
    entry["timeout"] = json!(1.5);
    entry["max_total_timeout"] = json!(1.5);
    let servers = world.ready(&json!({ "odd": entry })).await;
    let late = ends(&world, "never").await;
    assert_eq!(late["kind"], "timeout", "{late}");
    assert!(late["error"].as_str().unwrap().contains("did not finish"), "{late}");
    servers.stop().await;
}

/// Waits until the only task of the server has this state.
async fn eventually(world: &World, wanted: &str) {
    let mut said = Value::Null;
    for _ in 0..1_000 {
        said = world.call("mcp__odd__left", json!({})).await;
        if said["result"] == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never {wanted}: {said}");
}
