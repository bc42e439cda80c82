use proptest::prelude::*;
use rmcp::model::{GetMeta as _, NumberOrString};

use super::*;

fn refused(text: &[u8]) -> Value {
    let refusal = parse_message(text).unwrap_err();
    serde_json::from_str(&refusal.to_json()).unwrap()
}

#[test]
fn what_is_not_json_is_told_so_with_no_id() {
    for text in [&b"hello"[..], b"{\"jsonrpc\":\"2.0\",", b"{\"a\":\"\xff\"}", b"{} {}", b"\0"] {
        let shown = refused(text);
        assert_eq!(shown["error"]["code"], -32700, "{shown}");
        assert!(shown.get("id").is_some_and(Value::is_null), "{shown}");
    }
}

#[test]
fn what_is_json_and_no_message_is_told_so_with_its_id() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}{}}}"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    for (text, id) in [
        ("[]", json!(null)),
        ("7", json!(null)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, json!(null)),
        ("{}", json!(null)),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!("a")),
        (r#"{"id":3,"method":"ping"}"#, json!(3)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, json!(null)),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, json!(null)),
        (r#"{"jsonrpc":"2.0","id":4,"method":5}"#, json!(4)),
        (r#"{"jsonrpc":"2.0","method":5}"#, json!(null)),
        (r#"{"jsonrpc":"2.0","id":6}"#, json!(6)),
        (&deep, json!(7)),
    ] {
        let shown = refused(text.as_bytes());
        assert_eq!(shown["error"]["code"], -32600, "{text}: {shown}");
        assert_eq!(shown["id"], id, "{text}: {shown}");
    }
}

#[test]
fn it_is_told_why_a_request_cannot_be_read() {
    let list = refused(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#);
    assert_eq!(list["error"]["code"], -32602, "{list}");
    let half = refused(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}"#);
    assert_eq!(half["error"]["code"], -32600, "{half}");
    assert!(half["error"]["message"].as_str().unwrap().contains("cannot parse it"), "{half}");
}

#[test]
fn nobody_answers_an_answer_or_a_notification() {
    for text in [
        r#"{"jsonrpc":"2.0","id":{},"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":[],"error":{"code":-32700,"message":"what?"}}"#,
        r#"{"jsonrpc":"2.0","error":"what?"}"#,
    ] {
        assert_eq!(parse_message(text.as_bytes()).unwrap().map(|_| ()), None, "{text}");
    }
    // Our own rejection of an invalid message is a valid message.
    let said = MessageRejection::too_long(1).to_json();
    assert!(matches!(parse_message(said.as_bytes()), Ok(Some(ClientJsonRpcMessage::Error(_)))));
}

#[test]
fn a_call_keeps_all_that_comes_with_it() {
    let text = r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"n",
        "arguments":{"a":[1]},"_meta":{"progressToken":9,"k":"v"},"requestState":"s"}}"#;
    let Ok(Some(ClientJsonRpcMessage::Request(message))) = parse_message(text.as_bytes()) else {
        panic!()
    };
    let meta = message.request.get_meta().clone();
    let ClientRequest::CallToolRequest(call) = message.request else { panic!() };
    assert_eq!(message.id, NumberOrString::String("x".into()));
    assert_eq!(call.params.name, "n");
    assert_eq!(call.params.request_state.as_deref(), Some("s"));
    assert_eq!(meta.0.get("k"), Some(&json!("v")));
    assert!(meta.get_progress_token().is_some());
    assert!(call.params.meta.is_none());
}

#[test]
fn wrong_parameters_are_explained() {
    let shown = explain_params("tools/call", Some(&json!({"name": 5})));
    assert!(shown.contains("tools/call") && shown.contains("string"), "{shown}");
    assert!(explain_params("tools/call", None).contains("params are missing"));
    let is = |name, is_newer| is_known_method(name, is_newer, true);
    assert!(is("tools/call", true) && !is("tools/fly", true));
    assert!(is("initialize", false) && !is("initialize", true));
    assert!(is("prompts/get", true) && !is_known_method("prompts/get", true, false));
    for (method, params, field) in [
        ("tools/call", json!({"name": 5}), "name"),
        ("tools/call", json!({"name": "x", "arguments": "y"}), "arguments"),
        ("prompts/get", json!({}), "name"),
        ("prompts/get", json!({"name": "x", "arguments": 4, "a": 1}), "arguments"),
        ("resources/read", json!({}), "uri"),
        ("resources/read", json!({"uri": ["x"]}), "uri"),
        ("tools/list", json!({"cursor": 7}), "cursor"),
        ("tasks/get", json!({"taskId": 7}), "taskId"),
        ("initialize", json!({"protocolVersion": 5, "capabilities": {}}), "protocolVersion"),
        ("resources/read", json!([1]), "object"),
    ] {
        let shown = explain_params(method, Some(&params));
        assert!(shown.contains(field), "{method} {params}: {shown}");
    }
}

proptest! {
    /// The fast path parses the same as the general path.
    #[test]
    fn both_ways_agree(
        id in prop_oneof![any::<i64>().prop_map(Value::from), "\\PC{0,8}".prop_map(Value::from)],
        name in "\\PC{0,12}",
        arguments in proptest::option::of("\\PC{0,12}"),
        token in proptest::option::of(any::<u32>()),
        method in prop_oneof![Just("tools/call"), Just("tools/list"), Just("x")],
    ) {
        let mut params = json!({ "name": name });
        if let Some(text) = arguments {
            params["arguments"] = json!({ "text": text });
        }
        if let Some(token) = token {
            params["_meta"] = json!({ "progressToken": token });
        }
        let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let text = text.to_string();
        let general: ClientJsonRpcMessage = serde_json::from_str(&text).unwrap();
        let ours = parse_message(text.as_bytes()).unwrap().unwrap();
        prop_assert_eq!(serde_json::to_value(&ours).unwrap(), serde_json::to_value(&general).unwrap());
    }

    #[test]
    fn nothing_makes_it_panic(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_message(&text);
    }
}
