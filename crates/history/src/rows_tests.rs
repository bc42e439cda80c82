#![allow(clippy::unwrap_used)]

use rusqlite::Connection;
use serde_json::json;

use super::*;

fn through_the_file(message: &ChatMessage) -> ChatMessage {
    let connection = Connection::open_in_memory().unwrap();
    let columns = MESSAGE_COLUMNS.replace("x.", "");
    let with_session = format!("session, {columns}");
    connection.execute_batch(&format!("CREATE TABLE messages ({with_session})")).unwrap();
    connection
        .execute(INSERT_MESSAGE, &MessageFields::from_message(message).params(&1, &5, &None)[..])
        .unwrap();
    connection.execute_batch("UPDATE messages SET id = 7, state = 0").unwrap();
    let kept = connection
        .query_row(&format!("SELECT {MESSAGE_COLUMNS} FROM messages x"), [], message_from_row)
        .unwrap();
    assert_eq!((kept.id, kept.at.as_millisecond(), kept.state), (7, 5, MessageState::Live));
    kept.message
}

#[test]
fn every_kind_of_message_comes_back_as_it_was() {
    let image = InlineImage { media_type: "image/png".into(), data: "AAAA".into() };
    let text = |text: &str| ContentPart::Text { text: text.into() };
    let messages = [
        ChatMessage::system("You are\0 small"),
        ChatMessage::user(""),
        ChatMessage::user("says \"this\"\n字 \u{0}"),
        ChatMessage::User { content: Vec::new() },
        ChatMessage::User {
            content: vec![text("a"), ContentPart::Image(image.clone()), text("b")],
        },
        ChatMessage::Assistant(ModelReply::default()),
        ChatMessage::Assistant(ModelReply {
            text: "I look".into(),
            calls: vec![
                RequestedCall {
                    id: "1".into(),
                    name: "read_file".into(),
                    arguments: "{\"path\":".into(),
                },
                RequestedCall { id: "2".into(), name: String::new(), arguments: String::new() },
            ],
            reasoning: Some(Reasoning {
                text: "hm".into(),
                opaque: vec![json!({"sig": [1, null]})],
            }),
            finish: FinishReason::Length,
            usage: TokenUsage {
                input: 1,
                output: 2,
                cache_read: 3,
                cache_write: 4,
                reasoning: 5,
                cost: Some(0.25),
            },
            model: "m-1".into(),
        }),
        ChatMessage::Tool(ToolCallAnswer {
            call_id: "1".into(),
            name: "read_file".into(),
            content: "{}".into(),
            images: vec![image],
            is_error: true,
            is_cancelled: false,
        }),
        ChatMessage::Tool(ToolCallAnswer {
            call_id: "2".into(),
            name: "terminal".into(),
            content: "{}".into(),
            images: Vec::new(),
            is_error: true,
            is_cancelled: true,
        }),
    ];
    for message in messages {
        assert_eq!(through_the_file(&message), message);
    }
}
