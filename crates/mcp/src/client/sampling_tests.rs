use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream;
use hermes_core::BoxFuture;
use hermes_llm::{ModelError, ReplyEvent, ReplyStream};

use super::*;

/// A model that repeats the last message and limits of the request.
#[derive(Debug)]
struct Echo;

impl LanguageModel for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ReplyStream, ModelError>> {
        let last = request.messages.last().map(ChatMessage::text).unwrap_or_default();
        let text = format!("{} {:?} {}", last, request.max_tokens, request.tools.len());
        let events = [Ok(ReplyEvent::Text(text)), Ok(ReplyEvent::Finish(FinishReason::Stop))];
        Box::pin(async move { Ok(Box::pin(stream::iter(events)) as ReplyStream) })
    }
}

struct Two;

impl SamplingModels for Two {
    fn choose<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Option<ChosenModel>> {
        let name = name.unwrap_or("usual");
        let known = ["usual", "small"].contains(&name);
        let chosen = known.then(|| ChosenModel { model: Arc::new(Echo), name: name.to_owned() });
        Box::pin(async move { chosen })
    }
}

struct Says(ElicitationAnswer, AtomicUsize);

impl ElicitationPrompter for Says {
    fn ask<'a>(&'a self, _: &'a str, _: &'a ServerQuestion) -> BoxFuture<'a, ElicitationAnswer> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { self.0.clone() })
    }
}

fn sampling(change: impl FnOnce(&mut SamplingSettings)) -> SamplingHandler {
    let mut settings = SamplingSettings {
        enabled: true,
        max_rpm: 10,
        timeout: Duration::from_secs(5),
        max_tokens: 100,
        max_tool_rounds: 1,
        model: None,
        allowed_models: Vec::new(),
        ask: false,
    };
    change(&mut settings);
    SamplingHandler::new(settings, Some(Arc::new(Two)))
}

fn hello() -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 900})
}

#[tokio::test]
async fn the_answer_is_within_the_limits() {
    let it = sampling(|_| {});
    let answer = it.handle_request("s", &hello(), None).await.unwrap();
    assert_eq!(answer["content"]["text"], "hi Some(100) 0");
    assert_eq!(
        (answer["model"].as_str(), answer["stopReason"].as_str()),
        (Some("usual"), Some("endTurn"))
    );
    assert_eq!(it.counts().requests, 1);
}

#[tokio::test]
async fn the_default_model_must_be_allowed_too() {
    let it = sampling(|it| it.allowed_models = vec!["small".into()]);
    assert!(it.handle_request("s", &hello(), None).await.unwrap_err().contains("not allowed"));
    let mut liked = hello();
    liked["modelPreferences"] = json!({"hints": [{"name": "huge"}, {"name": "small"}]});
    assert_eq!(it.handle_request("s", &liked, None).await.unwrap()["model"], "small");
    assert_eq!(it.counts().errors, 1);
}

#[tokio::test]
async fn too_many_requests_are_refused() {
    let it = sampling(|it| it.max_rpm = 2);
    for _ in 0..2 {
        it.handle_request("s", &hello(), None).await.unwrap();
    }
    assert!(it.handle_request("s", &hello(), None).await.unwrap_err().contains("per minute"));
}

#[tokio::test]
async fn rounds_with_tools_are_counted_for_each_conversation() {
    let it = sampling(|_| {});
    let mut params = hello();
    params["tools"] = json!([{"name": "t", "inputSchema": {"type": "object"}}]);
    assert_eq!(
        it.handle_request("s", &params, None).await.unwrap()["content"]["text"],
        "hi Some(100) 1"
    );
    params["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "r"}]}]}),
    ]);
    assert!(it.handle_request("s", &params, None).await.unwrap_err().contains("rounds"));
    params.as_object_mut().unwrap().remove("tools");
    assert_eq!(
        it.handle_request("s", &params, None).await.unwrap()["content"]["text"],
        "r Some(100) 0"
    );
}

#[tokio::test]
async fn the_user_is_asked_and_can_refuse() {
    let it = sampling(|it| it.ask = true);
    assert!(it.handle_request("s", &hello(), None).await.unwrap_err().contains("no approver"));
    let says = |answer| -> Option<Arc<dyn ElicitationPrompter>> {
        Some(Arc::new(Says(answer, AtomicUsize::new(0))))
    };
    assert!(
        it.handle_request("s", &hello(), says(ElicitationAnswer::Declined))
            .await
            .unwrap_err()
            .contains("refused")
    );
    it.handle_request("s", &hello(), says(ElicitationAnswer::Accepted)).await.unwrap();
}
