//! A batch keeps its ids, names, arguments and order on the way in, and every
//! id its one result on the way out.

use std::time::Duration;

use hermes_core::{CallArguments, CallStatus, EffectDisposition, ErrorKind, ToolCall, ToolResult};
use hermes_protocol::{CallDialect, parse, render_results};
use proptest::prelude::*;
use serde_json::{Value, json};

/// JSON without the numbers that text cannot carry exactly.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("</tool_call> <tool_call> \" ' \\ {[]}")),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            arguments(inner),
        ]
    })
}

fn arguments(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((".{0,6}", inner), 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

pub(crate) fn calls() -> impl Strategy<Value = Vec<ToolCall>> {
    let call = (".{1,8}", ".{0,8}", arguments(value()))
        .prop_map(|(id, name, arguments)| ToolCall::new(id, name, arguments));
    prop::collection::vec(call, 1..6)
}

/// The batch as a client of that dialect writes it.
pub(crate) fn ask(dialect: CallDialect, calls: &[ToolCall]) -> String {
    let list: Vec<_> = calls.iter().map(|call| ask_one(dialect, call)).collect();
    match dialect {
        CallDialect::Envelope => json!({ "tool_calls": list }).to_string(),
        CallDialect::OpenAiChat => {
            json!({"choices": [{"message": {"role": "assistant", "tool_calls": list}}]}).to_string()
        }
        CallDialect::OpenAiResponses => json!({ "output": list }).to_string(),
        CallDialect::Anthropic => json!({"role": "assistant", "content": list}).to_string(),
        CallDialect::HermesText => {
            list.iter().map(|call| format!("and\n<tool_call>\n{call}\n</tool_call>\n")).collect()
        }
    }
}

fn ask_one(dialect: CallDialect, call: &ToolCall) -> Value {
    let ToolCall { id, name, arguments: CallArguments::Json(arguments) } = call else {
        panic!("only parsed arguments are asked")
    };
    match dialect {
        CallDialect::Envelope => {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        }
        CallDialect::OpenAiChat => {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
        }
        CallDialect::OpenAiResponses => {
            json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": arguments.to_string()})
        }
        CallDialect::Anthropic => {
            json!({"type": "tool_use", "id": id, "name": name, "input": arguments})
        }
        CallDialect::HermesText => json!({"id": id, "name": name, "arguments": arguments}),
    }
}

/// The batch with its arguments parsed, wherever the dialect quotes them.
pub(crate) fn parsed(calls: Vec<ToolCall>) -> Vec<ToolCall> {
    let parse = |call: ToolCall| match &call.arguments {
        CallArguments::Text(text) => {
            ToolCall::new(call.id, call.name, serde_json::from_str(text).unwrap())
        }
        CallArguments::Json(_) => call,
    };
    calls.into_iter().map(parse).collect()
}

fn result(call: &ToolCall, content: &Value, succeeded: bool) -> ToolResult {
    ToolResult {
        tool_call_id: call.id.clone(),
        name: call.name.clone(),
        called_as: None,
        content: content.to_string(),
        status: if succeeded {
            CallStatus::Success
        } else {
            CallStatus::Error(ErrorKind::Conflict)
        },
        command_failed: false,
        disposition: EffectDisposition::Complete,
        coercions: Vec::new(),
        attachments: Vec::new(),
        spill_path: None,
        untrusted: false,
        duration: Duration::from_millis(1),
    }
}

/// The ids and contents that a client of that dialect reads from an answer.
fn hear(dialect: CallDialect, answer: &str) -> Vec<(String, Value)> {
    let nested = |text: &Value| serde_json::from_str(text.as_str().unwrap()).unwrap();
    let each = |list: &Value, id: &str, content: &dyn Fn(&Value) -> Value| {
        let pair = |item: &Value| (item[id].as_str().unwrap().to_owned(), content(item));
        list.as_array().unwrap().iter().map(pair).collect()
    };
    if dialect == CallDialect::HermesText {
        let blocks = answer.split("<tool_response>\n").skip(1);
        let inner =
            blocks.map(|block| block.trim_end().strip_suffix("\n</tool_response>").unwrap());
        let list =
            inner.map(|json| serde_json::from_str::<Value>(json).unwrap()).collect::<Value>();
        return each(&list, "tool_call_id", &|item| item["content"].clone());
    }
    assert!(!answer.contains('\n'));
    let answer: Value = serde_json::from_str(answer).unwrap();
    match dialect {
        CallDialect::Envelope => {
            each(&answer["tool_results"], "tool_call_id", &|item| item["content"]["result"].clone())
        }
        CallDialect::OpenAiChat => each(&answer, "tool_call_id", &|item| nested(&item["content"])),
        CallDialect::OpenAiResponses => each(&answer, "call_id", &|item| nested(&item["output"])),
        _ => each(&answer["content"], "tool_use_id", &|item| nested(&item["content"])),
    }
}

proptest! {
    #[test]
    fn a_batch_keeps_its_ids_and_order(calls in calls(), contents in prop::collection::vec(value(), 6), good: bool) {
        for dialect in CallDialect::ALL {
            let text = ask(dialect, &calls);
            let request = parse(&text, None).unwrap();
            prop_assert_eq!(request.dialect, dialect);
            prop_assert_eq!(&parsed(request.calls.clone()), &calls);

            // An array, so that the envelope carries it whole.
            let contents: Vec<_> = contents.iter().map(|content| json!([content])).collect();
            let pairs = calls.iter().zip(&contents);
            let results: Vec<_> = pairs.clone().map(|(call, content)| result(call, content, good)).collect();
            let expected: Vec<_> = pairs.map(|(call, content)| (call.id.clone(), content.clone())).collect();
            prop_assert_eq!(hear(dialect, &render_results(&request, &results)), expected);
        }
    }
}
