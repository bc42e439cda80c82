#![allow(clippy::unwrap_used)]

use super::*;

fn message(role: &str, content: &str) -> ChatMessage {
    let row = MessageColumns { role: role.into(), content: content.into(), ..Default::default() };
    row.into_message().unwrap().message
}

#[test]
fn content_in_json_keeps_its_parts_in_order() {
    let parts = r#"[{"type":"text","text":"Look"},"here",
        {"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}},
        {"type":"input_image","image_url":"data:image/jpeg;base64,REVG"},
        {"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lG"}},
        {"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]"#;
    let image = |media_type: &str, data: &str| {
        ContentPart::Image(InlineImage { media_type: media_type.into(), data: data.into() })
    };
    let text = |text: &str| ContentPart::Text { text: text.into() };
    let content = vec![
        text("Look"),
        text("here"),
        image("image/png", "QUJD"),
        image("image/jpeg", "REVG"),
        image("image/gif", "R0lG"),
        text("[Image: https://example.org/a.png]"),
    ];
    assert_eq!(message("user", &format!("\0json:{parts}")), ChatMessage::User { content });
    let ChatMessage::Tool(answer) = message("tool", &format!("\0json:{parts}")) else { panic!() };
    assert_eq!((answer.images.len(), answer.content.starts_with("Look\nhere")), (3, true));
}

#[test]
fn damaged_json_loses_the_message_form_and_not_the_text() {
    assert_eq!(message("user", "\0json:[{\"type\"").text(), "[{\"type\"");
    let reply = MessageColumns {
        role: "assistant".into(),
        content: "On it.".into(),
        calls: Some("[{\"id\":".into()),
        ..Default::default()
    };
    let ChatMessage::Assistant(reply) = reply.into_message().unwrap().message else { panic!() };
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("On it.", 0));
}

#[test]
fn calls_keep_arguments_given_as_text_or_as_an_object() {
    let calls = r#"[{"id":"a","type":"function","function":{"name":"x","arguments":"{\"n\": 1}"}},
        {"call_id":"b","function":{"name":"y","arguments":{"n":2}}},
        {"id":"c","function":{"name":"z"}}, {"id":"nameless"}]"#;
    let calls = parse_calls(calls);
    let seen: Vec<_> = calls
        .iter()
        .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(seen, [("a", "x", r#"{"n": 1}"#), ("b", "y", r#"{"n":2}"#), ("c", "z", "{}")]);
}

#[test]
fn recalled_memory_and_reviews_are_no_part_of_the_conversation() {
    let said = "Hello <memory-context>likes tea</memory-context>there <memory-context>open";
    assert_eq!(message("user", said).text(), "Hello there <memory-context>open");
    let turn =
        |id: i64, message: ChatMessage| AgentStateMessage { id, at: Timestamp::default(), message };
    let messages = vec![
        turn(1, ChatMessage::user("Hello")),
        turn(2, message("assistant", "Hi.")),
        turn(3, ChatMessage::user("Review the conversation above and update the skill library.")),
        turn(4, message("assistant", "Nothing to save.")),
        turn(5, ChatMessage::user("Go on")),
        turn(6, message("assistant", "Yes.")),
    ];
    let kept: Vec<_> = without_review_turns(messages).iter().map(|kept| kept.id).collect();
    assert_eq!(kept, [1, 2, 5, 6]);
}

#[test]
fn roles_that_no_model_knows_are_left_out() {
    let row = MessageColumns { role: "session_meta".into(), ..Default::default() };
    assert!(row.into_message().is_none());
}
