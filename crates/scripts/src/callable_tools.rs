//! The tools that a script may call.

use hermes_core::EngineHandle;
use serde_json::{Map, Value};

/// Tools that scripts may call if the session has them.
const DEFAULT_TOOLS: [&str; 7] =
    ["web_search", "web_extract", "read_file", "write_file", "search_files", "patch", "terminal"];

/// Tools that scripts may never call, whatever the settings say.
const FORBIDDEN_TOOLS: [&str; 1] = ["execute_code"];

/// Parameters whose effect would outlive the script, or that need a user's
/// answer.
const HIDDEN_TERMINAL_PARAMETERS: [&str; 7] = [
    "background",
    "background_after",
    "pty",
    "open_stdin",
    "notify_on_complete",
    "watch_patterns",
    "detach",
];

/// Order of positional arguments, where it differs from the schema.
const POSITIONAL_PARAMETERS: [(&str, &[&str]); 7] = [
    ("web_search", &["query", "limit"]),
    ("web_extract", &["urls", "char_limit"]),
    ("read_file", &["path", "offset", "limit"]),
    ("write_file", &["path", "content"]),
    (
        "search_files",
        &["pattern", "target", "path", "file_glob", "limit", "offset", "output_mode", "context"],
    ),
    ("patch", &["path", "old_string", "new_string", "replace_all", "mode", "patch"]),
    ("terminal", &["command", "timeout", "workdir"]),
];

/// A tool that a script may call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallableTool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Vec<ToolParameter>,
    /// Whether it accepts other parameters as well.
    pub(crate) accepts_extra: bool,
}

/// A parameter of a callable tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolParameter {
    pub(crate) name: String,
    pub(crate) schema: Value,
    pub(crate) is_required: bool,
}

impl ToolParameter {
    /// Returns the description in the schema, or an empty string.
    pub(crate) fn description(&self) -> &str {
        self.schema.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the default value in the schema.
    pub(crate) fn default(&self) -> Option<&Value> {
        self.schema.get("default").filter(|value| !value.is_null())
    }
}

/// Returns the session's tools that are callable by default or listed in
/// `more`.
pub(crate) fn callable_tools(
    host: Option<&dyn EngineHandle>,
    more: &[String],
) -> Vec<CallableTool> {
    let Some(host) = host else { return Vec::new() };
    let known = host.tool_names();
    let mut names: Vec<&str> = Vec::new();
    for name in DEFAULT_TOOLS.into_iter().chain(more.iter().map(String::as_str)) {
        let is_known = known.iter().any(|known| known == name);
        if is_known && !names.contains(&name) && !FORBIDDEN_TOOLS.contains(&name) {
            names.push(name);
        }
    }
    let definitions = names.into_iter().filter_map(|name| Some((name, host.describe_tool(name)?)));
    definitions.map(|(name, definition)| parse_definition(name, &definition)).collect()
}

fn parse_definition(name: &str, definition: &Value) -> CallableTool {
    let text = |key| definition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let schema = definition.get("parameters");
    let empty = Map::new();
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    let is_required = |parameter: &str| {
        required.is_some_and(|names| names.iter().any(|name| name == parameter))
            || (name, parameter) == ("terminal", "command")
    };
    let mut parameters: Vec<ToolParameter> = properties
        .unwrap_or(&empty)
        .iter()
        .filter(|(parameter, _)| {
            name != "terminal" || !HIDDEN_TERMINAL_PARAMETERS.contains(&&***parameter)
        })
        .map(|(parameter, schema)| ToolParameter {
            name: parameter.clone(),
            schema: schema.clone(),
            is_required: is_required(parameter),
        })
        .collect();
    let order = POSITIONAL_PARAMETERS
        .iter()
        .find(|(tool, _)| *tool == name)
        .map_or(&[][..], |(_, order)| order);
    let rank = |parameter: &ToolParameter| order.iter().position(|it| *it == parameter.name);
    parameters.sort_by_key(|it| (!it.is_required, rank(it).unwrap_or(usize::MAX)));
    let others = schema.and_then(|schema| schema.get("additionalProperties"));
    let is_open = match others {
        Some(others) => *others != Value::Bool(false),
        None => parameters.is_empty(),
    };
    CallableTool {
        name: name.to_owned(),
        description: text("description"),
        parameters,
        accepts_extra: is_open,
    }
}

#[cfg(test)]
#[path = "callable_tools_tests.rs"]
pub(crate) mod tests;
