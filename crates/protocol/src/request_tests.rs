#![allow(clippy::unwrap_used)]

use hermes_core::CallArguments;
use serde_json::json;

use super::*;

fn call(id: &str, name: &str, arguments: serde_json::Value) -> ToolCall {
    ToolCall::new(id, name, arguments)
}

/// What each text is told to be.
#[test]
fn the_dialect_is_told_from_the_text() {
    use CallDialect::{Anthropic, Envelope, HermesText, OpenAiChat, OpenAiResponses};
    let table = [
        (r#"{"tool_calls":[]}"#, Envelope, 0),
        (r#"{"tool_calls":[{"function":{"name":"f","arguments":{}}}]}"#, Envelope, 1),
        (r#"{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#, OpenAiChat, 1),
        (r#"{"tool_calls":[{"name":"f"},{"name":"f","arguments":"{}"}]}"#, OpenAiChat, 2),
        (r#"{"tool_calls":[{"name":"f","args":{}},{"name":"f","arguments":"{}"}]}"#, Envelope, 2),
        (r#"{"tool_calls":{"name":"f","arguments":{}}}"#, Envelope, 1),
        (
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
            OpenAiChat,
            1,
        ),
        (
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{}}}]}"#,
            Envelope,
            1,
        ),
        (
            r#"{"object":"chat.completion","choices":[{"message":{"content":"hm"}},{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
            OpenAiChat,
            1,
        ),
        (
            r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]}}"#,
            Envelope,
            1,
        ),
        (
            r#"{"output":[{"type":"reasoning"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}"#,
            OpenAiResponses,
            1,
        ),
        (
            r#"[{"type":"message"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]"#,
            OpenAiResponses,
            1,
        ),
        (
            r#"{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}"#,
            OpenAiResponses,
            1,
        ),
        (
            r#"{"role":"assistant","content":[{"type":"text","text":"hm"},{"type":"tool_use","id":"a","name":"f","input":{}}]}"#,
            Anthropic,
            1,
        ),
        (
            r#"[{"type":"text","text":"hm"},{"type":"tool_use","id":"a","name":"f","input":{}}]"#,
            Anthropic,
            1,
        ),
        (r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#, Anthropic, 1),
        ("[]", Envelope, 0),
        (r#"[{"name":"f","arguments":{}},7]"#, Envelope, 2),
        (r#"{"name":"f","arguments":{}}"#, Envelope, 1),
        (r#"{"name":"f","arguments":"{}"}"#, Envelope, 1),
        (r#"{"id":"a","type":"function","function":{"name":"f","arguments":{}}}"#, Envelope, 1),
        (
            r#"[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]"#,
            OpenAiChat,
            1,
        ),
        (r#"{"tool":"f","args":{}}"#, Envelope, 1),
        (r#"{"tool":"f","parameters":{}}"#, Envelope, 1),
        (r#"{"tool":"f","input":{}}"#, Envelope, 1),
        (r#"<tool_call>{"name":"f","arguments":{}}</tool_call>"#, HermesText, 1),
        ("Let me see.\n<tool_call>\n{\"name\":\"f\"}\n</tool_call>", HermesText, 1),
        (
            r#"{"role":"assistant","content":"hm <tool_call>{\"name\":\"f\"}</tool_call>"}"#,
            HermesText,
            1,
        ),
        (
            r#"{"role":"assistant","tool_calls":[],"content":"<tool_call>{\"name\":\"f\"}</tool_call>"}"#,
            HermesText,
            1,
        ),
        (
            r#"{"choices":[{"message":{"role":"assistant","content":"<tool_call>{\"name\":\"f\"}</tool_call>"}}]}"#,
            HermesText,
            1,
        ),
        ("\u{feff} \n {\"tool_calls\":[]}", Envelope, 0),
    ];
    for (text, dialect, calls) in table {
        let request = parse(text, None).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!((request.dialect, request.calls.len()), (dialect, calls), "{text}");
    }
}

#[test]
fn a_call_is_read_from_any_of_its_spellings() {
    let expected = vec![call("a", "f", json!({"x": 1}))];
    for text in [
        r#"{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{"x":1}}}]}"#,
        r#"{"tool_calls":[{"id":"a","name":"f","arguments":{"x":1}}]}"#,
        r#"{"tool_calls":[{"id":"a","function":"f","arguments":{"x":1}}]}"#,
        r#"{"tool_calls":[{"id":"a","function":{"name":"f"},"arguments":{"x":1}}]}"#,
        r#"{"tool_calls":[{"id":"a","name":"g","name":"f","parameters":{"x":1}}]}"#,
        r#"{"content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1}}]}"#,
        r#"[{"type":"function_call","id":"fc_9","call_id":"a","name":"f","arguments":{"x":1}}]"#,
        r#"<tool_call>{"arguments":{"x":1},"name":"f","id":"a"}</tool_call>"#,
    ] {
        assert_eq!(parse(text, None).unwrap().calls, expected, "{text}");
    }
}

#[test]
fn one_bad_call_does_not_sink_the_batch() {
    let text = r#"{"tool_calls":[
        7, "f", null, [], {},
        {"id":"a","name":"f","arguments":[1]},
        {"id":"b","arguments":{"x":1}},
        {"id":"c","name":12,"arguments":true},
        {"id":"d","name":"f","arguments":null},
        {"id":"e","name":"f","arguments":{"x":1e999}},
        {"id":"f","name":"f","arguments":{"x":"\ud800"}},
        {"id":"g","name":"f","arguments":"{\"x\":"},
        {"id":"h","name":"f","arguments":{"x":2}}
    ]}"#;
    let calls = parse(text, None).unwrap().calls;
    let ids: Vec<_> = calls.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(
        ids,
        ["call_1", "call_2", "call_3", "call_4", "call_5", "a", "b", "c", "d", "e", "f", "g", "h"]
    );
    assert_eq!(calls[0], call("call_1", "", json!(7)));
    assert_eq!(calls[1], ToolCall::from_text("call_2", "", "f"));
    assert_eq!(calls[4], call("call_5", "", json!({})));
    assert_eq!(calls[5], call("a", "f", json!([1])));
    assert_eq!(calls[6], call("b", "", json!({"x": 1})));
    assert_eq!(calls[7], call("c", "", json!(true)));
    assert_eq!(calls[8], call("d", "f", json!({})));
    assert_eq!(calls[9], ToolCall::from_text("e", "f", r#"{"x":1e999}"#));
    assert_eq!(calls[10], ToolCall::from_text("f", "f", r#"{"x":"\ud800"}"#));
    assert_eq!(calls[11], ToolCall::from_text("g", "f", "{\"x\":"));
    assert_eq!(calls[12], call("h", "f", json!({"x": 2})));
}

#[test]
fn made_ids_never_meet_given_ones() {
    let text = r#"[{"name":"f"},{"id":"call_1","name":"f"},{"id":"","name":"f"},{"id":7,"name":"f"},
        {"id":"call_3","name":"f"},{"id":"call_1","name":"f"},{"id":{},"name":"f"}]"#;
    let ids: Vec<_> = parse(text, None).unwrap().calls.into_iter().map(|c| c.id).collect();
    assert_eq!(ids, ["call_1_2", "call_1", "call_3_2", "7", "call_3", "call_1", "call_7"]);
}

#[test]
fn a_wanted_dialect_decides_between_what_fits() {
    let bare = r#"[{"id":"a","name":"f","arguments":{}}]"#;
    for dialect in CallDialect::ALL {
        assert_eq!(parse(bare, Some(dialect)).unwrap().dialect, dialect);
    }
    let list = CallDialect::Envelope.example();
    assert_eq!(
        parse(list, Some(CallDialect::OpenAiChat)).unwrap().dialect,
        CallDialect::OpenAiChat
    );
    for wanted in [CallDialect::Anthropic, CallDialect::OpenAiResponses, CallDialect::HermesText] {
        let found = CallDialect::Envelope;
        assert_eq!(parse(list, Some(wanted)), Err(ProtocolError::WrongDialect { wanted, found }));
    }
    let text = CallDialect::HermesText.example();
    let (wanted, found) = (CallDialect::OpenAiChat, CallDialect::HermesText);
    assert_eq!(parse(text, Some(wanted)), Err(ProtocolError::WrongDialect { wanted, found }));
    assert!(matches!(parse("hello", Some(wanted)), Err(ProtocolError::Syntax { .. })));
    let prose = "[1] I call <tool_call>{\"name\":\"f\"}</tool_call>";
    assert!(matches!(parse(prose, None), Err(ProtocolError::Syntax { .. })));
    assert_eq!(parse(prose, Some(CallDialect::HermesText)).unwrap().calls.len(), 1);
}

#[test]
fn quoted_tags_are_not_calls() {
    let tag = r#"<tool_call>{\"name\":\"f\"}</tool_call>"#;
    for role in ["user", "tool", "system"] {
        let text = format!(r#"{{"role":"{role}","content":"{tag}"}}"#);
        assert!(matches!(parse(&text, None), Err(ProtocolError::NoCalls { .. })), "{text}");
    }
    let written = format!(r#"{{"tool":"write_file","args":{{"path":"a"}},"content":"{tag}"}}"#);
    assert_eq!(
        parse(&written, None).unwrap().calls,
        [call("call_1", "write_file", json!({"path": "a"}))]
    );
    let cut = format!(r#"{{"tool_calls":[{{"name":"write_file","arguments":{{"content":"{tag}"#);
    assert!(matches!(parse(&cut, None), Err(ProtocolError::Syntax { .. })));
}

#[test]
fn what_is_no_request_is_described() {
    let said = |text: &str| {
        let error = parse(text, None).unwrap_err();
        format!("{error}")
    };
    insta::assert_snapshot!(said(" \n"), @"The request is empty");
    insta::assert_snapshot!(said("{}"), @"This is not a tool-call request: found an empty object: `{}`");
    insta::assert_snapshot!(said("42"), @"This is not a tool-call request: found a number: `42`");
    insta::assert_snapshot!(said(r#""f""#), @r#"This is not a tool-call request: found a string: `"f"`"#);
    insta::assert_snapshot!(said("[1,2]"), @"This is not a tool-call request: found an array: `[1,2]`");
    insta::assert_snapshot!(said(r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}"#), @"This is not a tool-call request: found an object with the keys `a`, `b`, `c`, `d`, `e`, `f`, …");
    insta::assert_snapshot!(said(r#"{"tool_calls":"f"}"#), @"This is not a tool-call request: found `tool_calls` that is a string, not a list");
    insta::assert_snapshot!(said(r#"{"role":"assistant","content":"Done."}"#), @"The reply calls no tool: found an object with the keys `role`, `content`");
    insta::assert_snapshot!(said("<tool_calls>{}</tool_calls>"), @"The reply calls no tool: found text without a <tool_call>: `<tool_calls>{}</tool_calls>`");
    insta::assert_snapshot!(said("hello"), @"The request is not valid JSON: expected value at line 1, column 1, near `hello`");
}

#[test]
fn bytes_that_are_not_text_are_placed() {
    let error = parse_bytes(b"{\"a\":\n\"\xff\"}", None).unwrap_err();
    assert_eq!(error, ProtocolError::NotUtf8 { offset: 7, line: 2 });
    assert_eq!(parse_bytes(b"\xef\xbb\xbf[]", None).unwrap().calls, []);
}

#[test]
fn depth_inside_one_call_is_that_calls_affair() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let text = format!(
        r#"{{"tool_calls":[{{"id":"a","name":"f","arguments":{{"x":{deep}}}}},{{"id":"b","name":"f","arguments":{{}}}}]}}"#
    );
    let calls = parse(&text, None).unwrap().calls;
    assert_eq!(calls[0].arguments, CallArguments::Text(format!(r#"{{"x":{deep}}}"#)));
    assert_eq!(calls[1], call("b", "f", json!({})));
}

#[test]
fn a_document_that_is_nothing_but_depth_is_refused() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let error = parse(&deep, None).unwrap_err();
    assert_eq!(error, ProtocolError::TooDeep { limit: 128, line: 1, column: 129 });
    assert_eq!(error.kind(), hermes_core::ErrorKind::Limit);
    let open = "{\"a\":".repeat(10_000);
    let error = parse(&open, None).unwrap_err();
    assert!(matches!(error, ProtocolError::Syntax { .. }), "{error}");
    assert!(error.hint().len() < 200, "{}", error.hint());
}

#[test]
fn many_calls_are_read_and_too_many_refused() {
    let list = |n: usize| format!(r#"{{"tool_calls":[{}]}}"#, vec![r#"{"name":"f"}"#; n].join(","));
    let calls = parse(&list(10_000), None).unwrap().calls;
    assert_eq!(calls.len(), 10_000);
    assert_eq!(calls[9_999].id, "call_10000");
    assert_eq!(parse(&list(MAX_CALLS), None).unwrap().calls.len(), MAX_CALLS);
    let limit = ProtocolError::TooManyCalls { limit: MAX_CALLS };
    assert_eq!(parse(&list(MAX_CALLS + 1), None), Err(limit.clone()));
    let blocks = r#"<tool_call>{"name":"f"}</tool_call>"#.repeat(MAX_CALLS + 1);
    assert_eq!(parse(&blocks, None), Err(limit.clone()));
    let listed = format!("<tool_call>[{}]</tool_call>", vec!["{}"; MAX_CALLS + 1].join(","));
    assert_eq!(parse(&listed, None), Err(limit));
}

#[test]
fn a_huge_argument_arrives_whole() {
    const SIZE: usize = 50 << 20;
    let big = "x".repeat(SIZE);
    let text = format!(r#"{{"tool_calls":[{{"name":"f","arguments":{{"content":"{big}"}}}}]}}"#);
    drop(big);
    let mut request = parse(&text, None).unwrap();
    let CallArguments::Json(arguments) = request.calls.remove(0).arguments else {
        panic!("not read")
    };
    assert_eq!(arguments["content"].as_str().map(str::len), Some(SIZE));
}
