//! Many concurrent processes on the same files: nothing is lost.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::context::TestContext;

const CROWD: usize = 8;

/// Starts one process for each number and waits for all of them.
fn together(context: &TestContext, args: impl Fn(usize) -> Vec<String>) {
    let start = |number| -> Child {
        let mut command = context.command(args(number));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the command starts")
    };
    let children: Vec<Child> = (0..CROWD).map(start).collect();
    for child in children {
        context.seen(child.wait_with_output().expect("an end")).succeeds();
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn no_item_of_a_shared_list_is_lost() {
    let context = TestContext::new();
    together(&context, |number| {
        let item = json!({ "id": number.to_string(), "content": "work", "status": "pending" });
        words(&[
            "call",
            "--session",
            "crowd",
            "todo",
            &json!({ "merge": true, "todos": [item] }).to_string(),
        ])
    });
    let list = context.run(["call", "--session", "crowd", "todo"]).succeeds().json();
    assert_eq!(list["summary"]["total"], CROWD, "{list}");
}

#[test]
fn no_toolset_is_lost() {
    let context = TestContext::new();
    together(&context, |number| {
        words(&["toolsets", "create", &format!("mine-{number}"), "--tools", "todo"])
    });
    let listed = context.run(["toolsets", "list", "--json"]).succeeds().json();
    let own = listed["toolsets"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|t| t["custom"] == true)
        .count();
    assert_eq!(own, CROWD);
}

#[test]
fn no_setting_is_lost() {
    let context = TestContext::new();
    together(&context, |number| {
        words(&["config", "set", "--force", &format!("own.key{number}"), &number.to_string()])
    });
    for number in 0..CROWD {
        let run = context.run(["config", "get", &format!("own.key{number}")]).succeeds();
        assert_eq!(run.stdout, format!("{number}\n"));
    }
}

#[test]
fn no_record_is_torn() {
    let context = TestContext::new();
    together(&context, |_| words(&["call", "todo"]));
    let log =
        std::fs::read_to_string(context.home().join("logs/audit/audit.jsonl")).expect("a log");
    let records: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    assert_eq!(records.len(), CROWD);
    context.run(["audit", "verify"]).succeeds();
}
