#![allow(clippy::unwrap_used)]

use hermes_core::CallArguments;
use serde_json::{Value, json};

use super::*;

fn names(text: &str) -> Vec<String> {
    read_text_calls(text).unwrap().into_iter().map(|draft| draft.name).collect()
}

fn only(text: &str) -> CallDraft {
    let mut drafts = read_text_calls(text).unwrap();
    assert_eq!(drafts.len(), 1, "{text}");
    drafts.remove(0)
}

fn json_call(name: &str, arguments: Value) -> CallDraft {
    CallDraft { id: None, name: name.to_owned(), arguments: CallArguments::Json(arguments) }
}

#[test]
fn blocks_are_found_anywhere_in_prose() {
    let text = r#"First <tool_call>{"name":"a"}</tool_call> then
<tool_call id="7">
{"name": "b"}
</tool_call>
```json
<tool_call>```json
{"name":"c"}
```</tool_call>
``` and <tool_call>[{"name":"d"},{"name":"e"}]</tool_call><tool_callable> bye"#;
    assert_eq!(names(text), ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_closing_tag_in_a_string_closes_nothing() {
    let text = r#"<tool_call>{"name":"a","arguments":{"x":"</tool_call> \" <tool_call>"}}</tool_call><tool_call>{"name":"b"}</tool_call>"#;
    assert_eq!(names(text), ["a", "b"]);
    let draft = read_text_calls(text).unwrap().remove(0);
    assert_eq!(draft, json_call("a", json!({"x": "</tool_call> \" <tool_call>"})));
}

#[test]
fn a_broken_block_leaves_the_next_one_alone() {
    for broken in [
        r#"{"name":"a","arguments":{"x":1}"#,
        r#"{"name":"a","arguments":{"x":1,}}"#,
        r#"{"name":"a","arguments":{"x":"no quote}}"#,
        r#"{"name":"a","arguments":{"x":"say "hi""}}"#,
        r#"{"name":"a","arguments":{"x":"#,
        r#"{"name":"a","arguments":{}}}}"#,
        r#"{"name":"a","arguments":{}} and more"#,
    ] {
        let text =
            format!("<tool_call>{broken}</tool_call>\n<tool_call>{{\"name\":\"b\"}}</tool_call>");
        assert_eq!(names(&text), ["a", "b"], "{broken}");
        let unclosed = format!("<tool_call>{broken}\n<tool_call>{{\"name\":\"b\"}}</tool_call>");
        assert_eq!(names(&unclosed), ["a", "b"], "{broken}");
    }
}

#[test]
fn a_text_that_is_cut_off_keeps_the_text_of_its_last_call() {
    let draft = only(r#"<tool_call>{"name":"a","arguments":{"x":"one two"#);
    assert_eq!(draft, CallDraft::from_text("a", r#"{"x":"one two"#));
    let draft = only(r#"<tool_call>{"name":"a","arguments":{"x":1}}"#);
    assert_eq!(draft, json_call("a", json!({"x": 1})));
    let draft = only("<tool_call>");
    assert_eq!(draft, CallDraft::from_text("", ""));
}

#[test]
fn python_and_xml_styles_are_understood() {
    let draft = only("<tool_call>{'name': 'a', 'arguments': {'x': 'b'}}</tool_call>");
    assert_eq!(draft, CallDraft::from_text("a", "{'x': 'b'}"));
    let draft = only(
        "<tool_call>\n<function=a>\n<parameter=x>\n</tool_call>\n</parameter>\n</function>\n</tool_call>",
    );
    assert_eq!(draft, json_call("a", json!({"x": "</tool_call>"})));
    let two = "<tool_call><function=a></tool_call><tool_call><function=b></function></tool_call>";
    assert_eq!(names(two), ["a", "b"]);
}

#[test]
fn thoughts_are_not_calls() {
    let text = r#"<think>I could <tool_call>{"name":"a"}</tool_call></think><tool_call>{"name":"b","arguments":{"x":"<think>"}}</tool_call><think>"#;
    assert_eq!(names(text), ["b"]);
    let open = r#"<think>hm <tool_call>{"name":"a"}</tool_call>"#;
    assert_eq!(names(open), ["a"]);
}

#[test]
fn a_text_is_settled_when_no_more_can_change_it() {
    let table = [
        ("", false),
        ("prose", false),
        (r#"<tool_call>{"name":"a"}"#, false),
        (r#"<tool_call>{"name":"a"}</tool_call>"#, true),
        (r#"<tool_call>{"name":"a"}</tool_call> and"#, true),
        (r#"<tool_call>{"name":"a"}</tool_call><tool_call>"#, false),
        (r#"<tool_call>{"name":"</tool_call>"#, false),
        (r#"<tool_call>{"name":</tool_call>"#, true),
        ("<tool_call>name</tool_call>", true),
        (r#"<think><tool_call>{"name":"a"}</tool_call>"#, false),
        (r#"<think></think><tool_call>{"name":"a"}</tool_call>"#, true),
    ];
    for (text, settled) in table {
        assert_eq!(blocks::find_blocks(text).is_settled, settled, "{text}");
    }
}

/// Each of these made a search run to the end of the text for every block.
#[test]
fn hostile_texts_cost_linear_time() {
    for piece in [
        "<tool_call>",
        "<tool_call>{",
        "<tool_call>{\"",
        "<tool_call>{'a\":\"",
        "<tool_call>{\"':\"",
        "<tool_call>{\"a\":'",
        "<tool_call><function=",
        "<tool_call> ",
        "<think>",
        "<tool_call>{\"\\",
    ] {
        let text = piece.repeat((4 << 20) / piece.len());
        let read = read_text_calls(&text);
        assert!(matches!(
            read,
            Err(ProtocolError::TooManyCalls { .. } | ProtocolError::NoCalls { .. })
        ));
    }
}
