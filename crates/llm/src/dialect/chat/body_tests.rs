use super::*;
use crate::endpoint::ApiDialect;

fn at(url: &str, model: &str) -> Value {
    let messages = vec![
        ChatMessage::system("S"),
        ChatMessage::user("one"),
        ChatMessage::Assistant(ModelReply { text: "two".into(), ..ModelReply::default() }),
        ChatMessage::user("three"),
    ];
    let mut request = ModelRequest::new("", messages);
    request.effort = Some("high".into());
    request.max_tokens = Some(9);
    request_body(&ModelEndpoint::new(ApiDialect::Chat, url, model), model, &request)
}

#[test]
fn what_openrouter_wants_besides() {
    let sent = at("https://openrouter.ai/api/v1", "anthropic/claude-x");
    assert_eq!(sent["usage"], json!({"include": true}));
    assert_eq!(sent["reasoning"], json!({"effort": "high"}));
    let marked: Vec<bool> = sent["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|message| message["content"][0].get("cache_control").is_some())
        .collect();
    assert_eq!(marked, [true, true, false, true]);
    // It is what it is called, whatever stands in front of it.
    let behind = ModelEndpoint {
        provider: "openrouter".into(),
        ..ModelEndpoint::new(ApiDialect::Chat, "http://127.0.0.1:8080/v1", "anthropic/claude-x")
    };
    let request = ModelRequest::new("", vec![ChatMessage::system("S"), ChatMessage::user("one")]);
    let sent = request_body(&behind, "anthropic/claude-x", &request);
    assert_eq!(sent.to_string().matches("cache_control").count(), 2);
    let plain = at("https://openrouter.ai/api/v1", "qwen/qwen3");
    assert!(!plain.to_string().contains("cache_control"));
}

#[test]
fn names_of_fields_by_server() {
    let openai = at("https://api.openai.com/v1", "gpt-5.1");
    assert_eq!(
        (&openai["max_completion_tokens"], &openai["reasoning_effort"]),
        (&json!(9), &json!("high"))
    );
    let other = at("http://127.0.0.1:8080/v1", "m");
    assert_eq!((&other["max_tokens"], other.get("max_completion_tokens")), (&json!(9), None));
    // A name that only ends alike is another server.
    assert_eq!(at("https://notapi.openai.com.example/v1", "m")["max_tokens"], 9);
}

#[test]
fn several_texts_of_one_message_are_one_text() {
    let part = |text: &str| ContentPart::Text { text: text.to_owned() };
    let message = ChatMessage::User { content: vec![part("one"), part("two")] };
    let endpoint = ModelEndpoint::new(ApiDialect::Chat, "http://127.0.0.1:8080/v1", "m");
    let sent = request_body(&endpoint, "m", &ModelRequest::new("", vec![message]));
    assert_eq!(sent["messages"][0]["content"], "one\n\ntwo");
}
