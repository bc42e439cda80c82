//! Absurd sizes: always a response, never a hang or a crash.

use serde_json::{Value, json};

use crate::context::TestContext;

const DEEP: usize = 10_000;

fn nested() -> String {
    format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP))
}

#[test]
fn fifty_megabytes_in_one_argument() {
    let context = TestContext::new();
    let text = "x".repeat(50_000_000);
    let request = format!(
        r#"{{"tool_calls":[{{"id":"big","name":"todo","arguments":{{"todos":[{{"id":"1","content":"{text}"}}]}}}},{{"id":"small","name":"todo"}}]}}"#
    );
    let run = context.feed(["exec"], request).succeeds();
    let answer = run.json();
    assert_eq!(answer["tool_results"][0]["content"]["status"], "success");
    assert_eq!(answer["tool_results"][1]["tool_call_id"], "small");
    assert!(run.stdout.len() < 100_000, "the answer is bounded: {} bytes", run.stdout.len());
}

#[test]
fn ten_thousand_calls_in_one_batch() {
    let context = TestContext::new();
    let calls: Vec<Value> = (0..10_000)
        .map(|n| json!({ "id": format!("c{n}"), "name": "todo", "arguments": {} }))
        .collect();
    let run = context.feed(["exec"], json!({ "tool_calls": calls }).to_string()).succeeds();
    let answer = run.json();
    let results = answer["tool_results"].as_array().expect("results");
    assert_eq!(results.len(), 10_000);
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result["tool_call_id"], format!("c{n}"));
    }
}

#[test]
fn more_calls_than_one_request_may_hold() {
    let context = TestContext::new();
    let calls = vec!["{}"; 100_001].join(",");
    let error =
        context.feed(["exec"], format!("{{\"tool_calls\":[{calls}]}}")).exits(2).error("limit");
    assert!(error.hint.contains("several requests"), "{error:?}");
}

#[test]
fn nesting_ten_thousand_deep() {
    let context = TestContext::new();
    let arguments = format!("{{\"path\":{}}}", nested());
    let object =
        format!(r#"{{"tool_calls":[{{"id":"1","name":"read_file","arguments":{arguments}}}]}}"#);
    let text = json!({ "tool_calls": [{ "id": "1", "name": "read_file", "arguments": arguments.clone() }] }).to_string();
    for request in [object, text] {
        let run = context.feed(["exec"], request);
        assert_ne!(run.code, 0);
        assert!(run.stdout.contains("nest"), "{}", run.stdout);
    }
    context.feed(["call", "read_file", "-"], &arguments).exits(1).error("invalid_arguments");
    context.run(["call", "read_file", &arguments]).exits(1).error("invalid_arguments");
    for document in [nested(), "[".repeat(DEEP), "{\"a\":".repeat(DEEP)] {
        let run = context.feed(["exec"], document).exits(2);
        assert!(run.json()["error"].is_string());
    }
}

#[test]
fn nesting_ten_thousand_deep_in_files() {
    let context = TestContext::new();
    context.file("schema.json", format!("{{\"properties\":{{\"a\":{}}}}}", nested()));
    context
        .run(["tools", "coerce", "--json", "--schema", "schema.json", "{}"])
        .exits(2)
        .error("invalid_arguments");
    context.file("plain.json", "{}");
    let run =
        context.run(["tools", "coerce", "--json", "--schema", "plain.json", &nested()]).exits(2);
    run.error("invalid_arguments");
    context.settings(format!("own: {}\n", nested()));
    let error = context.run(["tools", "list", "--json"]).exits(2).error("invalid_arguments");
    assert!(error.message.contains("config.yaml:1:"), "{error:?}");
    // Invalid YAML is a string, and a string may contain any number of brackets.
    context.settings("a: 1\n");
    context.run(["config", "set", "--force", "own", &nested()]).succeeds();
    assert_eq!(context.run(["config", "get", "own"]).succeeds().stdout, format!("{}\n", nested()));
}

#[test]
fn names_of_a_megabyte() {
    let context = TestContext::new();
    let name = "n".repeat(1_000_000);
    let request =
        json!({ "tool_calls": [{ "id": name, "name": name, "arguments": {} }] }).to_string();
    let run = context.feed(["exec"], request).exits(1);
    let content = &run.json()["tool_results"][0]["content"];
    assert_eq!(content["kind"], "not_found");
    assert!(content["error"].as_str().is_some_and(|e| e.len() < 1000), "the name is not repeated");
}

#[test]
fn a_session_of_many_short_lines() {
    let context = TestContext::new();
    let line = "{\"tool_calls\":[{\"id\":\"1\",\"name\":\"todo\"}]}\n";
    let run = context.feed(["exec"], line.repeat(2_000)).succeeds();
    assert_eq!(run.json_lines().len(), 2_000);
}
