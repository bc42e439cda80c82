//! `hermes exec` on whole documents: every dialect and every input.

use serde_json::{Value, json};

use crate::context::{TestContext, assert_fields};

const ENVELOPE: &str = r#"{"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":{"path":"notes.txt"}}}]}"#;
const CHAT: &str = r#"{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"notes.txt\"}"}}]}"#;
const RESPONSES: &str = r#"[{"type":"function_call","call_id":"call_1","name":"read_file","arguments":"{\"path\":\"notes.txt\"}"}]"#;
const ANTHROPIC: &str = r#"{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"call_1","name":"read_file","input":{"path":"notes.txt"}}]}"#;
const HERMES: &str = "I look.\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"notes.txt\"}}\n</tool_call>\n";

fn with_notes() -> TestContext {
    let context = TestContext::new();
    context.file("notes.txt", "one\n");
    context
}

/// The result of the tool, which some dialects carry as a string.
fn inner(text: &Value) -> Value {
    serde_json::from_str(text.as_str().expect("a text")).expect("a result")
}

#[test]
fn the_envelope_is_answered_by_tool_results_with_a_status() {
    let context = with_notes();
    for args in [
        vec!["exec"],
        vec!["exec", "--json"],
        vec!["exec", "-"],
        vec!["exec", "--dialect", "envelope"],
    ] {
        let answer = context.feed(args, ENVELOPE).succeeds().silent().json();
        let result = &answer["tool_results"][0];
        assert_fields(result, &["tool_call_id", "role", "name", "content"]);
        assert_eq!(result["tool_call_id"], "call_1");
        assert_eq!(result["role"], "tool");
        assert_eq!(result["name"], "read_file");
        assert_eq!(result["content"]["status"], "success");
        assert_eq!(result["content"]["content"], "1|one");
    }
}

#[test]
fn openai_chat_is_answered_by_tool_messages() {
    let answer = with_notes().feed(["exec"], CHAT).succeeds().json();
    assert_eq!(answer[0]["role"], "tool");
    assert_eq!(answer[0]["tool_call_id"], "call_1");
    assert_eq!(inner(&answer[0]["content"])["content"], "1|one");
}

#[test]
fn openai_responses_is_answered_by_output_items() {
    let answer = with_notes().feed(["exec"], RESPONSES).succeeds().json();
    assert_eq!(answer[0]["type"], "function_call_output");
    assert_eq!(answer[0]["call_id"], "call_1");
    assert_eq!(inner(&answer[0]["output"])["content"], "1|one");
}

#[test]
fn anthropic_is_answered_by_a_message_of_tool_results() {
    let context = with_notes();
    let answer = context.feed(["exec"], ANTHROPIC).succeeds().json();
    assert_eq!(answer["role"], "user");
    assert_eq!(answer["content"][0]["type"], "tool_result");
    assert_eq!(answer["content"][0]["tool_use_id"], "call_1");
    assert_eq!(inner(&answer["content"][0]["content"])["content"], "1|one");

    let failing = ANTHROPIC.replace("notes.txt", "absent.txt");
    let answer = context.feed(["exec"], failing).exits(1).json();
    assert_eq!(answer["content"][0]["is_error"], true);
}

#[test]
fn tool_call_text_is_answered_by_tool_response_text() {
    let run = with_notes().feed(["exec"], HERMES).succeeds();
    let body = run
        .stdout
        .strip_prefix("<tool_response>\n")
        .and_then(|t| t.strip_suffix("\n</tool_response>\n"));
    let value: Value = serde_json::from_str(body.expect("one block")).expect("JSON in it");
    assert_eq!(value["name"], "read_file");
    assert_eq!(value["content"]["content"], "1|one");
}

#[test]
fn the_dialect_can_be_insisted_on() {
    let context = with_notes();
    let error = context
        .feed(["exec", "--dialect", "openai"], ANTHROPIC)
        .exits(2)
        .error("invalid_arguments");
    assert!(error.message.contains("'anthropic', not 'openai'"), "{error:?}");

    let run = context.feed(["exec", "--dialect", "opnai"], ENVELOPE).exits(2);
    assert!(
        run.stderr.contains("envelope, openai, responses, anthropic, hermes"),
        "{}",
        run.stderr
    );
    assert_eq!(run.stdout, "");
}

#[test]
fn a_file_may_hold_a_document_of_many_lines() {
    let context = with_notes();
    let value: Value = serde_json::from_str(ENVELOPE).expect("JSON");
    context.file("calls.json", serde_json::to_string_pretty(&value).expect("JSON"));
    let answer = context.run(["exec", "calls.json"]).succeeds().json();
    assert_eq!(answer["tool_results"][0]["content"]["content"], "1|one");
}

#[test]
fn a_file_may_hold_lines_of_every_dialect() {
    let context = with_notes();
    context.file("calls.jsonl", [ENVELOPE, CHAT, "", RESPONSES, ANTHROPIC].join("\n"));
    let answers = context.run(["exec", "calls.jsonl"]).succeeds().json_lines();
    assert_eq!(answers.len(), 4);
    assert!(answers[0].get("tool_results").is_some());
    assert_eq!(answers[1][0]["role"], "tool");
    assert_eq!(answers[2][0]["type"], "function_call_output");
    assert_eq!(answers[3]["role"], "user");
}

#[test]
fn bad_lines_are_answered_in_their_place() {
    let context = with_notes();
    let input = [ENVELOPE, "not json at all", "{\"colour\":\"green\"}", ENVELOPE].join("\n");
    let answers = context.feed(["exec"], input).exits(2).json_lines();
    let kinds: Vec<&str> =
        answers.iter().map(|a| a["kind"].as_str().unwrap_or("answered")).collect();
    assert_eq!(kinds, ["answered", "invalid_arguments", "invalid_arguments", "answered"]);
    assert_eq!(answers[1]["line"], 2);
    for error in &answers[1..3] {
        assert_fields(error, &["error", "kind", "hint"]);
    }
}

#[test]
fn every_call_gets_one_answer_in_the_order_of_the_calls() {
    let context = with_notes();
    let request = json!({ "tool_calls": [
        { "id": "slow", "name": "sleep", "arguments": { "seconds": 0.1 } },
        { "id": "twice", "name": "todo", "arguments": {} },
        { "id": "twice", "name": "todo" },
        { "id": "unknown", "name": "no_such_thing_at_all" },
        { "id": "nameless", "name": "" },
        { "id": "wrong", "name": "read_file", "arguments": [1, 2] },
        { "name": "todo" },
        {},
    ]});
    let answer = context.feed(["exec"], request.to_string()).exits(1).json();
    let results = answer["tool_results"].as_array().expect("results");
    let seen: Vec<(&str, &str)> = results
        .iter()
        .map(|r| {
            (
                r["tool_call_id"].as_str().expect("an id"),
                r["content"]["status"].as_str().expect("a status"),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("slow", "success"),
            ("twice", "success"),
            ("twice", "success"),
            ("unknown", "error"),
            ("nameless", "error"),
            ("wrong", "error"),
            ("call_7", "success"),
            ("call_8", "error"),
        ]
    );
}

#[test]
fn only_tools_of_the_named_toolsets_are_answered() {
    let context = with_notes();
    let request = json!({ "tool_calls": [
        { "id": "in", "name": "todo", "arguments": {} },
        { "id": "out", "name": "read_file", "arguments": { "path": "notes.txt" } },
        { "id": "around", "name": "tool_call", "arguments": { "name": "read_file", "arguments": { "path": "notes.txt" } } },
    ]});
    let answer = context.feed(["exec", "--toolsets", "todo"], request.to_string()).exits(1).json();
    let status = |at: usize| answer["tool_results"][at]["content"]["status"].clone();
    assert_eq!([status(0), status(1), status(2)], ["success", "error", "error"]);

    let run = context.feed(["exec", "--toolsets", "tod"], ENVELOPE).exits(2);
    assert!(run.stderr.contains("Did you mean 'todo'"), "{}", run.stderr);
}

#[test]
fn toolsets_that_the_settings_switch_off_are_not_answered() {
    let context = with_notes();
    context.settings("agent:\n  disabled_toolsets: [file]\n");
    for args in [vec!["exec"], vec!["exec", "--toolsets", "file,todo"]] {
        let answer = context.feed(args, ENVELOPE).exits(1).json();
        assert_eq!(answer["tool_results"][0]["content"]["kind"], "not_found");
    }
}

#[test]
fn the_exit_code_is_that_of_the_failures_if_they_agree() {
    let context = with_notes();
    let denied = ENVELOPE.replace("notes.txt", "/proc/self/environ");
    let missing = ENVELOPE.replace("notes.txt", "absent.txt");
    context.feed(["exec"], format!("{ENVELOPE}\n{denied}\n{denied}")).exits(3);
    context.feed(["exec"], format!("{denied}\n{missing}")).exits(1);
    context.feed(["exec"], "nonsense").exits(2);
    context.feed(["exec"], format!("nonsense\n{missing}")).exits(1);
}

#[test]
fn the_time_of_a_request_is_its_own() {
    let context = TestContext::new();
    let line = r#"{"tool_calls":[{"id":"1","name":"sleep","arguments":{"seconds":0.5}}]}"#;
    let answers =
        context.feed(["exec", "--timeout", "1.2"], [line; 3].join("\n")).succeeds().json_lines();
    assert_eq!(answers.len(), 3, "together they took longer than each may");
}

#[test]
fn a_call_that_runs_out_of_time_leaves_the_others_alone() {
    let context = TestContext::new();
    let request = r#"{"tool_calls":[{"id":"1","name":"system_info","arguments":{"sections":["cpu"]}},{"id":"2","name":"todo"}]}"#;
    let answer = context.feed(["exec", "--timeout", "0.15"], request).exits(1).json();
    assert_eq!(answer["tool_results"][0]["content"]["kind"], "timeout");
    assert_eq!(answer["tool_results"][1]["tool_call_id"], "2");
}

#[test]
fn the_loop_guard_follows_the_settings() {
    let context = with_notes();
    context.settings("tool_loop_guardrails:\n  hard_stop_enabled: true\n  hard_stop_after:\n    idempotent_no_progress: 2\n");
    let list = r#"{"tool_calls":[{"id":"call_1","name":"directory_list","arguments":{}}]}"#;
    let answers = context.feed(["exec"], [list; 3].join("\n")).exits(3).json_lines();
    assert_eq!(answers[1]["tool_results"][0]["content"]["status"], "success");
    assert_eq!(answers[2]["tool_results"][0]["content"]["kind"], "denied");
}

#[test]
fn a_large_result_is_kept_in_a_file_that_can_be_read_on() {
    let context = TestContext::new();
    context.settings("model:\n  context_length: 1000\n");
    for number in 0..300 {
        context.file(&format!("file-with-a-long-name-{number:03}.txt"), "");
    }
    let request =
        r#"{"tool_calls":[{"id":"1","name":"directory_list","arguments":{"limit":300}}]}"#;
    let run = context.feed(["exec"], request).succeeds();
    assert!(run.stdout.len() < 10_000, "the answer is bounded: {} bytes", run.stdout.len());
    let spilled = run.json()["tool_results"][0]["content"]["spilled"].clone();
    let path = spilled["path"].as_str().unwrap_or_else(|| panic!("no path: {spilled}"));
    assert!(std::path::Path::new(path).starts_with(context.home()), "{path}");
    let rest =
        context.run(["call", "read_file", &format!("path={path}"), "offset=-20"]).succeeds().json();
    assert!(rest["content"].as_str().is_some_and(|text| text.contains("name-299")), "{rest}");
}

#[test]
fn a_function_that_a_bash_interpreter_was_told_of_is_judged_by_what_it_does() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    let mut ask = |arguments: serde_json::Value| {
        let call = json!({ "id": "1", "name": "repl", "arguments": arguments });
        stream.send(&(json!({ "tool_calls": [call] }).to_string() + "\n"));
        stream.answer()["tool_results"][0]["content"].clone()
    };
    let mut bash = |code: &str| ask(json!({ "language": "sh", "code": code }));
    let shown = bash("greet() { echo \"hello $1\"; }");
    assert_eq!(shown["tool_status"], "ok", "{shown}");
    let greeted = bash("greet you");
    assert_eq!(greeted["stdout"], "hello you\n", "{greeted}");
    let unknown = bash("meet you");
    assert_eq!(unknown["exit_code"], 127, "{unknown}");
    assert_eq!(bash("exit")["tool_status"], "ended");
    let gone = bash("greet you");
    assert_eq!(gone["exit_code"], 127, "{gone}");
    stream.close();
    stream.end();
}
