//! The module that scripts import, generated from the tool schemas.

use std::fmt::Write as _;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::callable_tools::{CallableTool, ToolParameter};
use crate::limits::ScriptLanguage;

const PYTHON_MODULE: &str = include_str!("assets/hermes_tools.py");
const NODE_MODULE: &str = concat!(
    "'use strict';\n",
    include_str!("assets/frames.cjs"),
    include_str!("assets/hermes_tools.cjs")
);
const NODE_PRELUDE: &str = include_str!("assets/prelude.cjs");
/// Resolves `import` and `require` to the same module.
const PACKAGE_JSON: &str = r#"{"name":"hermes_tools","main":"index.cjs","exports":{"import":"./index.mjs","require":"./index.cjs"}}"#;

/// Characters of a description that are kept.
const MAX_DESCRIPTION_CHARS: usize = 600;
/// Depth to which nested types are spelled out.
const MAX_TYPE_DEPTH: usize = 4;

/// Keywords that cannot be parameter names in Python.
const PYTHON_KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Names that the module defines or its functions use.
const RESERVED_NAMES: [&str; 10] = [
    "ToolError",
    "ToolResult",
    "aio",
    "dict",
    "globals",
    "json_parse",
    "retry",
    "shell_quote",
    "tools",
    "super",
];

/// Files of a script's directory, by name.
pub(crate) type ModuleFiles = Vec<(&'static str, String)>;

/// Cache of generated modules; they change only when the tools do.
#[derive(Debug, Default)]
pub(crate) struct StubCache {
    stubs: Mutex<Vec<CachedStub>>,
}

#[derive(Debug)]
struct CachedStub {
    language: ScriptLanguage,
    tools: Arc<Vec<CallableTool>>,
    files: Arc<ModuleFiles>,
}

/// Cached tool sets: sessions differ in them.
const MAX_CACHED_STUBS: usize = 8;

impl StubCache {
    /// Returns the module files for these tools.
    pub(crate) fn module_files(
        &self,
        language: ScriptLanguage,
        tools: &Arc<Vec<CallableTool>>,
    ) -> Arc<ModuleFiles> {
        let mut made = self.stubs.lock();
        if let Some(known) = made.iter().find(|it| it.language == language && it.tools == *tools) {
            return Arc::clone(&known.files);
        }
        let files = Arc::new(match language {
            ScriptLanguage::Python => vec![("lib/hermes_tools.py", python_module(tools))],
            ScriptLanguage::JavaScript => node_package(tools),
        });
        if made.len() >= MAX_CACHED_STUBS {
            made.remove(0);
        }
        made.push(CachedStub { language, tools: Arc::clone(tools), files: Arc::clone(&files) });
        files
    }
}

/// Generates the Python module.
pub(crate) fn python_module(tools: &[CallableTool]) -> String {
    let mut text = PYTHON_MODULE.to_owned();
    let begin = text.len();
    for tool in tools {
        let name = python_name(&tool.name);
        let (named, unnamed): (Vec<_>, Vec<_>) =
            tool.parameters.iter().partition(|it| is_identifier(&it.name));
        let mut signature: Vec<String> = named.iter().map(|it| python_parameter(it)).collect();
        let rest = (tool.accepts_extra || !unnamed.is_empty()).then(|| "**more".to_owned());
        signature.extend(rest.clone());
        let pairs = named
            .iter()
            .map(|it| format!("{}: {}", quote(&it.name), python_parameter_name(&it.name)));
        let pairs: Vec<String> = pairs.chain(rest).collect();
        let _ = write!(
            text,
            "\n\ndef {name}({}) -> dict:\n    {}\n    return _call({}, {{{}}})\n",
            signature.join(", "),
            quote(&python_doc(tool)),
            quote(&tool.name),
            pairs.join(", "),
        );
    }
    // `typing.get_type_hints` has to resolve it.
    if text.get(begin..).is_some_and(|made| made.contains("Literal[")) {
        text.insert_str(begin, "\n\nfrom typing import Literal\n");
    }
    let names: Vec<String> = tools.iter().map(|tool| quote(&python_name(&tool.name))).collect();
    let _ = write!(
        text,
        "\n\ndef tools():\n    \"\"\"The names of the functions that are tools.\"\"\"\n    return [{}]\n",
        names.join(", ")
    );
    text
}

fn python_parameter(parameter: &ToolParameter) -> String {
    let name = python_parameter_name(&parameter.name);
    let kind = python_type(&parameter.schema, MAX_TYPE_DEPTH);
    if parameter.is_required {
        return format!("{name}: {kind}");
    }
    let default = parameter.default().map_or_else(|| "None".to_owned(), python_value);
    format!("{name}: {kind} = {default}")
}

fn python_doc(tool: &CallableTool) -> String {
    let mut text = excerpt(&tool.description);
    let shown: Vec<_> = tool.parameters.iter().filter(|it| !it.description().is_empty()).collect();
    if !shown.is_empty() {
        text.push_str("\n\nArgs:");
    }
    for parameter in shown {
        let _ = write!(
            text,
            "\n    {}: {}",
            python_parameter_name(&parameter.name),
            excerpt(parameter.description())
        );
    }
    text
}

/// Returns a type as a Python annotation, which is evaluated only on request.
fn python_type(schema: &Value, depth: usize) -> String {
    if depth == 0 {
        return "object".to_owned();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> =
            values.iter().filter(|it| !it.is_null()).map(python_value).collect();
        return if values.is_empty() {
            "None".into()
        } else {
            format!("Literal[{}]", values.join(", "))
        };
    }
    if let Some(choices) = schema.get("anyOf").or(schema.get("oneOf")).and_then(Value::as_array) {
        return union_type(choices.iter().map(|it| python_type(it, depth - 1)));
    }
    match schema.get("type") {
        Some(Value::String(kind)) => plain_type(kind, schema, depth),
        Some(Value::Array(kinds)) => union_type(
            kinds.iter().filter_map(Value::as_str).map(|kind| plain_type(kind, schema, depth)),
        ),
        _ => "object".to_owned(),
    }
}

fn plain_type(kind: &str, schema: &Value, depth: usize) -> String {
    match kind {
        "string" => "str".to_owned(),
        "integer" => "int".to_owned(),
        "number" => "float".to_owned(),
        "boolean" => "bool".to_owned(),
        "null" => "None".to_owned(),
        "object" => "dict".to_owned(),
        "array" => match schema.get("items") {
            Some(items) => format!("list[{}]", python_type(items, depth - 1)),
            None => "list".to_owned(),
        },
        _ => "object".to_owned(),
    }
}

fn union_type(kinds: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for kind in kinds {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    if all.is_empty() { "object".to_owned() } else { all.join(" | ") }
}

/// Returns a value as a Python default; mutable values become `None`.
fn python_value(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quote(text),
        Value::Null | Value::Array(_) | Value::Object(_) => "None".to_owned(),
    }
}

/// Quotes a text. Python and JavaScript both accept JSON string syntax.
fn quote(text: &str) -> String {
    // JavaScript treats, or once treated, these as line terminators.
    let text = Value::from(text).to_string();
    text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").replace('\u{7f}', "\\u007f")
}

fn python_name(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let starts = name.starts_with(|c: char| c.is_ascii_digit() || c == '_');
    if starts || PYTHON_KEYWORDS.contains(&&*name) || RESERVED_NAMES.contains(&&*name) {
        return format!("tool_{}", name.trim_start_matches('_'));
    }
    name
}

/// Returns a valid Python parameter name.
fn python_parameter_name(name: &str) -> String {
    if PYTHON_KEYWORDS.contains(&name) || name == "more" {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn excerpt(text: &str) -> String {
    hermes_core::text::excerpt(text, MAX_DESCRIPTION_CHARS).into_owned()
}

/// Generates the Node package.
fn node_package(tools: &[CallableTool]) -> ModuleFiles {
    let mut text = NODE_MODULE.to_owned();
    let mut module =
        "import tools from './index.cjs';\nexport default tools;\nexport const { ToolError, json_parse, retry, shell_quote } = tools;\n"
            .to_owned();
    for tool in tools {
        let name = python_name(&tool.name);
        let names: Vec<String> = tool.parameters.iter().map(|it| quote(&it.name)).collect();
        let _ = write!(
            text,
            "\n/**\n{} */\nexports.{name} = tool({}, [{}]);\n",
            javascript_doc(tool),
            quote(&tool.name),
            names.join(", ")
        );
        let _ = writeln!(module, "export const {name} = tools.{name};");
    }
    let names: Vec<String> = tools.iter().map(|tool| quote(&python_name(&tool.name))).collect();
    let _ = write!(
        text,
        "\n/** The names of the functions that are tools. */\nexports.tools = () => [{}];\n",
        names.join(", ")
    );
    module.push_str("export const names = tools.tools;\nexport { names as tools };\n");
    vec![
        ("node_modules/hermes_tools/index.cjs", text),
        ("node_modules/hermes_tools/index.mjs", module),
        ("node_modules/hermes_tools/package.json", PACKAGE_JSON.to_owned()),
        ("prelude.cjs", NODE_PRELUDE.to_owned()),
    ]
}

fn javascript_doc(tool: &CallableTool) -> String {
    let mut text = String::new();
    let mut line = |said: &str| {
        for part in said.replace("*/", "* /").lines() {
            let _ = writeln!(text, " * {part}");
        }
    };
    line(&excerpt(&tool.description));
    for parameter in &tool.parameters {
        let kind = javascript_type(&parameter.schema, MAX_TYPE_DEPTH);
        let name = match parameter.is_required {
            true => parameter.name.clone(),
            false => format!("[{}]", parameter.name),
        };
        line(&format!("@param {{{kind}}} {name} {}", excerpt(parameter.description())));
    }
    line("@returns {Promise<object>}");
    text
}

fn javascript_type(schema: &Value, depth: usize) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return union_type(values.iter().map(Value::to_string));
    }
    if let Some(choices) = schema.get("anyOf").or(schema.get("oneOf")).and_then(Value::as_array)
        && depth > 0
    {
        return union_type(choices.iter().map(|it| javascript_type(it, depth - 1)));
    }
    let plain = |kind: &str| match kind {
        "string" | "boolean" | "null" | "object" => kind.to_owned(),
        "integer" | "number" => "number".to_owned(),
        "array" => "Array".to_owned(),
        _ => "*".to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(kind)) => plain(kind),
        Some(Value::Array(kinds)) => union_type(kinds.iter().filter_map(Value::as_str).map(plain)),
        _ => "*".to_owned(),
    }
}

#[cfg(test)]
#[path = "stubs_tests.rs"]
mod tests;
