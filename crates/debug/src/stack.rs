//! Parses stack traces and exceptions.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

/// A stack frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StackFrame {
    /// Its number, from 0 for the innermost.
    pub frame: usize,
    /// The function.
    pub function: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The line.
    pub line: u64,
    /// Whether it is project code.
    #[serde(skip)]
    pub is_own: bool,
    #[serde(skip)]
    pub(crate) id: i64,
}

/// An exception that a program has stopped at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExceptionDetails {
    /// Its class.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its message.
    pub message: String,
}

/// Path fragments of library code, even inside the project.
const LIBRARY_PATH_PARTS: [&str; 8] = [
    "/site-packages/",
    "/dist-packages/",
    "/node_modules/",
    "/.cargo/registry/",
    "/rustc/",
    "/lib/python3",
    "/.venv/",
    "/.pyenv/",
];

/// Parses the response to `stackTrace`; `roots` are the project directories.
pub(crate) fn parse_stack_trace(answer: &Value, roots: &[PathBuf]) -> Vec<StackFrame> {
    let shown = answer.get("stackFrames").and_then(Value::as_array);
    let shown: Vec<&Value> = shown.into_iter().flatten().collect();
    let mut frames: Vec<StackFrame> = shown.iter().map(|one| parse_frame(one, roots)).collect();
    // The outermost frames belong to the bridge.
    let is_ours = |frame: &StackFrame| {
        let file = frame.file.as_deref().unwrap_or(Path::new(""));
        file == Path::new("<string>") || file.ends_with("debugpy/hermes_run.py")
    };
    while frames.len() > 1 && frames.last().is_some_and(is_ours) {
        frames.pop();
    }
    for (at, frame) in frames.iter_mut().enumerate() {
        frame.frame = at;
    }
    frames
}

fn parse_frame(shown: &Value, roots: &[PathBuf]) -> StackFrame {
    let path =
        shown.pointer("/source/path").and_then(Value::as_str).filter(|path| !path.is_empty());
    let name = shown.get("name").and_then(Value::as_str).unwrap_or_default();
    let hint = shown.get("presentationHint").and_then(Value::as_str);
    StackFrame {
        frame: 0,
        function: super::values::truncate(name.trim_end_matches(" (Current frame)"), 200),
        is_own: path.is_some_and(|path| is_project_code(path, roots)) && hint != Some("label"),
        file: path.map(PathBuf::from),
        line: shown.get("line").and_then(Value::as_u64).unwrap_or(0),
        id: shown.get("id").and_then(Value::as_i64).unwrap_or(0),
    }
}

fn is_project_code(path: &str, roots: &[PathBuf]) -> bool {
    roots.iter().filter_map(|root| Path::new(path).strip_prefix(root).ok()).any(|rest| {
        let rest = format!("/{}", rest.display());
        !LIBRARY_PATH_PARTS.iter().any(|part| rest.contains(part))
    })
}

/// Parses the response to `exceptionInfo`.
pub(crate) fn parse_exception_info(answer: &Value) -> ExceptionDetails {
    let text = |path: &str| answer.pointer(path).and_then(Value::as_str);
    let kind = text("/details/typeName").or(text("/exceptionId")).unwrap_or("exception");
    // Strip the remark that debugpy adds for editors.
    let kind = kind.split_once("  ").map_or(kind, |(kind, _)| kind).trim();
    let message = text("/details/message").or(text("/description")).unwrap_or_default();
    ExceptionDetails {
        kind: super::values::truncate(kind, 200),
        message: super::values::truncate(message.trim(), 2_000),
    }
}

#[cfg(test)]
#[path = "stack_tests.rs"]
mod tests;
