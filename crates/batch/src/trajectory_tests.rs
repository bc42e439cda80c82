#![allow(clippy::unwrap_used)]

use super::*;
use hermes_llm::{InlineImage, Reasoning, RequestedCall};

fn call(name: &str, arguments: &str) -> RequestedCall {
    RequestedCall { id: format!("call_{name}"), name: name.into(), arguments: arguments.into() }
}

fn answer(name: &str, content: &str) -> ChatMessage {
    ChatMessage::Tool(ToolCallAnswer {
        call_id: format!("call_{name}"),
        name: name.into(),
        content: content.into(),
        images: Vec::new(),
        is_error: false,
        is_cancelled: false,
    })
}

#[test]
fn a_conversation_has_the_form_that_trainers_read() {
    let tools = [json!({"type": "function", "function": {
        "name": "read_file", "description": "Reads.", "parameters": {"type": "object"}}})];
    let asking = ModelReply {
        text: "I look.".into(),
        calls: vec![call("read_file", r#"{"path":"a"}"#), call("todo", "")],
        reasoning: Some(Reasoning { text: "A file, then.".into(), opaque: Vec::new() }),
        ..ModelReply::default()
    };
    let image =
        ContentPart::Image(InlineImage { media_type: "image/png".into(), data: "AA".into() });
    let messages = [
        ChatMessage::system("Secret orders."),
        ChatMessage::User { content: vec![ContentPart::Text { text: "Read a.".into() }, image] },
        ChatMessage::Assistant(asking),
        answer("read_file", r#"{"content":"x"}"#),
        answer("todo", "7"),
        ChatMessage::Assistant(ModelReply { text: "It says x.".into(), ..ModelReply::default() }),
    ];
    let turns = turns(&tools, &messages);
    let said: Vec<(&str, &str)> =
        turns.iter().skip(1).map(|turn| (turn.from.as_str(), turn.value.as_str())).collect();
    assert_eq!(
        said,
        [
            ("human", "Read a.\n[image]"),
            (
                "gpt",
                "<think>\nA file, then.\n</think>\nI look.\n<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>\n<tool_call>\n{\"name\":\"todo\",\"arguments\":{}}\n</tool_call>"
            ),
            (
                "tool",
                "<tool_response>\n{\"tool_call_id\":\"call_read_file\",\"name\":\"read_file\",\"content\":{\"content\":\"x\"}}\n</tool_response>\n<tool_response>\n{\"tool_call_id\":\"call_todo\",\"name\":\"todo\",\"content\":\"7\"}\n</tool_response>"
            ),
            ("gpt", "<think>\n\n</think>\nIt says x."),
        ]
    );
    let system = &turns[0].value;
    assert!(turns[0].from == "system" && !system.contains("Secret"));
    let listed = system.split_once("<tools>\n").unwrap().1.split_once("\n</tools>").unwrap().0;
    let listed: Value = serde_json::from_str(listed).unwrap();
    assert_eq!(
        listed,
        json!([{"name": "read_file", "description": "Reads.", "parameters": {"type": "object"}}])
    );
}

#[test]
fn thoughts_in_the_text_are_thoughts() {
    for (text, value) in [
        ("<REASONING_SCRATCHPAD>Hm.</REASONING_SCRATCHPAD>Yes.", "<think>\nHm.\n</think>\nYes."),
        ("<think>Hm.</think>\n\nYes.", "<think>\nHm.\n</think>\nYes."),
        ("<think>never closed", "<think>\nnever closed\n</think>\n"),
        ("a <think></think> b", "<think>\n\n</think>\na  b"),
    ] {
        let reply = ModelReply { text: text.into(), ..ModelReply::default() };
        assert_eq!(assistant_text(&reply), value);
        let has = has_reasoning(&[ChatMessage::Assistant(reply)]);
        assert_eq!(has, value.contains("Hm.") || value.contains("never"));
    }
}

#[test]
fn failures_are_told_from_answers() {
    let fails = |content: &str| match answer("x", content) {
        ChatMessage::Tool(answer) => is_failure(&answer),
        _ => unreachable!(),
    };
    for content in [
        r#"{"error":"no"}"#,
        r#"{"success":false}"#,
        r#"{"content":{"error":"no"}}"#,
        "Error: no",
        " error: no",
    ] {
        assert!(fails(content), "{content}");
    }
    for content in [r#"{"error":null,"success":true}"#, "no error: fine", "", "[1]", r#""error""#] {
        assert!(!fails(content), "{content}");
    }
}
