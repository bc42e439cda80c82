use std::collections::VecDeque;

use parking_lot::Mutex;
use serde_json::json;

use super::*;

/// A user who gives these answers, one after the other.
struct Script(Mutex<VecDeque<Option<&'static str>>>);

impl Script {
    fn asker(answers: &[Option<&'static str>]) -> UserPrompterAdapter {
        UserPrompterAdapter(Arc::new(Self(Mutex::new(answers.iter().copied().collect()))))
    }
}

impl UserPrompter for Script {
    fn ask<'a>(&'a self, _: &'a str, _: &'a [String]) -> BoxFuture<'a, Option<String>> {
        let next = self.0.lock().pop_front().expect("another answer");
        Box::pin(async move { next.map(str::to_owned) })
    }
}

fn form() -> ServerQuestion {
    let schema = json!({
        "type": "object",
        "required": ["name", "age", "colour"],
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "age": {"type": "integer"},
            "ok": {"type": "boolean", "default": true},
            "note": {"type": "string"},
            "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
            "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        }
    });
    ServerQuestion::Form { message: "Who?".to_owned(), fields: FormField::from_schema(&schema) }
}

#[tokio::test]
async fn a_form_is_filled_in() {
    let asker = Script::asker(&[
        Some("Ann"),
        Some("old"),
        Some("42"),
        Some(""),
        Some(""),
        Some("Red"),
        Some("b, a"),
    ]);
    let ElicitationAnswer::AcceptedForm(filled) = asker.ask("s", &form()).await else {
        panic!("filled in")
    };
    let wanted = json!({"name": "Ann", "age": 42, "ok": true, "colour": "r", "many": ["b", "a"]});
    assert_eq!(Value::Object(filled), wanted);
}

#[tokio::test]
async fn who_leaves_out_what_is_needed_refuses() {
    assert_eq!(Script::asker(&[Some("")]).ask("s", &form()).await, ElicitationAnswer::Declined);
    assert_eq!(
        Script::asker(&[Some("Ann"), None]).ask("s", &form()).await,
        ElicitationAnswer::Cancelled
    );
}

#[tokio::test]
async fn a_form_holds_the_bounds_of_its_fields() {
    let schema = json!({
        "required": ["name", "age", "mail", "some"],
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 4},
            "age": {"type": "integer", "minimum": 0, "maximum": 5},
            "mail": {"type": "string", "format": "email"},
            "some": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
            "torn": {"type": "string", "pattern": "["},
        }
    });
    let form = ServerQuestion::Form {
        message: "Who?".to_owned(),
        fields: FormField::from_schema(&schema),
    };
    let words = ["x", "Annabel", "Ann", "99", "5", "notmail", "a@b.c", "a,b", "b", "any"];
    let asker = Script::asker(&words.map(Some));
    let ElicitationAnswer::AcceptedForm(filled) = asker.ask("s", &form).await else {
        panic!("filled in")
    };
    let wanted = json!({"name": "Ann", "age": 5, "mail": "a@b.c", "some": ["b"], "torn": "any"});
    assert_eq!(Value::Object(filled), wanted);
}

#[tokio::test]
async fn who_only_passes_over_a_form_is_asked_whether_to_send_it() {
    let schema = json!({"properties": {"a": {"type": "string"}, "b": {"default": true}}});
    let form = ServerQuestion::Form {
        message: "Who?".to_owned(),
        fields: FormField::from_schema(&schema),
    };
    let sent = Script::asker(&[Some(""), Some(""), Some("Accept")]).ask("s", &form).await;
    assert_eq!(
        sent,
        ElicitationAnswer::AcceptedForm(Map::from_iter([("b".to_owned(), json!(true))]))
    );
    let unsent = Script::asker(&[Some(""), Some(""), Some("")]).ask("s", &form).await;
    assert_eq!(unsent, ElicitationAnswer::Declined);
}

#[tokio::test]
async fn nobody_is_sent_to_what_is_no_page() {
    for url in ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "x"] {
        let visit = ServerQuestion::OpenUrl { message: "Pay".into(), url: url.into() };
        assert_eq!(Script::asker(&[]).ask("s", &visit).await, ElicitationAnswer::Declined, "{url}");
    }
}

#[tokio::test]
async fn a_visit_and_a_sample_are_agreed_to() {
    let visit = ServerQuestion::OpenUrl { message: "Pay".into(), url: "https://x".into() };
    assert_eq!(Script::asker(&[Some("Done")]).ask("s", &visit).await, ElicitationAnswer::Accepted);
    assert_eq!(Script::asker(&[Some("y")]).ask("s", &visit).await, ElicitationAnswer::Accepted);
    for no in ["Refuse", "n", "yesterday", ""] {
        assert_eq!(Script::asker(&[Some(no)]).ask("s", &visit).await, ElicitationAnswer::Declined);
    }
    let sample = ServerQuestion::Sample { model: "m".into(), prompt: "Hi".into(), max_tokens: 5 };
    assert_eq!(Script::asker(&[None]).ask("s", &sample).await, ElicitationAnswer::Cancelled);
}

#[test]
fn a_schema_that_is_none_has_no_fields() {
    assert!(FormField::from_schema(&json!({"properties": 3})).is_empty());
    assert!(FormField::from_schema(&json!(null)).is_empty());
}
