use hermes_llm::RequestedCall;

use super::*;

fn asks(text: &str, ids: &[&str]) -> ChatMessage {
    let call = |id: &&str| RequestedCall {
        id: (*id).to_owned(),
        name: "read_file".to_owned(),
        arguments: "{}".to_owned(),
    };
    ChatMessage::Assistant(ModelReply {
        text: text.to_owned(),
        calls: ids.iter().map(call).collect(),
        ..ModelReply::default()
    })
}

fn answer(id: &str, content: &str) -> ChatMessage {
    ChatMessage::Tool(ToolCallAnswer {
        call_id: id.to_owned(),
        name: "read_file".to_owned(),
        content: content.to_owned(),
        images: Vec::new(),
        is_error: false,
        is_cancelled: false,
    })
}

/// Roles and ids, in short.
fn shape(messages: &[ChatMessage]) -> String {
    let short = |message: &ChatMessage| match message {
        ChatMessage::System { .. } => "s".to_owned(),
        ChatMessage::User { content } => format!("u{}", content.len()),
        ChatMessage::Assistant(reply) => {
            let ids: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
            format!("a({})", ids.join(","))
        }
        ChatMessage::Tool(answer) if answer.content == LOST_RESULT => {
            format!("?{}", answer.call_id)
        }
        ChatMessage::Tool(answer) => format!("t{}", answer.call_id),
    };
    messages.iter().map(short).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_sound_history_stays_as_it_is() {
    let sound = vec![
        ChatMessage::system("s"),
        ChatMessage::user("hello"),
        asks("", &["1", "2"]),
        answer("1", "a"),
        answer("2", "b"),
        asks("done", &[]),
        ChatMessage::user("more"),
    ];
    assert_eq!(repair_history(sound.clone()), (sound, 0));
}

#[test]
fn every_call_has_one_result_and_every_result_its_call() {
    let broken = vec![
        ChatMessage::user("hello"),
        answer("0", "of nobody"),
        asks("", &["1", "2", "1"]),
        answer("2", "b"),
        answer("2", "b again"),
        ChatMessage::user("are you there?"),
        ChatMessage::user("hello?"),
        asks("", &["3", "2"]),
        asks("yes", &[]),
        asks("really", &[]),
    ];
    let (repaired, count) = repair_history(broken);
    assert_eq!(shape(&repaired), "u1 a(1,2) ?1 t2 u2 a(3) ?3 a()");
    assert_eq!(repaired.last().unwrap().text(), "yes\n\nreally");
    assert!(count >= 6, "{count}");
    assert_eq!(repair_history(repaired.clone()), (repaired, 0));
}

#[test]
fn the_user_speaks_first() {
    let history = vec![asks("Hello.", &["a"]), answer("a", "it"), ChatMessage::user("go on")];
    let (history, repaired) = repair_history(history);
    assert_eq!((shape(&history).as_str(), repaired), ("u1 a(a) ta u1", 1));
    let again = repair_history(history.clone());
    assert_eq!(again, (history, 0));
}
