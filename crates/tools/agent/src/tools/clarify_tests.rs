#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use hermes_core::{BoxFuture, ErrorKind, Ports, erase};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;

/// A user who answers so, and remembers what was offered.
struct User(Option<&'static str>, Mutex<Vec<String>>);

impl Port for User {
    fn ask<'a>(&'a self, _: &'a str, choices: &'a [String]) -> BoxFuture<'a, Option<String>> {
        *self.1.lock() = choices.to_vec();
        Box::pin(async { self.0.map(str::to_owned) })
    }
}

async fn ask(user: Option<Arc<User>>, arguments: Value) -> Result<Value, ToolError> {
    let mut cx = ToolContext::bare(std::env::temp_dir());
    if let Some(user) = user {
        cx.ports = Arc::new(Ports::new().with::<dyn Port>(user));
    }
    let output = erase(Clarify).bind(&arguments)?.run(cx).await?;
    Ok(serde_json::from_str(output.content()).unwrap())
}

fn user(answer: Option<&'static str>) -> Arc<User> {
    Arc::new(User(answer, Mutex::default()))
}

#[tokio::test]
async fn the_user_is_asked() {
    let user = user(Some("b"));
    let choices = json!(["a", {"label": "b", "description": "the\nbetter"}, "", null, "a", 3]);
    let answer = ask(Some(Arc::clone(&user)), json!({"question": " Which? ", "choices": choices}))
        .await
        .unwrap();
    let offered = json!(["a", "b (the better)", "3"]);
    assert_eq!(
        answer,
        json!({"question": "Which?", "choices_offered": offered, "user_response": "b"})
    );
    assert_eq!(json!(*user.1.lock()), offered);
}

#[tokio::test]
async fn too_many_choices_are_said_to_be() {
    let asked = json!({"question": "Which?", "choices": ["1", "2", "3", "4", "5", "6"]});
    let answer = ask(Some(user(Some("x"))), asked).await.unwrap();
    assert_eq!(answer["choices_offered"], json!(["1", "2", "3", "4"]));
    assert!(answer["note"].as_str().unwrap().starts_with("2 choices"));
}

#[tokio::test]
async fn who_says_nothing_does_not_want_to_answer() {
    let answer = ask(Some(user(Some(""))), json!({"question": "Which?"})).await.unwrap();
    assert_eq!(answer["user_response"], "");
    assert!(answer["note"].as_str().unwrap().contains("does not want to answer"), "{answer}");
}

#[tokio::test]
async fn without_anybody_the_caller_gets_the_question() {
    for nobody in [None, Some(user(None))] {
        let error = ask(nobody, json!({"question": "Which?", "choices": ["a"]})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.details()["question"], "Which?");
        assert_eq!(error.details()["choices_offered"], json!(["a"]));
    }
    let empty = ask(Some(user(Some("x"))), json!({"question": " "})).await.unwrap_err();
    assert_eq!(empty.kind(), ErrorKind::InvalidArguments);
}
