//! `--session`: separate processes that share state.

use serde_json::{Value, json};

use crate::context::TestContext;

fn add(id: &str) -> String {
    json!({ "merge": true, "todos": [{ "id": id, "content": id, "status": "pending" }] })
        .to_string()
}

fn ids(list: &Value) -> Vec<&str> {
    list["todos"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|item| item["id"].as_str())
        .collect()
}

#[test]
fn the_task_list_is_shared_by_calls_of_one_session_only() {
    let context = TestContext::new();
    context.run(["call", "--session", "build", "todo", &add("a")]).succeeds();
    context.run(["call", "--session", "build", "todo", &add("b")]).succeeds();
    let list = context.run(["call", "--session", "build", "todo"]).succeeds().json();
    assert_eq!(ids(&list), ["a", "b"]);
    for other in [vec!["call", "todo"], vec!["call", "--session", "other", "todo"]] {
        assert_eq!(context.run(other).succeeds().json()["todos"], json!([]));
    }
}

#[test]
fn variables_are_shared_by_call_and_exec() {
    let context = TestContext::new();
    context
        .run(["call", "--session", "s", "env_manager", "action=set", "name=MODE", "value=test"])
        .succeeds();
    let request = r#"{"tool_calls":[{"id":"1","name":"env_manager","arguments":{"action":"get","name":"MODE"}}]}"#;
    let answer = context.feed(["exec", "--session", "s"], request).succeeds().json();
    assert_eq!(answer["tool_results"][0]["content"]["value"], "test");
    context.run(["call", "env_manager", "action=get", "name=MODE"]).exits(1).error("not_found");
}

#[test]
fn the_session_may_come_from_the_environment() {
    let context = TestContext::new();
    let mut command = context.command(["call", "todo", &add("from-env")]);
    command.env("HERMES_SESSION", "shell");
    context.finish(command, b"").succeeds();
    let list = context.run(["call", "--session", "shell", "todo"]).succeeds().json();
    assert_eq!(ids(&list), ["from-env"]);
}

#[test]
fn an_empty_variable_is_no_session_but_an_empty_option_is_a_slip() {
    let context = TestContext::new();
    let mut command = context.command(["call", "todo", &add("x")]);
    command.env("HERMES_SESSION", "");
    context.finish(command, b"").succeeds();
    assert!(!context.home().join("session-state").exists(), "nothing to share, nothing to keep");
    let run = context.run(["call", "--session", "", "todo"]).exits(2);
    assert!(run.stderr.contains("--session requires an id"), "{}", run.stderr);
}

#[test]
fn no_session_id_leaves_the_folder_of_sessions() {
    let context = TestContext::new();
    for id in ["../../escape", "/tmp/escape", "a/b", "..", "ünïcode 🦀"] {
        context.run(["call", "--session", id, "todo", &add("kept")]).succeeds();
        let list = context.run(["call", "--session", id, "todo"]).succeeds().json();
        assert_eq!(ids(&list), ["kept"], "{id}");
    }
    let top: Vec<_> = std::fs::read_dir(context.root())
        .expect("a directory")
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert_eq!(top.len(), 2, "only home and work: {top:?}");
    assert!(std::fs::read_dir(context.work()).expect("a directory").next().is_none());
}

#[test]
fn a_damaged_session_is_an_error_and_stays_as_it_is() {
    let context = TestContext::new();
    context.run(["call", "--session", "s", "todo", &add("a")]).succeeds();
    let file = context.home().join("session-state/s.json");
    std::fs::write(&file, "{half").expect("damage");
    let run = context.run(["call", "--session", "s", "todo", &add("b")]).exits(4);
    assert!(run.json()["error"].as_str().expect("a text").contains("s.json"), "{}", run.stdout);
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "{half");
}
