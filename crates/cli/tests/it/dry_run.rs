//! `--dry-run`: every stage except the call itself.

use serde_json::{Value, json};

use crate::context::{TestContext, assert_fields};

const CHANGE: &str = r#"todos:=[{"id":"a","content":"x","status":"pending"}]"#;
const PROFILES: &str = "profiles:
  asks:
    extends: default
    approval_required: [plan:write]
  denies:
    extends: default
    deny: [plan:write]
";

fn prepared() -> TestContext {
    let context = TestContext::new();
    std::fs::write(context.home().join("hermes_permissions.yaml"), PROFILES).expect("profiles");
    context
        .run([
            "call",
            "todo",
            "--session",
            "s",
            r#"todos:=[{"id":"old","content":"o","status":"pending"}]"#,
        ])
        .succeeds();
    context
}

/// The session's document, byte for byte.
fn document(context: &TestContext) -> Vec<u8> {
    std::fs::read(context.home().join("session-state/s.json")).expect("the document")
}

#[test]
fn a_call_is_rehearsed_and_told() {
    let context = prepared();
    let before = document(&context);
    let run = context.run(["call", "--dry-run", "todo", CHANGE, "--session", "s"]).succeeds();
    let shown = run.silent().json();
    assert_fields(
        &shown,
        &["dry_run", "would", "tool", "arguments", "coerced", "effects", "verdict"],
    );
    assert_eq!(shown["dry_run"], true);
    assert_eq!(shown["would"], "run");
    assert_eq!(shown["tool"], "todo");
    assert_eq!(shown["verdict"], "allow");
    assert_eq!(shown["arguments"]["todos"][0]["id"], "a");
    assert_eq!(shown["effects"], json!([{ "scope": "plan:write", "resource": "todo" }]));
    assert_eq!(document(&context), before);
}

#[test]
fn a_rehearsal_makes_no_session() {
    let context = TestContext::new();
    context.run(["call", "--dry-run", "todo", CHANGE, "--session", "new"]).succeeds();
    assert!(!context.home().join("session-state").exists());
}

#[test]
fn arguments_are_shown_as_the_tool_would_get_them() {
    let context = prepared();
    let run = context.run(["call", "--dry-run", "ReadFile", r#"{"file_path":"a","limit":"2"}"#]);
    let shown = run.succeeds().json();
    assert_eq!(shown["tool"], "read_file");
    assert_eq!(shown["arguments"], json!({ "path": "a", "limit": 2 }));
    assert!(!shown["coerced"].as_array().expect("a list").is_empty(), "{shown}");
}

#[test]
fn what_would_be_asked_or_denied_is_told_with_the_same_exit_code() {
    let context = prepared();
    let before = document(&context);
    for (profile, kind) in [("asks", "approval_required"), ("denies", "denied")] {
        let args = ["call", "todo", CHANGE, "--session", "s", "--profile", profile];
        let rehearsed = context.run(args.into_iter().chain(["--dry-run"])).exits(3).error(kind);
        assert_eq!(rehearsed.value["dry_run"], true);
        assert!(rehearsed.value.get("token").is_none(), "{rehearsed:?}");
        let real = context.run(args).exits(3).error(kind);
        assert_eq!(real.value["rule"], rehearsed.value["rule"]);
        assert_eq!(real.message, rehearsed.message);
    }
    assert_eq!(document(&context), before);
}

#[test]
fn a_rehearsal_leaves_no_question_and_uses_no_approval() {
    let context = prepared();
    let args = ["call", "todo", CHANGE, "--session", "s", "--profile", "asks"];
    context.run(args.into_iter().chain(["--dry-run"])).exits(3);
    let waiting = context.run(["permissions", "approve", "--json"]).succeeds().json();
    assert_eq!(waiting["waiting"], json!([]));

    let error = context.run(args).exits(3).error("approval_required");
    let token = error.value["token"].as_str().expect("a token").to_owned();
    context.run(["permissions", "approve", &token]).succeeds();
    context.run(args.into_iter().chain(["--dry-run"]));
    context.run(args).succeeds();
}

#[test]
fn a_rehearsal_asks_nobody() {
    let context = prepared();
    let args = ["call", "--dry-run", "todo", CHANGE, "--profile", "asks"];
    let Some(command) = crate::approvals::terminal(&context, &args) else { return };
    let run = crate::context::Stream::start(&context, command).wait();
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(!run.stdout.contains("[o]nce"), "{}", run.stdout);
}

#[test]
fn wrong_calls_are_wrong_in_a_rehearsal_too() {
    let context = prepared();
    context.run(["call", "--dry-run", "no_such_tool"]).exits(1).error("not_found");
    context.run(["call", "--dry-run", "read_file"]).exits(1).error("invalid_arguments");
    context.run(["call", "--dry-run", "read_file", "path=a", "limit:=x"]).exits(2);
    context.run(["call", "--dry-run", "todo", "--profile", "nope"]).exits(2);
}

#[test]
fn a_rehearsal_waits_for_nothing() {
    let context = prepared();
    let run = context.run(["call", "--dry-run", "sleep", "seconds=3000"]).succeeds();
    assert_eq!(run.json()["tool"], "sleep");
}

#[test]
fn secrets_are_not_resolved_in_a_rehearsal() {
    let context = prepared();
    let value = "hT6qWn2ZkP9vX4mB8rJd3LsY";
    context.feed(["secrets", "set", "DEPLOY"], value).succeeds();
    let open = "profiles:\n  open:\n    allow: [\"*\"]\n";
    std::fs::write(context.home().join("hermes_permissions.yaml"), open).expect("profiles");
    let todos = r#"todos:=[{"id":"a","content":"secret://DEPLOY","status":"pending"}]"#;
    let run = context.run(["call", "--dry-run", "--profile", "open", "todo", todos]).succeeds();
    assert_eq!(run.json()["arguments"]["todos"][0]["content"], "secret://DEPLOY");
    assert!(!run.stdout.contains(value));
}

#[test]
fn a_batch_is_rehearsed_in_every_dialect() {
    let context = prepared();
    let before = document(&context);
    let arguments = r#"{"todos":[{"id":"a","content":"x","status":"pending"}]}"#;
    let text = Value::from(arguments);
    for request in [
        format!(r#"{{"tool_calls":[{{"id":"1","name":"todo","arguments":{arguments}}}]}}"#),
        format!(
            r#"{{"role":"assistant","tool_calls":[{{"id":"1","type":"function","function":{{"name":"todo","arguments":{text}}}}}]}}"#
        ),
        format!(r#"[{{"type":"function_call","call_id":"1","name":"todo","arguments":{text}}}]"#),
        format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"1","name":"todo","input":{arguments}}}]}}"#
        ),
        format!("<tool_call>\n{{\"name\": \"todo\", \"arguments\": {arguments}}}\n</tool_call>\n"),
    ] {
        let run = context.feed(["exec", "--dry-run", "--session", "s"], &request).succeeds();
        assert!(run.stdout.contains("dry_run"), "{request}: {}", run.stdout);
        let run =
            context.feed(["exec", "--dry-run", "--session", "s", "--profile", "denies"], &request);
        assert_ne!(run.code, 0, "{request}: {}", run.stdout);
        assert!(run.stdout.contains("dry_run"), "{request}: {}", run.stdout);
    }
    assert_eq!(document(&context), before);
}

#[test]
fn a_call_within_a_call_is_rehearsed_too() {
    let context = prepared();
    let before = document(&context);
    let arguments =
        r#"{"name":"todo","arguments":{"todos":[{"id":"a","content":"x","status":"pending"}]}}"#;
    let run = context.run(["call", "--dry-run", "tool_call", arguments, "--session", "s"]);
    assert_eq!(document(&context), before, "{}", run.stdout);
    assert!(run.stdout.contains("dry_run"), "{}", run.stdout);
    let run =
        context.run(["call", "tool_call", arguments, "--session", "s", "--profile", "denies"]);
    assert_ne!(run.code, 0, "{}", run.stdout);
    assert_eq!(document(&context), before, "{}", run.stdout);
}

#[test]
fn a_rehearsal_is_recorded_as_one() {
    let context = prepared();
    context.run(["call", "--dry-run", "todo", CHANGE]).succeeds();
    let entry = context.run(["audit", "tail", "-n", "1", "--json"]).succeeds().json();
    assert_eq!(entry["dry_run"], true);
    assert_eq!(entry["tool"], "todo");
}
