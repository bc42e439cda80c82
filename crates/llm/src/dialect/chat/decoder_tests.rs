use super::*;
use crate::endpoint::{ApiDialect, ModelEndpoint};
use crate::message::ChatMessage;
use crate::reply::ReplyBuilder;
use crate::request::ModelRequest;

/// OpenRouter streams thoughts in pieces, and wants them back as wholes.
#[test]
fn pieces_of_thoughts_are_put_together_and_sent_back() {
    let endpoint = ModelEndpoint::new(ApiDialect::Chat, "https://openrouter.ai/api/v1", "m");
    let mut reader = ChatDecoder::new(endpoint.origin(), "m");
    let mut gathering = ReplyBuilder::default();
    let detail = |more: Value| json!({"choices": [{"delta": {"reasoning_details": [more]}}]});
    for chunk in [
        detail(json!({"type": "reasoning.text", "index": 0, "text": "a", "signature": null})),
        detail(json!({"type": "reasoning.text", "index": 0, "text": "b"})),
        detail(json!({"type": "reasoning.text", "index": 0, "signature": "sig"})),
        detail(json!({"type": "reasoning.encrypted", "index": 1, "data": "x"})),
        json!({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}),
    ] {
        let mut events = Vec::new();
        reader.decode(&chunk, &mut events).expect("understood");
        events.iter().for_each(|event| gathering.add(event));
    }
    let request = ModelRequest::new("", vec![ChatMessage::Assistant(gathering.finish())]);
    let sent = super::super::request_body(&endpoint, "m", &request);
    assert_eq!(
        sent["messages"][0]["reasoning_details"],
        json!([
            {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "sig"},
            {"type": "reasoning.encrypted", "index": 1, "data": "x"},
        ])
    );
}

/// A field that a model made up is not known to every other one.
#[test]
fn thoughts_in_words_go_back_to_the_model_that_had_them() {
    let endpoint = ModelEndpoint::new(ApiDialect::Chat, "http://127.0.0.1:8080/v1", "m");
    let mut reader = ChatDecoder::new(endpoint.origin(), "m");
    let mut gathering = ReplyBuilder::default();
    let call = json!({"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}});
    for chunk in [
        json!({"choices": [{"delta": {"reasoning_content": "hm"}}]}),
        json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}),
    ] {
        let mut events = Vec::new();
        reader.decode(&chunk, &mut events).expect("understood");
        events.iter().for_each(|event| gathering.add(event));
    }
    let request = ModelRequest::new("", vec![ChatMessage::Assistant(gathering.finish())]);
    let sent = |model: &str| super::super::request_body(&endpoint, model, &request);
    assert_eq!(sent("m")["messages"][0]["reasoning_content"], "hm");
    assert!(sent("other")["messages"][0].get("reasoning_content").is_none());
}

#[test]
fn calls_stand_in_their_order_however_they_come() {
    let mut reader = ChatDecoder::new("o".to_owned(), "m");
    let mut gathering = ReplyBuilder::default();
    let piece = |index: u64, id: &str, name: &str| {
        let function = json!({"name": name, "arguments": "{}"});
        let call = json!({"index": index, "id": id, "function": function});
        json!({"choices": [{"delta": {"tool_calls": [call]}}]})
    };
    // The last two share a place, and stay in the order of their coming.
    for chunk in
        [piece(1, "b", "two"), piece(0, "a", "one"), piece(2, "c", "three"), piece(2, "d", "four")]
    {
        let mut events = Vec::new();
        reader.decode(&chunk, &mut events).expect("understood");
        events.iter().for_each(|event| gathering.add(event));
    }
    let names: Vec<String> = gathering.finish().calls.into_iter().map(|call| call.name).collect();
    assert_eq!(names, ["one", "two", "three", "four"]);
}
