//! `hermes sessions`: stored conversations.

use hermes_history::{HistoryStore, NewSession};
use hermes_llm::{ChatMessage, ModelReply, RequestedCall, TokenUsage, ToolCallAnswer};
use serde_json::{Value, json};

use crate::context::TestContext;

fn store(context: &TestContext) -> HistoryStore {
    HistoryStore::open(context.home().join("sessions.db")).expect("a store")
}

/// A session with one turn and one call.
fn talk(context: &TestContext, id: &str, said: &str) {
    let store = store(context);
    let beginning =
        NewSession { id: Some(id.into()), source: "cli".into(), ..NewSession::default() };
    store.begin(&beginning).expect("a session");
    let call = RequestedCall {
        id: "c1".into(),
        name: "terminal".into(),
        arguments: r#"{"command":"ls"}"#.into(),
    };
    let answer = ToolCallAnswer {
        call_id: "c1".into(),
        name: "terminal".into(),
        content: "```\nfiles\n```".into(),
        images: Vec::new(),
        is_error: false,
        is_cancelled: false,
    };
    let usage = TokenUsage { input: 5, cost: Some(0.25), ..TokenUsage::default() };
    for message in [
        ChatMessage::user(said),
        ChatMessage::Assistant(ModelReply { calls: vec![call], usage, ..ModelReply::default() }),
        ChatMessage::Tool(answer),
        ChatMessage::Assistant(ModelReply { text: "That is all.".into(), ..ModelReply::default() }),
    ] {
        store.append(id, &message).expect("a message");
    }
}

#[test]
fn without_sessions_nothing_is_made() {
    let context = TestContext::new();
    let listed = context.run(["sessions", "list", "--json"]).succeeds().json();
    assert_eq!(listed, json!({ "schema_version": 1, "sessions": [] }));
    context.run(["sessions", "list"]).succeeds();
    context.run(["sessions", "search", "anything"]).succeeds();
    assert_eq!(context.run(["sessions", "export", "all"]).succeeds().stdout, "");
    for command in ["show", "resume", "export"] {
        let failed = context.run(["sessions", command, "last"]);
        assert_ne!(failed.code, 0, "{command}");
        assert!(failed.stderr.contains("There is no session"), "{}", failed.stderr);
    }
    assert!(!context.home().join("sessions.db").exists());
}

#[test]
fn sessions_are_listed_shown_and_found() {
    let context = TestContext::new();
    talk(&context, "first_one", "Tidy up the garden");
    talk(&context, "second_one", "我们部署集群");
    let listed = context.run(["sessions", "list", "--json"]).succeeds().json();
    assert_eq!(listed["sessions"][0]["id"], "second_one");
    assert_eq!(listed["sessions"][1]["preview"], "Tidy up the garden");
    assert_eq!(listed["sessions"][1]["usage"]["cost"], 0.25);
    assert_eq!(listed["sessions"][1]["tool_call_count"], 1);
    let table = context.run(["sessions", "list"]).succeeds().stdout;
    assert!(table.lines().count() == 2 && table.contains("Tidy up"), "{table}");

    let shown = context.run(["sessions", "show", "first"]).succeeds().stdout;
    for part in
        ["Tidy up the garden", "→ terminal {\"command\":\"ls\"}", "tool terminal", "That is all."]
    {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let shown = context.run(["sessions", "show", "last", "--json"]).succeeds().json();
    assert_eq!(shown["session"]["id"], "second_one");
    assert_eq!(shown["messages"][1]["calls"][0]["name"], "terminal");

    let found = context.run(["sessions", "search", "部署", "--json"]).succeeds().json();
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["hits"][0]["snippet"], "我们>>>部署<<<集群");
    let none = context.run(["sessions", "search", "garden", "--role", "tool", "--json"]).succeeds();
    assert_eq!(none.json()["hits"], json!([]));
    let failed = context.run(["sessions", "search", "garden", "--since", "soon"]);
    assert_eq!(failed.code, 2, "{}", failed.stderr);
}

#[test]
fn sessions_are_exported_resumed_renamed_and_deleted() {
    let context = TestContext::new();
    talk(&context, "only_one", "Tidy up");
    let lines = context.run(["sessions", "export", "only_one"]).succeeds().stdout;
    let lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines.len(), &lines[0]["type"]), (5, &json!("session")));
    let message: ChatMessage = serde_json::from_value(lines[3].clone()).expect("a message");
    assert_eq!(message.text(), "```\nfiles\n```");
    context
        .run(["sessions", "export", "all", "--format", "markdown", "--out", "talk.md"])
        .succeeds();
    let text = std::fs::read_to_string(context.work().join("talk.md")).expect("a file");
    assert!(text.contains("````\n```\nfiles\n```\n````"), "{text}");
    assert_ne!(context.run(["sessions", "export", "all", "--out", "talk.md"]).code, 0);

    context.run(["sessions", "rename", "last", "Garden"]).succeeds();
    store(&context).end("only_one", "done").expect("it ends");
    assert_eq!(context.run(["sessions", "resume"]).succeeds().stdout, "only_one\n");
    let listed = context.run(["sessions", "list", "--json"]).succeeds().json();
    assert_eq!(listed["sessions"][0]["ended_at"], Value::Null);
    assert_eq!(listed["sessions"][0]["title"], "Garden");

    let asked = context.run(["sessions", "delete", "only_one"]);
    assert_eq!(asked.code, 2);
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    let gone = context.run(["sessions", "delete", "only_one", "--yes", "--json"]).succeeds().json();
    assert_eq!(gone, json!({ "schema_version": 1, "sessions": 1, "messages": 4 }));
    assert_ne!(context.run(["sessions", "show", "only_one"]).code, 0);
}

#[test]
fn a_damaged_file_is_told_and_the_rest_works() {
    let context = TestContext::new();
    let path = context.home().join("sessions.db");
    std::fs::write(&path, "no database at all ".repeat(500)).expect("a file");
    let failed = context.run(["sessions", "list"]);
    assert_ne!(failed.code, 0);
    assert!(
        failed.stderr.contains("damaged") && failed.stderr.contains("Move"),
        "{}",
        failed.stderr
    );
    context.run(["call", "todo", "{}"]).succeeds();
    let called = context.run(["call", "session_search", "{}"]);
    assert_ne!(called.code, 0);
    assert!(called.stdout.contains("damaged"), "{}", called.stdout);
}

#[test]
fn what_is_secret_now_is_not_shown() {
    let context = TestContext::new();
    talk(&context, "with_key", "the key is blue-elephant-4711-riding");
    context.feed(["secrets", "set", "ELEPHANT"], "blue-elephant-4711-riding\n").succeeds();
    for arguments in [["show", "with_key"], ["export", "with_key"], ["search", "key"]] {
        for json in [false, true] {
            let mut all = vec!["sessions", arguments[0], arguments[1]];
            all.extend(json.then_some("--json"));
            let said = context.run(&all).succeeds().stdout;
            assert!(!said.contains("blue-elephant"), "{all:?}: {said}");
        }
    }
}

#[test]
fn the_tool_reads_the_same_file() {
    let context = TestContext::new();
    talk(&context, "told", "Tidy up the garden");
    let found = context.run(["call", "session_search", r#"{"query":"garden"}"#]).succeeds().json();
    assert_eq!(found["results"][0]["session_id"], "told", "{found}");
}
