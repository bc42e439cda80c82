//! The official Python SDK at the other end, through standard streams.

use serde_json::{Value, json};

use super::crowd::{CROWD, batch};
use super::{World, sdk_python, sdk_script};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_the_python_sdk_is_used_whole() {
    let Some(python) = sdk_python() else { return };
    let world = World::new();
    let servers = world
        .ready(&json!({"sdk": {"command": python, "args": [sdk_script()], "probe_timeout": 30}}))
        .await;
    let status = servers.status().remove(0);
    assert_eq!(status.error, None);
    assert_eq!(status.protocol.as_deref(), Some("2026-07-28"));
    used(&world).await;
    let trial = servers.test_server("sdk").await.unwrap();
    assert!(trial.schema_tokens > 100 && trial.answer_ms > 0.0);
    servers.stop().await;
}

/// Everything that the server offers, used once.
pub(super) async fn used(world: &World) {
    let added = world.call("mcp__sdk__add", json!({"a": 2, "b": 40})).await;
    assert_eq!(added, json!({"result": {"result": 42}}));
    let greeted = world.call("mcp__sdk__greet", json!({"name": "Ann"})).await;
    assert_eq!(greeted["result"]["greeting"], "Hello, Ann", "{greeted}");
    assert_eq!(
        world.call("mcp__sdk__work", json!({"steps": 3})).await["result"]["result"],
        "worked"
    );
    let failed = world.call("mcp__sdk__fail", json!({})).await;
    assert!(failed["error"].as_str().unwrap().contains("it went wrong"), "{failed}");
    let picture = world.result("mcp__sdk__picture", json!({})).await;
    assert_eq!(picture.attachments.len(), 1, "{picture:?}");

    // Each was still there when the last one came.
    let calls = vec![("mcp__sdk__meet", json!({"count": CROWD})); CROWD];
    let met = batch(world, calls).await;
    assert!(met.iter().all(|it| it["result"]["result"] == CROWD), "{met:?}");

    let listed = world.call("mcp__sdk__list_resources", json!({})).await;
    assert_eq!(listed["resources"][0]["uri"], "note://today", "{listed}");
    assert_eq!(listed["templates"][0]["uriTemplate"], "note://{day}/text", "{listed}");
    let read = |uri: &'static str| world.call("mcp__sdk__read_resource", json!({"uri": uri}));
    assert_eq!(read("note://today").await, json!({"result": "buy milk"}));
    assert_eq!(read("note://monday/text").await, json!({"result": "note of monday"}));
    assert!(read("note://no/such/thing").await["error"].is_string());

    let prompts = world.call("mcp__sdk__list_prompts", json!({})).await;
    assert_eq!(prompts["prompts"][0]["arguments"][0]["name"], "code", "{prompts}");
    let arguments = json!({"name": "review", "arguments": {"code": "x=1"}});
    let prompt = world.call("mcp__sdk__get_prompt", arguments).await;
    assert_eq!(prompt["messages"][0], json!({"role": "user", "content": "Please review: x=1"}));
    let missing: Value = world.call("mcp__sdk__get_prompt", json!({})).await;
    assert_eq!(missing["kind"], "invalid_arguments");
}
