//! Ctrl-C: what is under way stops in order, and the exit code says so.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::context::{Stream, TestContext};

/// Waits until the process handles the interrupt itself, then sends it.
fn interrupt(stream: &Stream<'_>) {
    let pid = stream.child.id();
    until("the handler is installed", || handles_interrupts(pid));
    let status = Command::new("kill").args(["-INT", &pid.to_string()]).status().expect("kill runs");
    assert!(status.success());
}

/// The second bit of the mask of caught signals is SIGINT's.
fn handles_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 0b10 != 0)
}

#[test]
fn a_call_is_cancelled_and_answered() {
    let context = TestContext::new();
    let stream = context.stream(["call", "sleep", "seconds=3000", "--timeout", "4000"]);
    interrupt(&stream);
    let run = stream.wait().exits(130);
    run.error("cancelled");
}

#[test]
fn a_session_that_waits_for_input_ends() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    stream.send("{\"tool_calls\":[{\"id\":\"1\",\"name\":\"todo\"}]}\n");
    stream.answer();
    interrupt(&stream);
    let run = stream.wait().exits(130);
    assert_eq!(run.stdout, "");
}

#[test]
fn every_call_of_a_batch_is_answered() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec", "--session", "s"]);
    let mut calls = vec![
        json!({ "id": "first", "name": "todo", "arguments": { "todos": [{ "id": "1", "content": "begun" }] } }),
    ];
    calls.extend((0..20).map(|n| json!({ "id": n.to_string(), "name": "sleep", "arguments": { "until_file": format!("never{n}") } })));
    stream.send(&format!("{}\n", json!({ "tool_calls": calls })));
    until("the batch has begun", || context.home().join("session-state/s.json").exists());
    interrupt(&stream);
    let answer = stream.wait().exits(130).json();
    let results = answer["tool_results"].as_array().expect("results");
    assert_eq!(results.len(), 21);
    assert_eq!(results[0]["content"]["status"], "success");
    assert!(results[1..].iter().all(|r| r["content"]["kind"] == "cancelled"), "{answer}");
}

/// Waits for something to become true.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "still waiting: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
