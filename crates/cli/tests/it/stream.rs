//! `hermes exec` as a session: each request is answered while standard input
//! stays open.

use serde_json::json;

use crate::context::TestContext;

fn todo(id: &str) -> String {
    let item = json!({ "id": id, "content": id, "status": "pending" });
    let call = json!({ "id": id, "name": "todo", "arguments": { "merge": true, "todos": [item] } });
    json!({ "tool_calls": [call] }).to_string()
}

#[test]
fn each_line_is_answered_before_the_next_is_written() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    for (at, id) in ["a", "b", "c"].into_iter().enumerate() {
        stream.send(&format!("{}\n", todo(id)));
        let answer = stream.answer();
        assert_eq!(answer["tool_results"][0]["tool_call_id"], id);
        assert_eq!(
            answer["tool_results"][0]["content"]["summary"]["total"],
            at + 1,
            "one session: {answer}"
        );
    }
    let run = stream.end().succeeds().silent();
    assert_eq!(run.stdout, "", "nothing is left to be said");
}

#[test]
fn a_bad_line_is_answered_and_the_session_goes_on() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    stream.send(&format!("{}\n", todo("a")));
    stream.answer();
    for bad in ["oops", "\"text\"", "{\"a\":1}}", "[1]", "42", "null"] {
        stream.send(&format!("{bad}\n{}\n", todo("b")));
        let error = stream.answer();
        assert_eq!(error["kind"], "invalid_arguments", "{bad}: {error}");
        let answer = stream.answer();
        assert_eq!(
            answer["tool_results"][0]["content"]["status"], "success",
            "after {bad}: {answer}"
        );
    }
    stream.end().exits(2);
}

#[test]
fn a_document_of_many_lines_is_answered_with_its_last_line() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    let value: serde_json::Value = serde_json::from_str(&todo("a")).expect("JSON");
    stream.send(&serde_json::to_string_pretty(&value).expect("JSON"));
    stream.send("\n");
    assert_eq!(stream.answer()["tool_results"][0]["tool_call_id"], "a");
    stream.send(&format!("{}\n", todo("b")));
    assert_eq!(stream.answer()["tool_results"][0]["content"]["summary"]["total"], 2);
    stream.end().succeeds();
}

#[test]
fn tool_call_text_is_answered_when_its_block_is_closed() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    stream.send("<tool_call>\n{\"name\": \"todo\",\n \"arguments\": {}}\n</tool_call>\n");
    assert_eq!(stream.line(), "<tool_response>");
    assert_eq!(stream.answer()["name"], "todo");
    assert_eq!(stream.line(), "</tool_response>");
    stream.end().succeeds();
}

#[test]
fn a_last_line_without_an_end_is_answered_too() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    stream.send(&todo("a"));
    let run = stream.end().succeeds();
    assert_eq!(run.json()["tool_results"][0]["tool_call_id"], "a");
}

#[test]
fn two_processes_share_a_session_while_both_are_open() {
    let context = TestContext::new();
    let mut first = context.stream(["exec", "--session", "pair"]);
    let mut second = context.stream(["exec", "--session", "pair"]);
    first.send(&format!("{}\n", todo("a")));
    first.answer();
    second.send(&format!("{}\n", todo("b")));
    assert_eq!(second.answer()["tool_results"][0]["content"]["summary"]["total"], 2);
    first.send("{\"tool_calls\":[{\"id\":\"r\",\"name\":\"todo\"}]}\n");
    assert_eq!(first.answer()["tool_results"][0]["content"]["summary"]["total"], 2);
    first.end().succeeds();
    second.end().succeeds();
}
