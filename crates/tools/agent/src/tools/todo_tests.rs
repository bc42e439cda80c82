#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use hermes_core::{ErrorKind, MemorySessionStore, Session, erase};
use serde_json::{Value, json};

use super::*;

fn context() -> ToolContext {
    ToolContext::bare(std::env::temp_dir())
}

async fn call(cx: &ToolContext, arguments: Value) -> Result<Value, ToolError> {
    let bound = erase(Todo).bind(&arguments)?;
    let output = bound.run(cx.clone()).await?;
    Ok(serde_json::from_str(output.content()).unwrap())
}

#[tokio::test]
async fn a_list_is_written_merged_and_read() {
    let cx = context();
    let first = call(
        &cx,
        json!({"todos": [
            {"id": 1, "content": "a", "status": "DONE"},
            {"id": 1, "content": "b", "status": "in_progress"},
            {"content": ""},
            "x"
        ]}),
    )
    .await
    .unwrap();
    assert_eq!(
        first["summary"],
        json!({"total": 3, "pending": 2, "in_progress": 1, "completed": 0, "cancelled": 0})
    );

    let merged = call(
        &cx,
        json!({"merge": true, "todos": [{"id": 1, "status": "completed"}, {"id": 9, "content": "new"}]}),
    )
    .await
    .unwrap();
    assert_eq!(merged["todos"][0], json!({"id": "1", "content": "b", "status": "completed"}));
    assert_eq!(merged["todos"][3], json!({"id": "9", "content": "new", "status": "pending"}));
    assert_eq!(merged["summary"]["total"], 4);
    assert_eq!(first["notes"].as_array().unwrap().len(), 3);
    assert!(merged.get("notes").is_none(), "{merged}");

    assert_eq!(call(&cx, json!({})).await.unwrap(), merged);
    assert_eq!(call(&cx, json!({"merge": true})).await.unwrap(), merged);
}

#[tokio::test]
async fn an_empty_list_clears_and_an_empty_merge_does_not() {
    let cx = context();
    call(&cx, json!({"todos": [{"id": "a", "content": "x"}]})).await.unwrap();
    let kept = call(&cx, json!({"todos": [], "merge": true})).await.unwrap();
    assert_eq!(kept["summary"]["total"], 1);
    let cleared = call(&cx, json!({"todos": []})).await.unwrap();
    assert_eq!(cleared["todos"], json!([]));
}

#[tokio::test]
async fn a_session_has_its_own_list() {
    let store = Arc::new(MemorySessionStore::default());
    let mut one = context();
    one.session = Session::new("one", store.clone());
    let mut two = context();
    two.session = Session::new("two", store);
    call(&one, json!({"todos": [{"id": "a", "content": "x"}]})).await.unwrap();
    assert_eq!(call(&one, json!({})).await.unwrap()["summary"]["total"], 1);
    assert_eq!(call(&two, json!({})).await.unwrap()["summary"]["total"], 0);
}

#[tokio::test]
async fn a_list_may_come_as_text() {
    let cx = context();
    let text = r#"[{"id": "a", "content": "x", "status": "completed"}]"#;
    let answer = call(&cx, json!({"todos": text})).await.unwrap();
    assert_eq!(answer["todos"], json!([{"id": "a", "content": "x", "status": "completed"}]));
    assert_eq!(call(&cx, json!({"todos": null})).await.unwrap(), answer);
}

#[tokio::test]
async fn what_is_not_a_list_is_refused() {
    let cx = context();
    call(&cx, json!({"todos": [{"id": "a", "content": "keep"}]})).await.unwrap();
    for todos in [json!("nope"), json!("{}"), json!(""), json!({"id": "a"}), json!(3), json!(true)]
    {
        let error = call(&cx, json!({"todos": todos})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
        assert!(error.message().contains("a list of {id, content, status}"), "{error}");
    }
    assert_eq!(call(&cx, json!({})).await.unwrap()["summary"]["total"], 1);
    let error = call(&cx, json!({"todos": ["nope"]})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert_eq!(call(&cx, json!({})).await.unwrap()["todos"][0]["content"], "keep");
    let error = call(&context(), json!({"todo": []})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn items_over_the_limit_are_counted() {
    let items: Vec<Value> = (0..300).map(|n| json!({"id": n, "content": "x"})).collect();
    let answer = call(&context(), json!({"todos": items})).await.unwrap();
    assert_eq!(answer["summary"]["total"], 256);
    assert_eq!(answer["dropped"], 44);
}

#[test]
fn only_writing_is_exclusive() {
    let at = WorkingDir::new("/", None);
    let scope = |arguments: Value| {
        let effects = erase(Todo).bind(&arguments).unwrap().effects(&at);
        effects.first().unwrap().to_string()
    };
    assert_eq!(scope(json!({})), "plan:read todo");
    assert_eq!(scope(json!({"todos": []})), "plan:write todo");
}

#[test]
fn the_schema_shows_the_shape_and_admits_the_rest() {
    let schema = erase(Todo).parameters();
    let todos = &schema["properties"]["todos"];
    let status = &todos["items"]["properties"]["status"]["description"];
    assert!(status.as_str().unwrap().contains("in_progress"));
    assert!(todos["description"].as_str().unwrap().contains("Leave out to read"));
    for strict in ["type", "anyOf", "default"] {
        assert!(todos.get(strict).is_none(), "{todos}");
    }
    assert!(todos["items"].get("type").is_none() && todos["items"].get("required").is_none());
    assert!(schema.get("required").is_none());
}

#[test]
fn models_are_shown_a_strict_schema() {
    let tool = erase(Todo);
    let shown = tool.overrides().unwrap();
    let parameters = &shown["parameters"];
    let items = &parameters["properties"]["todos"]["items"];
    assert_eq!(parameters["properties"]["todos"]["type"], "array");
    assert_eq!(items["required"], json!(["id", "content", "status"]));
    for status in items["properties"]["status"]["enum"].as_array().unwrap() {
        let name = status.as_str().unwrap();
        assert_eq!(serde_json::to_value(TodoStatus::from_name(name)).unwrap(), name);
    }
    let lenient = tool.parameters();
    let names = |schema: &Value| {
        let properties = schema["properties"].as_object().unwrap();
        properties.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(parameters), names(&lenient));
    for name in names(&lenient) {
        let text = |schema: &Value| schema["properties"][&name]["description"].clone();
        assert_eq!(text(parameters), text(&lenient));
    }
}

#[tokio::test]
async fn todo_read_presets_no_items_and_reads() {
    let spec = Todo::spec();
    let alias = spec.aliases.iter().find(|alias| alias.name == "todo_read").unwrap();
    let preset: Value = serde_json::from_str(alias.preset_arguments.as_deref().unwrap()).unwrap();
    assert_eq!(preset, json!({ "todos": null }));
    let cx = context();
    call(&cx, json!({ "todos": [{ "description": "a" }] })).await.unwrap();
    let read = call(&cx, preset).await.unwrap();
    assert_eq!(read["todos"], json!([{ "id": "1", "content": "a", "status": "pending" }]));
}
