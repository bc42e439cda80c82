//! The contract of tools, as functions that check any tool.

use std::path::Path;
use std::sync::Arc;

use hermes_core::{DynTool, ErrorKind, Grants, ToolCall, ToolContext};
use hermes_engine::{Caller, Engine, is_valid_tool_name};
use serde_json::Value;

/// Checks the specification of the tool. Panics with the problem.
pub fn check_spec(tool: &Arc<dyn DynTool>) {
    let spec = tool.spec();
    let name = &spec.name;
    assert!(is_valid_tool_name(name), "{name}: models refuse this name");
    assert!(!spec.description.trim().is_empty(), "{name}: no description");
    assert!(!spec.emoji.is_empty(), "{name}: no emoji");
    assert!(!spec.examples.is_empty(), "{name}: no example");
    for alias in &spec.aliases {
        assert!(is_valid_tool_name(&alias.name), "{name}: models refuse the alias {}", alias.name);
    }
    let schema = hermes_schema::Schema::new(hermes_schema::tidy_schema(tool.parameters()));
    if let Err(error) = schema.compile() {
        panic!("{name}: broken schema: {error}");
    }
    assert_eq!(schema.raw().get("type"), Some(&Value::from("object")), "{name}: not an object");
    let properties = schema.raw().get("properties").and_then(Value::as_object);
    for (parameter, property) in properties.into_iter().flatten() {
        let described =
            property.get("description").and_then(Value::as_str).is_some_and(|d| !d.is_empty());
        assert!(described, "{name}: parameter {parameter} has no description");
    }
    if let Some(answer) = tool.output_schema() {
        let answer = hermes_schema::Schema::new(answer);
        if let Err(error) = answer.compile() {
            panic!("{name}: broken schema of its answers: {error}");
        }
        let field = |name: &str| answer.raw().pointer(&format!("/properties/{name}")).is_some();
        assert!(!field("result"), "{name}: `result` is for what hooks put in its place");
    }
    for (from, to) in &spec.parameter_aliases {
        let leads = schema.raw().pointer(&format!("/properties/{to}")).is_some();
        assert!(leads, "{name}: parameter alias {from} leads to {to}, which does not exist");
    }
    for example in &spec.examples {
        let arguments: Value = serde_json::from_str(&example.arguments)
            .unwrap_or_else(|e| panic!("{name}: example '{}': {e}", example.title));
        if let Err(violations) = schema.check(&arguments) {
            panic!("{name}: example '{}': {violations:?}", example.title);
        }
    }
}

/// Runs the tool's examples through a whole engine, each in a separate
/// directory. Panics with the problem.
pub async fn check_examples(tool: &Arc<dyn DynTool>) {
    let spec = tool.spec();
    for example in &spec.examples {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (path, content) in &example.files {
            write_file(&dir.path().join(&**path), content);
        }
        let mut engine = Engine::builder().spill_to(dir.path().join(".spill"));
        if spec.toolset != hermes_engine::BRIDGE_TOOLSET {
            engine = engine.tools(vec![Arc::clone(tool)]);
        }
        let engine = engine.build().expect("one tool fits");
        let call = ToolCall::from_text("example", spec.name.clone(), example.arguments.clone());
        let result = engine.call(call, &Caller::new(dir.path())).await;
        engine.shutdown().await;
        let title = &example.title;
        assert!(result.is_success(), "{}: example '{title}' failed: {}", spec.name, result.content);
        if let Some(schema) = tool.output_schema() {
            let got: Value = serde_json::from_str(&result.content).expect("a result is JSON");
            if let Err(violations) = hermes_schema::Schema::new(schema).check(&got) {
                panic!("{}: example '{title}' is not as promised: {violations:?}", spec.name);
            }
        }
        if let Some(gives) = &example.expected {
            let wanted: Value = serde_json::from_str(gives).expect("`gives` is JSON");
            let got: Value = serde_json::from_str(&result.content).expect("a result is JSON");
            assert!(
                contains(&got, &wanted),
                "{}: example '{title}' gave {got}, not {wanted}",
                spec.name
            );
        }
    }
}

/// Runs the tool's examples with every effect denied: a call that declares
/// effects must fail and change nothing. Panics if one succeeds.
pub async fn check_declared_effects(tool: &Arc<dyn DynTool>) {
    let spec = tool.spec();
    for example in &spec.examples {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (path, content) in &example.files {
            write_file(&dir.path().join(&**path), content);
        }
        let before = snapshot_files(dir.path());
        let arguments: Value = serde_json::from_str(&example.arguments).expect("JSON arguments");
        let bound = Arc::clone(tool).bind(&arguments).expect("arguments of an example");
        let mut cx = ToolContext::bare(dir.path());
        if bound.effects(&cx.working_dir).is_empty() {
            continue;
        }
        let grants = Arc::new(Grants::from_effects(&[]));
        cx.session = cx.session.with_grants(Arc::clone(&grants));
        cx.grants = grants;
        let title = &example.title;
        match bound.run(cx).await {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Denied, "{}: {error:?}", spec.name),
            Ok(_) => panic!("{}: '{title}' did what it was not granted", spec.name),
        }
        assert_eq!(snapshot_files(dir.path()), before, "{}: '{title}' left traces", spec.name);
    }
}

/// Every file below a directory, with its content.
fn snapshot_files(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let content = std::fs::read(&path).unwrap_or_default();
                found.push((path, content));
            }
        }
    }
    found.sort();
    found
}

fn write_file(path: &Path, content: &str) {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).expect("a directory for the example");
    }
    std::fs::write(path, content).expect("a file for the example");
}

/// Whether `got` contains `wanted`: objects partially, other values exactly.
pub fn contains(got: &Value, wanted: &Value) -> bool {
    match (got, wanted) {
        (Value::Object(got), Value::Object(wanted)) => {
            wanted.iter().all(|(key, want)| got.get(key).is_some_and(|g| contains(g, want)))
        }
        (Value::Array(got), Value::Array(wanted)) => {
            got.len() == wanted.len() && got.iter().zip(wanted).all(|(g, w)| contains(g, w))
        }
        (got, wanted) => got == wanted,
    }
}
