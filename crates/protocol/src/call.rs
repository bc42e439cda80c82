//! One call, read as leniently as its own answer allows.

use hermes_core::CallArguments;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::node::{self, Fields};

pub(crate) const NAMES: [&str; 3] = ["name", "tool", "tool_name"];
pub(crate) const ARGUMENTS: [&str; 5] = ["arguments", "args", "parameters", "params", "input"];
// A Responses item has both `call_id` and `id`, and is answered by the former.
const IDS: [&str; 4] = ["call_id", "id", "tool_call_id", "tool_use_id"];

/// How the caller wrote the id of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdForm {
    /// As a string.
    Text,
    /// As a number.
    Number,
    /// Not at all.
    Made,
}

/// A call whose id may be missing.
#[derive(Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) id: Option<(String, IdForm)>,
    pub(crate) name: String,
    pub(crate) arguments: CallArguments,
}

impl Draft {
    /// A call without an id, whose arguments are text.
    pub(crate) fn from_text(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: None, name: name.into(), arguments: CallArguments::Text(arguments.into()) }
    }
}

/// Reads an element of a list of calls, whatever it is.
pub(crate) fn read(raw: &RawValue) -> Draft {
    match node::fields(raw.get()) {
        Ok(fields) => read_fields(&fields),
        Err(_) => Draft { id: None, name: String::new(), arguments: read_arguments(raw) },
    }
}

/// Reads a call from the members of its object.
pub(crate) fn read_fields(outer: &Fields<'_>) -> Draft {
    let function = outer.get("function");
    let inner = function.and_then(|f| node::fields(f.get()).ok()).unwrap_or_default();
    let pick = |names: &[&str]| inner.first(names).or_else(|| outer.first(names));
    let name = pick(&NAMES).and_then(node::string).or_else(|| function.and_then(node::string));
    let arguments =
        pick(&ARGUMENTS).map_or_else(|| CallArguments::Json(Value::Object(Map::new())), read_arguments);
    Draft { id: outer.first(&IDS).and_then(read_id), name: name.unwrap_or_default(), arguments }
}

/// Whether an object says which tool it calls.
pub(crate) fn names_a_tool(fields: &Fields<'_>) -> bool {
    fields.get("function").is_some()
        || fields.first(&NAMES).is_some_and(|name| name.get().starts_with('"'))
}

/// Whether the arguments of a call are written as a string; none if it has no
/// arguments.
pub(crate) fn has_text_arguments(raw: &RawValue) -> Option<bool> {
    let outer = node::fields(raw.get()).ok()?;
    let inner = outer.get("function").and_then(|f| node::fields(f.get()).ok()).unwrap_or_default();
    let arguments = inner.first(&ARGUMENTS).or_else(|| outer.first(&ARGUMENTS))?;
    Some(arguments.get().starts_with('"'))
}

/// What JSON as such allows but no value can hold stays text, so that it is
/// this call that fails and not the whole batch.
fn read_arguments(raw: &RawValue) -> CallArguments {
    if let Some(text) = node::string(raw) {
        return CallArguments::Text(text);
    }
    match serde_json::from_str(raw.get()) {
        Ok(value) => CallArguments::Json(value),
        Err(_) => CallArguments::Text(raw.get().to_owned()),
    }
}

fn read_id(raw: &RawValue) -> Option<(String, IdForm)> {
    if let Some(text) = node::string(raw) {
        return (!text.is_empty()).then_some((text, IdForm::Text));
    }
    (node::kind(raw.get()) == "a number").then(|| (raw.get().to_owned(), IdForm::Number))
}
