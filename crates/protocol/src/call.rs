//! Reads one call leniently: errors in it become its own result.

use hermes_core::CallArguments;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json_node::{self, KnownFields};

pub(crate) const NAME_KEYS: [&str; 3] = ["name", "tool", "tool_name"];
pub(crate) const ARGUMENT_KEYS: [&str; 5] = ["arguments", "args", "parameters", "params", "input"];
// A Responses item has both `call_id` and `id`; its result refers to `call_id`.
const ID_KEYS: [&str; 4] = ["call_id", "id", "tool_call_id", "tool_use_id"];

/// The form in which the caller wrote the id of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdForm {
    /// As a string.
    Text,
    /// As a number.
    Number,
    /// Missing; the id is generated.
    Generated,
}

/// A call whose id may be missing.
#[derive(Debug, PartialEq)]
pub(crate) struct CallDraft {
    pub(crate) id: Option<(String, IdForm)>,
    pub(crate) name: String,
    pub(crate) arguments: CallArguments,
}

impl CallDraft {
    /// Creates a call without an id, with its arguments as text.
    pub(crate) fn from_text(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: None, name: name.into(), arguments: CallArguments::Text(arguments.into()) }
    }
}

/// Reads an element of a list of calls, whatever its type.
pub(crate) fn read_call(raw: &RawValue) -> CallDraft {
    match json_node::fields(raw.get()) {
        Ok(fields) => read_fields(&fields),
        Err(_) => CallDraft { id: None, name: String::new(), arguments: read_arguments(raw) },
    }
}

/// Reads a call from the members of its object.
pub(crate) fn read_fields(outer: &KnownFields<'_>) -> CallDraft {
    let function = outer.get("function");
    let inner = function.and_then(|f| json_node::fields(f.get()).ok()).unwrap_or_default();
    let pick = |names: &[&str]| inner.first(names).or_else(|| outer.first(names));
    let name = pick(&NAME_KEYS)
        .and_then(json_node::string_value)
        .or_else(|| function.and_then(json_node::string_value));
    let arguments = pick(&ARGUMENT_KEYS)
        .map_or_else(|| CallArguments::Json(Value::Object(Map::new())), read_arguments);
    CallDraft {
        id: outer.first(&ID_KEYS).and_then(read_id),
        name: name.unwrap_or_default(),
        arguments,
    }
}

/// Whether an object names the tool it calls.
pub(crate) fn has_tool_name(fields: &KnownFields<'_>) -> bool {
    fields.get("function").is_some()
        || fields.first(&NAME_KEYS).is_some_and(|name| name.get().starts_with('"'))
}

/// Whether the arguments of a call are written as a string; `None` if it has no
/// arguments.
pub(crate) fn has_text_arguments(raw: &RawValue) -> Option<bool> {
    let outer = json_node::fields(raw.get()).ok()?;
    let inner =
        outer.get("function").and_then(|f| json_node::fields(f.get()).ok()).unwrap_or_default();
    let arguments = inner.first(&ARGUMENT_KEYS).or_else(|| outer.first(&ARGUMENT_KEYS))?;
    Some(arguments.get().starts_with('"'))
}

/// Reads arguments. Valid JSON that no value can represent stays text, so only
/// this call fails and not the whole batch.
fn read_arguments(raw: &RawValue) -> CallArguments {
    if let Some(text) = json_node::string_value(raw) {
        return CallArguments::Text(text);
    }
    match serde_json::from_str(raw.get()) {
        Ok(value) => CallArguments::Json(value),
        Err(_) => CallArguments::Text(raw.get().to_owned()),
    }
}

fn read_id(raw: &RawValue) -> Option<(String, IdForm)> {
    if let Some(text) = json_node::string_value(raw) {
        return (!text.is_empty()).then_some((text, IdForm::Text));
    }
    (json_node::describe_kind(raw.get()) == "a number")
        .then(|| (raw.get().to_owned(), IdForm::Number))
}
