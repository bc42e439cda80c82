//! Asking again, with other keys, other models.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_llm::find::steady;
use hermes_llm::{
    Dialect, Endpoint, Event, FaultKind, Finish, Http, Key, Model, Remedy, Request, Retries,
};
use hermes_testkit::models::{ModelServer, Scene, Step};
use serde_json::json;

use crate::desk::{ask, endpoint, events};

type Seen = Arc<Mutex<Vec<(String, FaultKind, Remedy)>>>;

fn quick() -> Retries {
    let first = Duration::from_millis(5);
    Retries { most: 3, first, longest: Duration::from_secs(5) }
}

fn of(endpoints: Vec<Endpoint>, retries: Retries) -> (Arc<dyn Model>, Seen) {
    let seen = Seen::default();
    let own = Arc::clone(&seen);
    let told = Arc::new(move |setback: &hermes_llm::Setback<'_>| {
        let one = (setback.model.to_owned(), setback.fault.kind, setback.remedy.clone());
        own.lock().unwrap().push(one);
    });
    let endpoints: Vec<_> = endpoints.into_iter().map(Arc::new).collect();
    (steady(&Arc::new(Http::default()), &endpoints, retries, told), seen)
}

#[tokio::test]
async fn troubles_that_pass_are_waited_for() {
    let server = ModelServer::start([
        Scene::busy(429, "0.01"),
        Scene::fails(529, json!(null)),
        Scene::of([Step::Cut]),
        Scene::says("At last."),
    ]);
    let (model, seen) = of(vec![endpoint(&server, Dialect::Chat)], quick());
    assert_eq!(model.reply(&ask("Hi")).await.unwrap().text, "At last.");
    let seen = seen.lock().unwrap();
    let kinds: Vec<_> = seen.iter().map(|(_, kind, _)| *kind).collect();
    assert_eq!(kinds, [FaultKind::Rate, FaultKind::Overloaded, FaultKind::Network]);
    assert_eq!(seen[0].2, Remedy::Pause(Duration::from_millis(10)));
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn it_ends_some_time() {
    let server = ModelServer::start([Scene::fails(500, json!("no")).again()]);
    let (model, seen) = of(vec![endpoint(&server, Dialect::Chat)], quick());
    let fault = model.reply(&ask("Hi")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Server);
    assert_eq!((server.requests().len(), seen.lock().unwrap().len()), (4, 3));
}

#[tokio::test]
async fn what_does_not_pass_is_not_asked_again() {
    for (code, body) in [
        (400, json!({"error": {"code": "context_length_exceeded"}})),
        (400, json!({"error": {"message": "bad field"}})),
        (401, json!({})),
        (404, json!({"error": {"message": "model not found"}})),
    ] {
        let server = ModelServer::start([Scene::fails(code, body.clone()).again()]);
        let (model, _) = of(vec![endpoint(&server, Dialect::Chat)], quick());
        model.reply(&ask("Hi")).await.unwrap_err();
        assert_eq!(server.requests().len(), 1, "{body}");
    }
    // Nor is a server that wants to be left alone for long.
    let server = ModelServer::start([Scene::busy(429, "3600").again()]);
    let (model, _) = of(vec![endpoint(&server, Dialect::Chat)], quick());
    assert_eq!(model.reply(&ask("Hi")).await.unwrap_err().kind, FaultKind::Rate);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn keys_in_turn() {
    let server = ModelServer::start([
        Scene::fails(401, json!({})),
        Scene::busy(429, "60"),
        Scene::says("One."),
        Scene::says("Two."),
    ]);
    let mut endpoint = endpoint(&server, Dialect::Chat);
    endpoint.keys = ["a", "b", "c"].map(Key::new).to_vec();
    let (model, seen) = of(vec![endpoint], quick());
    assert_eq!(model.reply(&ask("Hi")).await.unwrap().text, "One.");
    assert_eq!(model.reply(&ask("Hi")).await.unwrap().text, "Two.");
    let keys: Vec<_> =
        server.requests().into_iter().map(|one| one.headers["authorization"].clone()).collect();
    assert_eq!(keys, ["Bearer a", "Bearer b", "Bearer c", "Bearer c"]);
    assert!(seen.lock().unwrap().iter().all(|(_, _, remedy)| *remedy == Remedy::Key));
}

#[tokio::test]
async fn other_models_in_order() {
    let first = ModelServer::start([Scene::fails(402, json!({})).again()]);
    let second =
        ModelServer::start(
            [Scene::fails(404, json!({"error": {"message": "model gone"}})).again()],
        );
    let third = ModelServer::start([Scene::says("Here.").again()]);
    let named = |server: &ModelServer, dialect, name: &str| Endpoint {
        model: name.to_owned(),
        window: Some(name.len() as u64),
        ..endpoint(server, dialect)
    };
    let endpoints = vec![
        named(&first, Dialect::Chat, "a"),
        named(&second, Dialect::Chat, "bb"),
        named(&third, Dialect::Anthropic, "ccc"),
    ];
    let (model, seen) = of(endpoints, quick());
    assert_eq!((model.name(), model.window()), ("a", Some(1)));
    let mut request = ask("Hi");
    request.model = "a-special".to_owned();
    assert_eq!(model.reply(&request).await.unwrap().text, "Here.");
    // A request names the model of the first; the others have names of their own.
    assert_eq!(first.asked()[0]["model"], "a-special");
    assert_eq!(third.asked()[0]["model"], "ccc");
    assert_eq!((model.name(), model.window()), ("ccc", Some(3)));
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen[0], ("a".into(), FaultKind::Quota, Remedy::Model("bb".into())));
    assert_eq!(seen[1], ("bb".into(), FaultKind::Model, Remedy::Model("ccc".into())));
    // One without money is not asked again at once.
    model.reply(&request).await.unwrap();
    assert_eq!(first.requests().len(), 1);
}

/// What would fail everywhere is not tried everywhere.
#[tokio::test]
async fn a_conversation_that_is_too_long_is_no_reason_for_another_model() {
    let first = ModelServer::start([Scene::fails(413, json!(null))]);
    let second = ModelServer::start([Scene::says("Here.")]);
    let endpoints = vec![endpoint(&first, Dialect::Chat), endpoint(&second, Dialect::Chat)];
    let (model, _) = of(endpoints, quick());
    assert_eq!(model.reply(&ask("Hi")).await.unwrap_err().kind, FaultKind::Length);
    assert!(second.requests().is_empty());
}

#[tokio::test]
async fn a_conversation_that_cannot_be_shorter_is_for_the_next_model() {
    let too_long = json!({"error": {"code": "context_length_exceeded"}});
    let small = ModelServer::start([Scene::fails(400, too_long)]);
    let large = ModelServer::start([Scene::says("Here.")]);
    let endpoints = vec![endpoint(&small, Dialect::Chat), endpoint(&large, Dialect::Chat)];
    let (model, _) = of(endpoints, quick());
    assert!(model.has_others());
    let request = Request { is_shortest: true, ..ask("Hi") };
    assert_eq!(model.reply(&request).await.unwrap().text, "Here.");
}

#[tokio::test]
async fn nothing_that_was_shown_for_good_is_asked_for_again() {
    let late = || Scene::of([Step::Text("Half".into()), Step::Cut]);
    // It breaks before anything was shown: asked again. After: not.
    let early = Scene::of([Step::Fail(json!({"error": {"code": 503, "message": "x"}}))]);
    let server = ModelServer::start([early, late(), Scene::says("Whole.")]);
    let (model, _) = of(vec![endpoint(&server, Dialect::Chat)], quick());
    let request = Request { takes_back: false, ..ask("Hi") };
    let (seen, fault) = events(&*model, &request).await;
    assert!(seen.contains(&Event::Text("Half".into())));
    assert!(fault.unwrap().is_late);
    assert_eq!(server.requests().len(), 2);

    // Unless it can be taken back.
    let server = ModelServer::start([late(), late(), Scene::says("Whole.")]);
    let (model, _) = of(vec![endpoint(&server, Dialect::Chat)], quick());
    let reply = model.reply(&ask("Hi")).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("Whole.", Finish::Stop));
}

#[tokio::test]
async fn an_answer_that_always_breaks_off_is_for_another_model() {
    let late = || Scene::of([Step::Text("Half".into()), Step::Cut]);
    let first = ModelServer::start([late().again()]);
    let second = ModelServer::start([Scene::says("Whole.")]);
    let endpoints = vec![endpoint(&first, Dialect::Chat), endpoint(&second, Dialect::Chat)];
    let (model, _) = of(endpoints, quick());
    let reply = model.reply(&ask("Hi")).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("Whole.", Finish::Stop));
    assert_eq!(first.requests().len(), 4);

    // With nobody left, it is what came last.
    let server = ModelServer::start([late().again()]);
    let (model, _) = of(vec![endpoint(&server, Dialect::Chat)], quick());
    let fault = model.reply(&ask("Hi")).await.unwrap_err();
    assert!(fault.is_late && fault.kind == FaultKind::Network);
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn one_key_alone_is_not_asked_again_without_a_pause() {
    for wait in ["0", "-5"] {
        let server = ModelServer::start([Scene::busy(429, wait), Scene::says("At last.")]);
        let (model, seen) = of(vec![endpoint(&server, Dialect::Chat)], quick());
        assert_eq!(model.reply(&ask("Hi")).await.unwrap().text, "At last.");
        let seen = seen.lock().unwrap();
        let Remedy::Pause(pause) = seen[0].2 else { panic!("{seen:?}") };
        assert!(!pause.is_zero());
    }
}
