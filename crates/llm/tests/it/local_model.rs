//! A real model on this machine, if there is one: scripts/components/model.sh.

use std::sync::Arc;
use std::time::Duration;

use hermes_llm::discovery::discover_model;
use hermes_llm::{ChatMessage, FinishReason, HttpClients, ModelRequest, RetrySettings};
use serde_json::{Value, json};

/// A small model may say anything, but not in another form than the schema's.
#[tokio::test]
async fn a_real_model_answers_and_is_held_to_a_schema() {
    let Ok(url) = std::env::var("HERMES_TEST_MODEL_URL") else { return };
    let config = json!({"model": {"base_url": url}});
    let http = Arc::new(HttpClients::default());
    let found =
        discover_model(&http, &config, &|_| None, &[], RetrySettings::default(), Arc::new(|_| {}))
            .await
            .unwrap();
    assert!(found.model.window().is_some_and(|tokens| tokens >= 512), "{found:?}");

    let mut request = ModelRequest::new("", vec![ChatMessage::user("Say hello in three words.")]);
    request.max_tokens = Some(16);
    request.temperature = Some(0.0);
    request.idle_timeout = Some(Duration::from_secs(300));
    let reply = found.model.reply(&request).await.unwrap();
    assert!(!reply.text.is_empty());
    assert!(reply.usage.input > 0 && reply.usage.output > 0, "{:?}", reply.usage);
    assert!(matches!(reply.finish, FinishReason::Stop | FinishReason::Length));

    request.messages = vec![ChatMessage::user("Write the word hello to the file hello.txt.")];
    request.max_tokens = Some(120);
    request.schema = Some(json!({
        "type": "object",
        "properties": {
            "name": {"const": "write_file"},
            "arguments": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "pattern": "^[a-z]{1,12}\\.txt$"},
                    "content": {"type": "string", "maxLength": 40},
                },
                "required": ["path", "content"],
                "additionalProperties": false,
            },
        },
        "required": ["name", "arguments"],
        "additionalProperties": false,
    }));
    let reply = found.model.reply(&request).await.unwrap();
    let call: Value = serde_json::from_str(&reply.text).unwrap();
    assert_eq!(call["name"], "write_file");
    assert!(
        call["arguments"]["path"].as_str().is_some_and(|path| path.ends_with(".txt")),
        "{call}"
    );
}
