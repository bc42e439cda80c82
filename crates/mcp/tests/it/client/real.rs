//! Servers that people use.

use serde_json::json;

use super::{World, npm, sdk_python};

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_for_files_and_memory_do_their_work() {
    let (Some(files), Some(memory)) = (npm("server-filesystem"), npm("server-memory")) else {
        return;
    };
    let mut world = World::new();
    // The server for files would take these for all that it may touch.
    world.roots = vec![world.path("elsewhere")];
    let dir = world.path("files");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("a.txt"), "hello from a file").unwrap();
    let servers = world
        .ready(&json!({
            "files": {"command": "node", "args": [files, dir]},
            "memory": {"command": "node", "args": [memory], "env": {"MEMORY_FILE_PATH": world.path("m.json")}},
        }))
        .await;
    let path = dir.join("a.txt");
    let read = world.call("mcp__files__read_text_file", json!({"path": path})).await;
    assert!(read.to_string().contains("hello from a file"), "{read}");
    let outside = world.call("mcp__files__read_text_file", json!({"path": "/etc/passwd"})).await;
    assert!(outside["error"].is_string(), "{outside}");
    let entity =
        json!({"entities": [{"name": "Ann", "entityType": "person", "observations": ["sails"]}]});
    world.call("mcp__memory__create_entities", entity).await;
    let graph = world.call("mcp__memory__read_graph", json!({})).await;
    assert!(graph.to_string().contains("sails"), "{graph}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_that_has_everything_and_the_one_for_time_do_their_work() {
    let (Some(everything), Some(python)) = (npm("server-everything"), sdk_python()) else { return };
    let world = World::new();
    let servers = world
        .ready(&json!({
            "everything": {"command": "node", "args": [everything]},
            "time": {"command": python, "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"]},
        }))
        .await;
    let errors: Vec<_> = servers.status().into_iter().filter_map(|it| it.error).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let echoed = world.call("mcp__everything__echo", json!({"message": "hi"})).await;
    assert!(echoed.to_string().contains("hi"), "{echoed}");
    let sum = world.call("mcp__everything__get-sum", json!({"a": 2, "b": 3})).await;
    assert!(sum.to_string().contains('5'), "{sum}");
    let image = world.result("mcp__everything__get-tiny-image", json!({})).await;
    assert_eq!(image.attachments.len(), 1, "{}", image.content);
    let resources = world.call("mcp__everything__list_resources", json!({})).await;
    assert!(resources["resources"].as_array().is_some_and(|it| !it.is_empty()), "{resources}");
    let now = world.call("mcp__time__get_current_time", json!({"timezone": "UTC"})).await;
    assert!(now.to_string().contains("UTC"), "{now}");
    servers.stop().await;
}
