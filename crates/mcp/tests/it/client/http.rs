//! Servers on the network, in the newer and the older way.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::{World, sdk_python, sdk_script};

/// A server of the Python SDK that listens; it ends with this.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn listen(world: &World, kind: &str) -> Option<(Listening, String)> {
    let python = sdk_python()?;
    let file = world.path(kind);
    let child = Command::new(python)
        .arg(sdk_script())
        .arg(kind)
        .arg(&file)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let listening = Listening(child);
    for _ in 0..1500 {
        if let Ok(port) = std::fs::read_to_string(&file) {
            let path = if kind == "sse" { "sse" } else { "mcp" };
            return Some((listening, format!("http://127.0.0.1:{port}/{path}")));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server does not listen");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_http_is_used_whole() {
    let world = World::new();
    let Some((listening, url)) = listen(&world, "http").await else { return };
    let servers = world.ready(&json!({"sdk": {"url": url}})).await;
    let status = servers.status().remove(0);
    assert_eq!((status.error, status.transport), (None, "http"));
    super::sdk::used(&world).await;
    drop(listening);
    // The first may have gone into a connection that was still open; after
    // that nothing is sent, and nothing is in doubt.
    let lost = world.call("mcp__sdk__add", json!({"a": 1, "b": 2})).await;
    assert!(lost["error"].is_string(), "{lost}");
    let gone = world.call("mcp__sdk__add", json!({"a": 1, "b": 2})).await;
    assert_eq!(gone["kind"], "network", "{gone}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_way_is_found_without_being_told() {
    let world = World::new();
    let Some((_listening, url)) = listen(&world, "sse").await else { return };
    let servers = world.ready(&json!({"sdk": {"url": url}})).await;
    let status = servers.status().remove(0);
    assert_eq!(status.error, None);
    assert_eq!(status.protocol.as_deref(), Some("2025-11-25"));
    let added = world.call("mcp__sdk__add", json!({"a": 2, "b": 40})).await;
    assert_eq!(added, json!({"result": {"result": 42}}));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_without_a_server_is_told() {
    let world = World::new();
    let entry = json!({"url": "http://127.0.0.1:9/mcp", "connect_timeout": 5});
    let servers = world.ready(&json!({"x": entry})).await;
    let error = servers.status().remove(0).error.unwrap();
    assert!(error.contains("cannot be used"), "{error}");
    servers.stop().await;
}
