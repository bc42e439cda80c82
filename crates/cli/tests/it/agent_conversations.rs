//! `hermes sessions` with conversations of Hermes Agent in `state.db`.

use std::process::Command;

use hermes_history::{HistoryStore, NewSession};
use hermes_llm::ChatMessage;
use hermes_testkit::models::{ModelServer, ScriptedReply};
use serde_json::{Value, json};

use crate::context::TestContext;

/// A database made by Hermes Agent's own code.
const STATE_SQL: &str = include_str!("../../../history/tests/fixtures/hermes_agent_0_19_0.sql");
const GARDEN: &str = "20260115_093000_a1b2c3";
const HELPER: &str = "20260115_094000_d4e5f6";
const CHAT: &str = "20260115_095000_0789ab";
const ARCHIVED: &str = "20260115_097000_archiv";

fn with_conversations() -> TestContext {
    let context = TestContext::new();
    write_state(&context, "PRAGMA journal_mode = wal");
    write_state(&context, STATE_SQL);
    context
}

/// Runs SQL on `state.db` as Hermes Agent does, with Python's module.
fn write_state(context: &TestContext, sql: &str) {
    let script = "import sqlite3, sys\n\
                  db = sqlite3.connect(sys.argv[1])\n\
                  db.executescript(sys.argv[2])\n\
                  db.close()";
    std::fs::create_dir_all(context.home()).expect("a home");
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(context.home().join("state.db")).arg(sql);
    assert!(python.status().expect("python3").success(), "{sql}");
}

fn own_session(context: &TestContext, id: &str) {
    let store = HistoryStore::open(context.home().join("sessions.db")).expect("a store");
    let beginning =
        NewSession { id: Some(id.into()), source: "run".into(), ..NewSession::default() };
    store.begin(&beginning).expect("a session");
    store.append(id, &ChatMessage::user("Said here")).expect("a message");
}

fn listed(context: &TestContext, more: &[&str]) -> Vec<(String, Value)> {
    let args = [&["sessions", "list", "--json"], more].concat();
    let listed = context.run(args).succeeds().json();
    let rows = listed["sessions"].as_array().expect("sessions");
    let id = |row: &Value| row["id"].as_str().expect("an id").to_owned();
    rows.iter().map(|row| (id(row), row["imported"].clone())).collect()
}

#[test]
fn conversations_of_hermes_agent_are_listed_without_importing_them() {
    let context = with_conversations();
    let not_imported = |id: &str| (id.to_owned(), json!(false));
    assert_eq!(listed(&context, &[]), [not_imported(CHAT), not_imported(GARDEN)]);
    assert_eq!(listed(&context, &["-n", "1"]), [not_imported(CHAT)]);
    let all = listed(&context, &["--all"]);
    assert_eq!(all, [ARCHIVED, CHAT, HELPER, GARDEN].map(not_imported));
    assert_eq!(listed(&context, &["--source", "run"]), []);
    assert_eq!(listed(&context, &["--since", "2026-02-01"]), []);
    let table = context.run(["sessions", "list"]).succeeds().stdout;
    assert!(table.contains("hermes-agent") && table.contains("Garden plan"), "{table}");
    assert!(!context.home().join("sessions.db").exists(), "a list imports nothing");
    assert!(!context.home().join("state.db-wal").exists());

    own_session(&context, "own_session");
    let merged = listed(&context, &["-n", "2"]);
    assert_eq!(merged, [("own_session".to_owned(), Value::Null), not_imported(CHAT)]);
}

#[test]
fn import_copies_all_conversations_once_and_later_what_is_new() {
    let context = with_conversations();
    let import = |ids: &[&str]| {
        let args = [&["--json", "sessions", "import"], ids].concat();
        context.run(args).succeeds().json()
    };
    let counts = |imported: u32, updated: u32, unchanged: u32, messages: u32| {
        json!({ "schema_version": 1, "imported": imported, "updated": updated,
                "unchanged": unchanged, "messages": messages })
    };
    assert_eq!(import(&[GARDEN]), counts(1, 0, 0, 6));
    assert_eq!(import(&[]), counts(2, 0, 1, 6));
    assert_eq!(listed(&context, &[]), [CHAT, GARDEN].map(|id| (id.to_owned(), Value::Null)));
    write_state(
        &context,
        &format!(
            "INSERT INTO messages (session_id, role, content, timestamp) \
             VALUES ('{CHAT}', 'user', 'And snow?', 1768480000)"
        ),
    );
    assert_eq!(import(&[]), counts(0, 1, 2, 1));
    let found = context.run(["sessions", "search", "snow", "--json"]).succeeds().json();
    assert_eq!(found["hits"][0]["session_id"], CHAT);
    let said = context.run(["sessions", "import"]).succeeds().stderr;
    assert!(said.contains("0 new sessions, 0 updated, 3 unchanged"), "{said}");
    context.run(["sessions", "import", "nothing_like_it"]).exits(1);

    context.run(["sessions", "delete", CHAT, "--yes"]).succeeds();
    assert_eq!(listed(&context, &[]).len(), 1, "what was deleted does not come back");
    assert_eq!(import(&[]), counts(0, 0, 2, 0));
    assert_eq!(import(&[CHAT]), counts(1, 0, 0, 5));
}

#[test]
fn a_conversation_is_imported_when_a_command_names_it() {
    let context = with_conversations();
    let shown = context.run(["sessions", "show", GARDEN]).succeeds().stdout;
    assert!(shown.contains("→ terminal {\"command\": \"ls\"}"), "{shown}");
    assert!(shown.contains("Tomatoes 🍅.") && !shown.contains("Dig everything up"), "{shown}");
    let lines = context.run(["sessions", "export", "20260115_095"]).succeeds().json_lines();
    assert_eq!((lines.len(), &lines[0]["source"]), (5, &json!("hermes-agent")));
    assert_eq!(
        context.run(["sessions", "resume", HELPER]).succeeds().stdout,
        format!("{HELPER}\n")
    );
    assert_eq!(listed(&context, &["--all"]).iter().filter(|row| row.1 == false).count(), 1);
}

#[test]
fn without_other_sessions_last_is_of_hermes_agent() {
    let context = with_conversations();
    own_session(&context, "20260115_own_one");
    let resumed = context.run(["sessions", "resume", "last"]).succeeds().stdout;
    assert_eq!(resumed, "20260115_own_one\n");
    let ambiguous = context.run(["sessions", "show", "20260115"]);
    assert!(ambiguous.stderr.contains("Several session ids"), "{}", ambiguous.stderr);
    context.run(["sessions", "delete", "20260115_own_one", "--yes"]).succeeds();
    assert_eq!(context.run(["sessions", "resume"]).succeeds().stdout, format!("{CHAT}\n"));
}

#[test]
fn a_conversation_of_hermes_agent_is_continued_and_not_deleted() {
    let server = ModelServer::start(vec![ScriptedReply::says("Potatoes too.")]);
    let context = with_conversations();
    let url = server.url();
    context.settings(format!(
        "model:\n  default: scripted\n  base_url: {url}\n  context_length: 32000\n"
    ));
    let refused = context.run(["sessions", "delete", GARDEN, "--yes"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("conversation of Hermes Agent"), "{}", refused.stderr);
    let run = context.run(["run", "--resume", GARDEN, "What else grows?"]).succeeds();
    assert_eq!(run.stdout, "Potatoes too.\n");
    let asked = server.model_requests()[0]["messages"].clone();
    let roles: Vec<&str> = asked
        .as_array()
        .expect("messages")
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    let prior = ["user", "assistant", "tool", "assistant", "user", "assistant"];
    assert_eq!(roles, [&["system"], &prior[..], &["user"]].concat());
    assert!(!asked.to_string().contains("You are Hermes Agent."), "its own system prompt");
    let shown = context.run(["sessions", "show", GARDEN, "--json"]).succeeds().json();
    assert_eq!(shown["messages"].as_array().map(Vec::len), Some(8));
}

#[test]
fn an_unreadable_database_of_hermes_agent_affects_nothing_else() {
    let context = TestContext::new();
    own_session(&context, "own_session");
    let state = context.home().join("state.db");
    for content in ["", "no database at all ".repeat(500).as_str()] {
        std::fs::write(&state, content).expect("a file");
        let listed = context.run(["sessions", "list"]).succeeds();
        assert!(listed.stdout.contains("own_session"), "{}", listed.stdout);
        assert_eq!(
            listed.stderr.contains("Hermes Agent"),
            !content.is_empty(),
            "{}",
            listed.stderr
        );
        context.run(["sessions", "show", "own_session"]).succeeds();
        context.run(["sessions", "show", "own_"]).succeeds();
        context.run(["sessions", "resume", "last"]).succeeds();
        assert_eq!(std::fs::read_to_string(&state).expect("a file"), content);
    }
    let failed = context.run(["sessions", "import"]);
    assert_ne!(failed.code, 0);
    assert!(failed.stderr.contains("cannot read the conversations"), "{}", failed.stderr);
}
