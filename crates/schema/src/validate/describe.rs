//! Describes a schema in a few words: `integer (1 to 10)`, `array of string`,
//! `one of "a", "b"`.

use serde_json::{Map, Value};

use crate::excerpt::{self, excerpt_value};
use crate::{pointer, subschemas};
use hermes_core::text::excerpt;

/// Maximum depth of items, alternatives and references in a description.
const MAX_DESCRIBED_LEVELS: usize = 4;

/// Maximum number of values or alternatives listed.
const MAX_LISTED_VALUES: usize = 12;

/// Describes what the schema expects.
pub(super) fn describe(document: &Value, schema: &Value) -> String {
    describe_at(document, schema, 0)
}

/// Describes what the schema expects, with its own description.
pub(super) fn describe_with_note(document: &Value, schema: &Value) -> String {
    let wanted = describe(document, schema);
    let note = schema.get("description").and_then(Value::as_str).map(str::trim);
    match note.filter(|note| !note.is_empty()) {
        Some(note) => format!("{wanted}: {}", excerpt(note, 2 * excerpt::DEFAULT_EXCERPT_CHARS)),
        None => wanted,
    }
}

/// Lists values, each truncated.
pub(super) fn list_values(values: &[Value]) -> String {
    let shown: Vec<String> = values
        .iter()
        .take(MAX_LISTED_VALUES)
        .map(|value| excerpt_value(value, excerpt::DEFAULT_EXCERPT_CHARS / 2))
        .collect();
    let mut text = shown.join(", ");
    if let Some(more) = values.len().checked_sub(MAX_LISTED_VALUES).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn describe_at(document: &Value, schema: &Value, level: usize) -> String {
    let map = match schema {
        Value::Bool(false) => return "nothing".to_owned(),
        Value::Object(map) if level < MAX_DESCRIBED_LEVELS => map,
        _ => return "any value".to_owned(),
    };
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let target = pointer::follow_ref(document, reference);
        return target.map_or_else(
            || "any value".to_owned(),
            |(target, _)| describe_at(document, target, level + 1),
        );
    }
    if let Some(value) = map.get("const") {
        return format!("exactly {}", excerpt_value(value, excerpt::DEFAULT_EXCERPT_CHARS));
    }
    if let Some(Value::Array(values)) = map.get("enum") {
        return format!("one of {}", list_values(values));
    }
    let names = subschemas::type_names(map);
    if names.is_empty() {
        return describe_untyped(document, map, level);
    }
    let parts: Vec<String> =
        names.iter().map(|name| describe_type(document, map, name, level)).collect();
    parts.join(" or ")
}

fn describe_untyped(document: &Value, map: &Map<String, Value>, level: usize) -> String {
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = map.get(keyword) {
            let mut parts: Vec<String> = Vec::new();
            for branch in branches.iter().take(MAX_LISTED_VALUES) {
                let part = describe_at(document, branch, level + 1);
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
            return parts.join(" or ");
        }
    }
    if map.contains_key("properties") || map.contains_key("required") {
        return "object".to_owned();
    }
    if let Some(Value::Array(parts)) = map.get("allOf") {
        let described = parts.iter().map(|part| describe_at(document, part, level + 1));
        if let Some(text) = described.into_iter().find(|text| text != "any value") {
            return text;
        }
    }
    "any value".to_owned()
}

fn describe_type(document: &Value, map: &Map<String, Value>, name: &str, level: usize) -> String {
    let range = match name {
        "integer" | "number" => describe_range(map, "minimum", "maximum"),
        "string" => {
            describe_range(map, "minLength", "maxLength").map(|range| format!("{range} characters"))
        }
        "array" => {
            describe_range(map, "minItems", "maxItems").map(|range| format!("{range} items"))
        }
        _ => None,
    };
    let mut text = name.to_owned();
    if name == "array"
        && let Some(items) = map.get("items").filter(|items| !items.is_array())
    {
        let each = describe_at(document, items, level + 1);
        if each != "any value" {
            text = format!("array of {each}");
        }
    }
    match range {
        Some(range) => format!("{text} ({range})"),
        None => text,
    }
}

fn describe_range(map: &Map<String, Value>, low: &str, high: &str) -> Option<String> {
    match (map.get(low), map.get(high)) {
        (Some(low), Some(high)) => Some(format!("{low} to {high}")),
        (Some(low), None) => Some(format!("at least {low}")),
        (None, Some(high)) => Some(format!("at most {high}")),
        (None, None) => None,
    }
}
