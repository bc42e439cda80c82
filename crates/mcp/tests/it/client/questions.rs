//! Servers that query the user, the model or our roots, in both ways that
//! the protocol allows.

use std::sync::Arc;

use futures_util::stream;
use hermes_core::BoxFuture;
use hermes_llm::{FinishReason, LanguageModel, ModelError, ModelRequest, ReplyEvent, ReplyStream};
use hermes_mcp::client::{
    ChosenModel, ElicitationAnswer, ElicitationPrompter, SamplingModels, ServerQuestion,
};
use serde_json::{Value, json};

use super::{World, odd, with};

pub(super) struct Person;

impl ElicitationPrompter for Person {
    fn ask<'a>(
        &'a self,
        server: &'a str,
        question: &'a ServerQuestion,
    ) -> BoxFuture<'a, ElicitationAnswer> {
        assert_eq!(server, "odd");
        let answer = match question {
            ServerQuestion::Form { fields, .. } => {
                let filled = json!({(fields[0].name.as_str()): "Ann"});
                ElicitationAnswer::AcceptedForm(filled.as_object().unwrap().clone())
            }
            ServerQuestion::OpenUrl { url, .. } if url == "https://pay.example/" => {
                ElicitationAnswer::Declined
            }
            ServerQuestion::OpenUrl { url, .. } => {
                std::fs::write(url.strip_prefix("file://").unwrap(), "paid").unwrap();
                ElicitationAnswer::Accepted
            }
            ServerQuestion::Sample { prompt, .. } if prompt == "hello" => {
                ElicitationAnswer::Accepted
            }
            other => panic!("{other:?}"),
        };
        Box::pin(async { answer })
    }
}

#[derive(Debug)]
struct Parrot;

impl LanguageModel for Parrot {
    fn name(&self) -> &str {
        "parrot"
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ReplyStream, ModelError>> {
        let text = request.messages.last().map(|it| it.text()).unwrap_or_default();
        let events =
            [Ok(ReplyEvent::Text(format!("{text}!"))), Ok(ReplyEvent::Finish(FinishReason::Stop))];
        Box::pin(async move { Ok(Box::pin(stream::iter(events)) as ReplyStream) })
    }
}

impl SamplingModels for Parrot {
    fn choose<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, Option<ChosenModel>> {
        Box::pin(async { Some(ChosenModel { model: Arc::new(Parrot), name: "parrot".to_owned() }) })
    }
}

async fn asked(world: &World, tool: &str) -> Value {
    let answer = world.call(tool, json!({})).await;
    let text = answer["result"].as_str().unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_in_both_eras() {
    for modes in [&[][..], &["modern"]] {
        let mut world = World::new();
        world.asker = Some(Arc::new(Person));
        world.models = Some(Arc::new(Parrot));
        world.roots = vec!["/project/a b".into()];
        let servers = world.ready(&json!({"odd": odd(modes)})).await;
        let version = if modes.is_empty() { "2025-11-25" } else { "2026-07-28" };
        assert_eq!(servers.status()[0].protocol.as_deref(), Some(version));
        let form = asked(&world, "mcp__odd__elicit").await;
        assert_eq!(form, json!({"action": "accept", "content": {"name": "Ann"}}));
        assert_eq!(asked(&world, "mcp__odd__visit").await, json!({"action": "decline"}));
        let paid = world.path("paid").display().to_string();
        let pay = |url: String| world.call("mcp__odd__pay", json!({"file": paid, "url": url}));
        assert_eq!(pay("https://pay.example/".to_owned()).await["kind"], "denied");
        assert_eq!(pay(format!("file://{paid}")).await, json!({"result": "paid"}));
        let sampled = asked(&world, "mcp__odd__sample").await;
        assert_eq!(
            (sampled["content"]["text"].as_str(), sampled["model"].as_str()),
            (Some("hello!"), Some("parrot"))
        );
        let roots = asked(&world, "mcp__odd__roots").await;
        assert_eq!(roots["roots"][0]["uri"], "file:///project/a%20b");
        assert_eq!(servers.status()[0].sampling.unwrap().requests, 1);
        servers.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_anybody_there_nothing_is_answered() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&["modern"])})).await;
    assert_eq!(asked(&world, "mcp__odd__elicit").await, json!({"action": "decline"}));
    let refused = world.call("mcp__odd__sample", json!({})).await;
    assert_eq!(refused["kind"], "denied", "{refused}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_switched_off_is_refused() {
    let mut world = World::new();
    world.asker = Some(Arc::new(Person));
    world.models = Some(Arc::new(Parrot));
    let off = json!({"sampling": {"enabled": false}, "elicitation": {"enabled": false}});
    let servers = world.ready(&json!({"odd": with(odd(&[]), off)})).await;
    assert_eq!(asked(&world, "mcp__odd__elicit").await, json!({"action": "decline"}));
    assert!(
        asked(&world, "mcp__odd__sample").await["message"].as_str().unwrap().contains("disabled")
    );
    servers.stop().await;
}
