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

/// A user who answers each question with its text, but not those about money.
struct Echo;

impl Port for Echo {
    fn ask<'a>(&'a self, question: &'a str, _: &'a [String]) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { (!question.contains("money")).then(|| question.to_owned()) })
    }
}

async fn ask_echo(arguments: Value) -> Result<Value, ToolError> {
    let mut cx = ToolContext::bare(std::env::temp_dir());
    cx.ports = Arc::new(Ports::new().with::<dyn Port>(Arc::new(Echo)));
    let output = erase(Clarify).bind(&arguments)?.run(cx).await?;
    Ok(serde_json::from_str(output.content()).unwrap())
}

#[tokio::test]
async fn several_questions_are_answered_in_order() {
    let questions = json!([
        {"question": "Which?", "choices": ["a", "b"]}, {"question": "How much money?"},
        {"question": "Which?"}]);
    let answer = ask_echo(json!({"questions": questions})).await.unwrap();
    let answers = answer["answers"].as_array().unwrap();
    let said: Vec<&Value> = answers.iter().map(|answer| &answer["user_response"]).collect();
    assert_eq!(said, ["(1/3) Which?", "", "(3/3) Which?"]);
    assert_eq!(answers[0]["choices_offered"], json!(["a", "b"]));
    assert_eq!(answers[0]["question"], "Which?", "without its number");
    assert!(answers[1]["note"].as_str().unwrap().contains("does not want to answer"));
    assert_eq!(answers.len(), 3);
    let one = ask_echo(json!({"questions": [{"question": "Which?"}]})).await.unwrap();
    assert_eq!(one["answers"][0]["user_response"], "Which?");
}

#[tokio::test]
async fn several_questions_are_bounded_and_complete() {
    let many = vec![json!({"question": "Which?"}); 5];
    let both = json!({"question": "Which?", "questions": [{"question": "Which?"}]});
    let blank = json!({"questions": [{"question": "Which?"}, {"question": " "}]});
    for wrong in [json!({"questions": many}), both, blank, json!({}), json!({"questions": []})] {
        let error = ask_echo(wrong.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments, "{wrong}");
    }
    let unanswered = json!({"questions": [{"question": "money?"}, {"question": "more money?"}]});
    let error = ask_echo(unanswered).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.details()["questions"], json!(["money?", "more money?"]));
}
