//! What is closed there stays closed.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::place::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_out_of_the_working_folder_is_named_and_not_followed() {
    let world = World::new();
    let out = world.root().join("out.txt");
    fs::write(&out, "outside\n").unwrap();
    symlink(&out, world.work().join("link.txt")).unwrap();
    world.write("in.txt", "inside\n");
    symlink("in.txt", world.work().join("near.txt")).unwrap();

    let refused = world.call("read_file", json!({"path": "link.txt"})).await;
    assert_eq!(refused["kind"], "denied", "{refused}");
    assert_eq!(refused["leads_to"], *out.to_string_lossy(), "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("itself"), "{refused}");

    let allowed = world.call("read_file", json!({"path": out})).await;
    assert!(allowed.to_string().contains("outside"), "{allowed}");
    let near = world.call("read_file", json!({"path": "near.txt"})).await;
    assert!(near.to_string().contains("inside"), "{near}");

    let wrote = world.call("write_file", json!({"path": "link.txt", "content": "no\n"})).await;
    assert_eq!(wrote["kind"], "denied", "{wrote}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "outside\n");
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_rules_here_close_is_closed_there() {
    let world = World::new();
    for n in 0..50 {
        world.write(&format!("d{n}/open.txt"), "needle\n");
    }
    world.write("d7/shut", "needle\n");
    world.write("shut/inner.txt", "needle\n");
    let found = world.call("search_files", json!({"pattern": "needle", "path": "."})).await;
    let text = found.to_string();
    assert!(text.contains("d7/open.txt") && text.contains("d49/open.txt"), "{found}");
    assert!(!text.contains("shut"), "{found}");
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_home_there_is_protected_although_the_rules_know_another() {
    let world = World::new();
    let home = world.root().join("home");
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id_x"), "needle\n").unwrap();
    fs::write(home.join("notes"), "needle\n").unwrap();
    let key = world.call("read_file", json!({"path": home.join(".ssh/id_x")})).await;
    assert_eq!(key["rule"], "protected path", "{key}");
    let found = world.call("search_files", json!({"pattern": "needle", "path": home})).await;
    let text = found.to_string();
    assert!(text.contains("notes") && !text.contains("id_x"), "{found}");
    world.write("server.key", "-----BEGIN PRIVATE KEY-----\nneedle\n");
    let key = world.call("read_file", json!({"path": "server.key"})).await;
    assert_eq!(key["kind"], "denied", "{key}");
    world.tool_host.close().await;
}
