//! Processes that a session is told of, that go on by themselves, or that a
//! crash has left.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::context::TestContext;

fn request(id: u32, tool: &str, arguments: &Value) -> String {
    let function = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "id": id.to_string(), "type": "function", "function": function });
    json!({ "tool_calls": [call] }).to_string() + "\n"
}

#[test]
fn exec_gives_notices_with_the_next_answer() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    let arguments = json!({ "command": "sleep 0.5; echo built", "background": true, "notify_on_complete": true });
    stream.send(&request(1, "terminal", &arguments));
    let started = stream.answer();
    let started = &started["tool_results"][0]["content"];
    assert_eq!(started["notify_on_complete"], true, "{started}");
    let begin = Instant::now();
    let mut told = Value::Null;
    while told.is_null() && begin.elapsed() < Duration::from_secs(30) {
        stream.send(&request(2, "process", &json!({ "action": "list" })));
        let answer = stream.answer();
        told = answer["tool_results"][0]["content"]["notices"][0].clone();
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(told["session_id"], started["session_id"], "{told}");
    assert_eq!((&told["event"], &told["output"]), (&json!("completed"), &json!("built\n")));
    stream.close();
    stream.end().succeeds();
}

#[test]
fn one_call_says_that_nobody_will_be_told() {
    let context = TestContext::new();
    let arguments = r#"{"command":"sleep 30","background":true,"notify_on_complete":true}"#;
    let answer = context.run(["call", "terminal", arguments]).succeeds().json();
    assert!(answer["notify_unsupported"].as_str().is_some(), "{answer}");
    let left = context.run(["processes", "list", "--json"]).succeeds().json();
    assert_eq!(left["processes"], json!([]), "it has ended with the call");
}

#[test]
fn what_a_crash_leaves_is_told_and_ended() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    let arguments = json!({ "command": "sleep 300", "background": true });
    stream.send(&request(1, "terminal", &arguments));
    let id = stream.answer()["tool_results"][0]["content"]["session_id"].clone();
    stream.child.kill().expect("it can be killed");
    stream.child.wait().expect("it ends");
    let next = context.run(["call", "terminal", "command=echo next"]).succeeds();
    assert!(next.stderr.contains("An earlier hermes has left `sleep 300` running"), "{next:?}");
    let left = context.run(["processes", "list", "--json"]).succeeds().json();
    assert_eq!(left["processes"][0]["session_id"], id, "{left}");
    let listed = context.run(["call", "process", "action=list"]).succeeds().json();
    assert_eq!(listed["processes"][0]["left_over"], true, "{listed}");
    let unknown = context.run(["processes", "kill", "proc_none", "--json"]);
    unknown.exits(1).error("not_found");
    context.run(["processes", "kill", "all"]).succeeds();
    let left = context.run(["processes", "list", "--json"]).succeeds().json();
    assert_eq!(left["processes"], json!([]));
    context.run(["call", "terminal", "command=echo next"]).succeeds().silent();
}

#[test]
fn a_foreground_command_is_found_after_a_crash_at_once() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    stream.send(&request(1, "terminal", &json!({ "command": "touch begun; sleep 300; true" })));
    let folder = context.home().join("cache/jobs/running");
    let begin = Instant::now();
    // Long before it is waited for in vain.
    while !std::fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some()) {
        assert!(begin.elapsed() < Duration::from_secs(60), "it is never written down");
        std::thread::sleep(Duration::from_millis(2));
    }
    stream.child.kill().expect("it can be killed");
    stream.child.wait().expect("it ends");
    let left = context.run(["processes", "list", "--json"]).succeeds().json();
    assert_eq!(left["processes"].as_array().map(Vec::len), Some(1), "{left}");
    context.run(["processes", "kill", "all"]).succeeds();
}

#[test]
fn a_place_that_cannot_be_opened_still_answers_every_call() {
    let context = TestContext::new();
    context.settings("terminal:\n  backend: docker\n  docker_program: /bin/false\n");
    let calls = json!({ "tool_calls": [
        { "id": "1", "name": "todo", "arguments": {} },
        { "id": "2", "name": "terminal", "arguments": { "command": "pwd" } },
    ]});
    let run = context.feed(["exec"], format!("\u{feff}{calls}\n"));
    let lines = run.json_lines();
    let results = lines[0]["tool_results"].as_array().expect("results");
    assert_eq!(results.len(), 2, "{lines:?}");
    assert_eq!(results[0]["content"]["status"], "success", "{lines:?}");
    assert_eq!(results[1]["content"]["kind"], "unavailable", "{lines:?}");
    assert!(run.stderr.contains("docker"), "{run:?}");
}
