//! A directory, and the tools called in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{DynTool, Effect, Grants, ToolContext, WorkingDir};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Place {
    dir: TempDir,
}

pub(crate) fn tool(name: &str) -> Arc<dyn DynTool> {
    hermes_tools_file::tools().into_iter().find(|tool| tool.spec().name == name).unwrap()
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The result, or the error as JSON.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Value {
        self.call_within(Grants::allow_all(), name, arguments).await
    }

    /// The same, within bounds.
    pub(crate) async fn call_within(&self, grants: Grants, name: &str, arguments: Value) -> Value {
        let call = tool(name).bind(&arguments).unwrap();
        let mut cx = ToolContext::bare(self.path());
        cx.grants = Arc::new(grants);
        match call.run(cx).await {
            Ok(output) => serde_json::from_str(output.content()).unwrap(),
            Err(error) => error.to_value(),
        }
    }

    pub(crate) fn effects(&self, name: &str, arguments: Value) -> Vec<Effect> {
        tool(name).bind(&arguments).unwrap().effects(&WorkingDir::new(self.path(), None))
    }
}

/// What `read_file` says of a file of that content.
pub(crate) async fn read(content: impl AsRef<[u8]>, mut arguments: Value) -> Value {
    let place = Place::new();
    place.write("file.txt", content);
    arguments["path"] = json!("file.txt");
    place.call("read_file", arguments).await
}

/// Whether `value` holds all that `subset` says.
pub(crate) fn holds(value: &Value, subset: &Value) -> bool {
    match (value, subset) {
        (Value::Object(value), Value::Object(subset)) => subset
            .iter()
            .all(|(key, expected)| value.get(key).is_some_and(|value| holds(value, expected))),
        (value, expected) => value == expected,
    }
}

/// Runs the examples of a tool.
pub(crate) async fn check_examples(name: &str) {
    let examples = tool(name).spec().examples.clone();
    assert!(!examples.is_empty());
    for example in examples {
        let place = Place::new();
        for (path, content) in &example.files {
            place.write(path, content.as_bytes());
        }
        let result = place.call(name, serde_json::from_str(&example.arguments).unwrap()).await;
        let expected = serde_json::from_str(example.expected.as_deref().unwrap()).unwrap();
        assert!(holds(&result, &expected), "{}: {result}", example.title);
    }
}
