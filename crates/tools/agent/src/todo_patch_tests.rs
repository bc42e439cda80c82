#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn task(item: &Value) -> TodoTask {
    let patch = TodoPatch::deserialize(item).unwrap();
    let id = patch.id.clone().unwrap_or_default();
    patch.into_task(id)
}

#[test]
fn what_is_missing_is_filled_in() {
    let expected = TodoTask {
        id: String::new(),
        content: "(no description)".into(),
        status: TodoStatus::Pending,
    };
    for item in [
        json!({}),
        json!({"id": null, "content": null, "status": null}),
        json!({"id": " ", "content": "\n", "status": ""}),
        json!({"id": ["x"], "content": {"text": "y"}, "status": [[1]], "note": {"a": [1]}}),
    ] {
        assert_eq!(task(&item), expected, "{item}");
    }
}

#[test]
fn what_is_no_object_is_shown_as_such() {
    for item in [
        json!(null),
        json!("x"),
        json!(true),
        json!(-1),
        json!(1),
        json!(1.5),
        json!([[{"id": 1}]]),
    ] {
        assert_eq!(task(&item).content, "(invalid item)", "{item}");
        assert_eq!(TodoPatch::deserialize(&item).unwrap().id, None);
    }
}

#[test]
fn scalars_are_read_as_text() {
    for (id, expected) in
        [(json!(1), "1"), (json!(-2), "-2"), (json!(1.5), "1.5"), (json!(true), "true")]
    {
        assert_eq!(task(&json!({"id": id})).id, expected);
    }
    assert_eq!(task(&json!({"content": 42})).content, "42");
    assert_eq!(task(&json!({"content": "  padded "})).content, "padded");
}

#[test]
fn a_long_item_is_cut_at_a_character() {
    let exact = "é".repeat(MAX_CONTENT_CHARS);
    assert_eq!(task(&json!({"content": exact.clone()})).content, exact);
    let cut = task(&json!({"content": format!("{exact}!")})).content;
    assert_eq!(cut.chars().count(), MAX_CONTENT_CHARS);
    assert!(cut.starts_with('é') && cut.ends_with(TRUNCATION_MARK));
}

#[test]
fn depth_is_no_danger() {
    let deep = (0..20_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let item = Value::Object([("content".to_owned(), deep)].into_iter().collect());
    assert_eq!(task(&item).content, "(no description)");
    // Dropping so deep a value would recurse.
    std::mem::forget(item);
    let text = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let error = TodoRequest::deserialize(&Value::from(text)).unwrap_err();
    assert!(error.to_string().contains("a list of objects"), "{error}");
}

#[test]
fn a_list_needs_one_object() {
    for list in [json!(["nope"]), json!([1, null, [{"id": "a"}]]), json!("[1, 2]")] {
        let error = TodoRequest::deserialize(&list).unwrap_err();
        assert!(error.to_string().contains("a list of objects"), "{list}: {error}");
    }
    for list in [json!([]), json!([1, {}]), json!("[]")] {
        assert!(TodoRequest::deserialize(&list).is_ok(), "{list}");
    }
}

proptest! {
    #[test]
    fn text_and_value_read_alike(ids in prop::collection::vec(prop::option::of("[a-z]{0,3}"), 0..6)) {
        let list: Vec<Value> = ids.iter().map(|id| json!({"id": id, "content": "x"})).collect();
        let text = Value::from(json!(list).to_string());
        let (TodoRequest::Write(a), TodoRequest::Write(b)) = (
            TodoRequest::deserialize(&json!(list)).unwrap(),
            TodoRequest::deserialize(&text).unwrap(),
        ) else {
            return Err(TestCaseError::fail("a list must be written"));
        };
        prop_assert_eq!(a, b);
    }
}
