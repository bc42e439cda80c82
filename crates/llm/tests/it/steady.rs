//! Asking again, with other keys, other models.

use std::sync::Arc;
use std::time::Duration;

use hermes_llm::discovery::with_fallbacks;
use hermes_llm::{
    ApiDialect, ApiKey, FinishReason, HttpClients, LanguageModel, ModelEndpoint, ModelErrorKind,
    ModelRequest, ReplyEvent, RetryAction, RetrySettings,
};
use hermes_testkit::models::{ModelServer, ReplyStep, ScriptedReply};
use parking_lot::Mutex;
use serde_json::json;

use crate::desk::{ask, endpoint, events};

type Seen = Arc<Mutex<Vec<(String, ModelErrorKind, RetryAction)>>>;

fn quick() -> RetrySettings {
    let first = Duration::from_millis(5);
    RetrySettings { max_retries: 3, first_delay: first, max_delay: Duration::from_secs(5) }
}

fn of(endpoints: Vec<ModelEndpoint>, retries: RetrySettings) -> (Arc<dyn LanguageModel>, Seen) {
    let seen = Seen::default();
    let own = Arc::clone(&seen);
    let shown = Arc::new(move |setback: &hermes_llm::RetryEvent<'_>| {
        let one = (setback.model.to_owned(), setback.error.kind, setback.action.clone());
        own.lock().push(one);
    });
    let endpoints: Vec<_> = endpoints.into_iter().map(Arc::new).collect();
    (with_fallbacks(&Arc::new(HttpClients::default()), &endpoints, retries, shown), seen)
}

#[tokio::test]
async fn troubles_that_pass_are_waited_for() {
    let server = ModelServer::start([
        ScriptedReply::busy(429, "0.01"),
        ScriptedReply::fails(529, json!(null)),
        ScriptedReply::from_steps([ReplyStep::Cut]),
        ScriptedReply::says("At last."),
    ]);
    let (model, seen) = of(vec![endpoint(&server, ApiDialect::Chat)], quick());
    assert_eq!(model.reply(&ask("Hi")).await.unwrap().text, "At last.");
    let seen = seen.lock();
    let kinds: Vec<_> = seen.iter().map(|(_, kind, _)| *kind).collect();
    assert_eq!(
        kinds,
        [ModelErrorKind::RateLimited, ModelErrorKind::Overloaded, ModelErrorKind::Network]
    );
    assert_eq!(seen[0].2, RetryAction::Wait(Duration::from_millis(10)));
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn it_ends_some_time() {
    let server = ModelServer::start([ScriptedReply::fails(500, json!("no")).again()]);
    let (model, seen) = of(vec![endpoint(&server, ApiDialect::Chat)], quick());
    let fault = model.reply(&ask("Hi")).await.unwrap_err();
    assert_eq!(fault.kind, ModelErrorKind::Server);
    assert_eq!((server.requests().len(), seen.lock().len()), (4, 3));
}

#[tokio::test]
async fn what_does_not_pass_is_not_asked_again() {
    for (code, body) in [
        (400, json!({"error": {"code": "context_length_exceeded"}})),
        (400, json!({"error": {"message": "bad field"}})),
        (401, json!({})),
        (404, json!({"error": {"message": "model not found"}})),
    ] {
        let server = ModelServer::start([ScriptedReply::fails(code, body.clone()).again()]);
        let (model, _) = of(vec![endpoint(&server, ApiDialect::Chat)], quick());
        model.reply(&ask("Hi")).await.unwrap_err();
        assert_eq!(server.requests().len(), 1, "{body}");
    }
    // Nor is a server that wants to be left alone for long.
    let server = ModelServer::start([ScriptedReply::busy(429, "3600").again()]);
    let (model, _) = of(vec![endpoint(&server, ApiDialect::Chat)], quick());
    assert_eq!(model.reply(&ask("Hi")).await.unwrap_err().kind, ModelErrorKind::RateLimited);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn keys_in_turn() {
    let server = ModelServer::start([
        ScriptedReply::fails(401, json!({})),
        ScriptedReply::busy(429, "60"),
        ScriptedReply::says("One."),
        ScriptedReply::says("Two."),
    ]);
    let mut endpoint = endpoint(&server, ApiDialect::Chat);
    endpoint.keys = ["a", "b", "c"].map(ApiKey::new).to_vec();
    let (model, seen) = of(vec![endpoint], quick());
    assert_eq!(model.reply(&ask("Hi")).await.unwrap().text, "One.");
    assert_eq!(model.reply(&ask("Hi")).await.unwrap().text, "Two.");
    let keys: Vec<_> =
        server.requests().into_iter().map(|one| one.headers["authorization"].clone()).collect();
    assert_eq!(keys, ["Bearer a", "Bearer b", "Bearer c", "Bearer c"]);
    assert!(seen.lock().iter().all(|(_, _, remedy)| *remedy == RetryAction::NextKey));
}

#[tokio::test]
async fn other_models_in_order() {
    let first = ModelServer::start([ScriptedReply::fails(402, json!({})).again()]);
    let second = ModelServer::start([ScriptedReply::fails(
        404,
        json!({"error": {"message": "model gone"}}),
    )
    .again()]);
    let third = ModelServer::start([ScriptedReply::says("Here.").again()]);
    let named = |server: &ModelServer, dialect, name: &str| ModelEndpoint {
        model: name.to_owned(),
        window: Some(name.len() as u64),
        ..endpoint(server, dialect)
    };
    let endpoints = vec![
        named(&first, ApiDialect::Chat, "a"),
        named(&second, ApiDialect::Chat, "bb"),
        named(&third, ApiDialect::Anthropic, "ccc"),
    ];
    let (model, seen) = of(endpoints, quick());
    assert_eq!((model.name(), model.window()), ("a", Some(1)));
    let mut request = ask("Hi");
    request.model = "a-special".to_owned();
    assert_eq!(model.reply(&request).await.unwrap().text, "Here.");
    // A request names the model of the first; the others have names of their own.
    assert_eq!(first.model_requests()[0]["model"], "a-special");
    assert_eq!(third.model_requests()[0]["model"], "ccc");
    assert_eq!((model.name(), model.window()), ("ccc", Some(3)));
    let seen = seen.lock().clone();
    assert_eq!(seen[0], ("a".into(), ModelErrorKind::Quota, RetryAction::NextModel("bb".into())));
    assert_eq!(
        seen[1],
        ("bb".into(), ModelErrorKind::ModelUnavailable, RetryAction::NextModel("ccc".into()))
    );
    // One without money is not asked again at once.
    model.reply(&request).await.unwrap();
    assert_eq!(first.requests().len(), 1);
}

/// What would fail everywhere is not tried everywhere.
#[tokio::test]
async fn a_conversation_that_is_too_long_is_no_reason_for_another_model() {
    let first = ModelServer::start([ScriptedReply::fails(413, json!(null))]);
    let second = ModelServer::start([ScriptedReply::says("Here.")]);
    let endpoints = vec![endpoint(&first, ApiDialect::Chat), endpoint(&second, ApiDialect::Chat)];
    let (model, _) = of(endpoints, quick());
    assert_eq!(model.reply(&ask("Hi")).await.unwrap_err().kind, ModelErrorKind::ContextTooLong);
    assert!(second.requests().is_empty());
}

#[tokio::test]
async fn a_conversation_that_cannot_be_shorter_is_for_the_next_model() {
    let too_long = json!({"error": {"code": "context_length_exceeded"}});
    let small = ModelServer::start([ScriptedReply::fails(400, too_long)]);
    let large = ModelServer::start([ScriptedReply::says("Here.")]);
    let endpoints = vec![endpoint(&small, ApiDialect::Chat), endpoint(&large, ApiDialect::Chat)];
    let (model, _) = of(endpoints, quick());
    assert!(model.has_fallback());
    let request = ModelRequest { cannot_shorten: true, ..ask("Hi") };
    assert_eq!(model.reply(&request).await.unwrap().text, "Here.");
}

#[tokio::test]
async fn nothing_that_was_shown_for_good_is_asked_for_again() {
    let late = || ScriptedReply::from_steps([ReplyStep::Text("Half".into()), ReplyStep::Cut]);
    // It breaks before anything was shown: asked again. After: not.
    let early = ScriptedReply::from_steps([ReplyStep::Fail(
        json!({"error": {"code": 503, "message": "x"}}),
    )]);
    let server = ModelServer::start([early, late(), ScriptedReply::says("Whole.")]);
    let (model, _) = of(vec![endpoint(&server, ApiDialect::Chat)], quick());
    let request = ModelRequest { can_retract: false, ..ask("Hi") };
    let (seen, fault) = events(&*model, &request).await;
    assert!(seen.contains(&ReplyEvent::Text("Half".into())));
    assert!(fault.unwrap().is_mid_reply);
    assert_eq!(server.requests().len(), 2);

    // Unless it can be taken back.
    let server = ModelServer::start([late(), late(), ScriptedReply::says("Whole.")]);
    let (model, _) = of(vec![endpoint(&server, ApiDialect::Chat)], quick());
    let reply = model.reply(&ask("Hi")).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("Whole.", FinishReason::Stop));
}

#[tokio::test]
async fn an_answer_that_always_breaks_off_is_for_another_model() {
    let late = || ScriptedReply::from_steps([ReplyStep::Text("Half".into()), ReplyStep::Cut]);
    let first = ModelServer::start([late().again()]);
    let second = ModelServer::start([ScriptedReply::says("Whole.")]);
    let endpoints = vec![endpoint(&first, ApiDialect::Chat), endpoint(&second, ApiDialect::Chat)];
    let (model, _) = of(endpoints, quick());
    let reply = model.reply(&ask("Hi")).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("Whole.", FinishReason::Stop));
    assert_eq!(first.requests().len(), 4);

    // With nobody left, it is what came last.
    let server = ModelServer::start([late().again()]);
    let (model, _) = of(vec![endpoint(&server, ApiDialect::Chat)], quick());
    let fault = model.reply(&ask("Hi")).await.unwrap_err();
    assert!(fault.is_mid_reply && fault.kind == ModelErrorKind::Network);
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn one_key_alone_is_not_asked_again_without_a_pause() {
    for wait in ["0", "-5"] {
        let server =
            ModelServer::start([ScriptedReply::busy(429, wait), ScriptedReply::says("At last.")]);
        let (model, seen) = of(vec![endpoint(&server, ApiDialect::Chat)], quick());
        assert_eq!(model.reply(&ask("Hi")).await.unwrap().text, "At last.");
        let seen = seen.lock();
        let RetryAction::Wait(pause) = seen[0].2 else { panic!("{seen:?}") };
        assert!(!pause.is_zero());
    }
}
