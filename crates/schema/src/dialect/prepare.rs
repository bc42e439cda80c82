//! Makes any input a well-formed schema, as the basis of every translation.

use serde_json::{Map, Value, json};

use super::{TranslationReport, empty_object_schema};
use crate::depth::{MAX_DEPTH, ValueSurvey};
use crate::{pointer, subschemas};

/// Maximum number of malformed keywords removed one by one before the whole
/// schema is dropped.
const MAX_MALFORMED: usize = 64;

/// Returns a well-formed schema: every subschema is a schema, every reference
/// has a target, every bound is a number.
pub(super) fn prepare(schema: &Value, report: &mut TranslationReport) -> Map<String, Value> {
    if ValueSurvey::measure(schema).too_deep {
        let action = format!("dropped as a whole, it is nested deeper than {MAX_DEPTH} levels");
        report.record_loss("", "type", action);
        return empty_object_schema();
    }
    let map = match schema {
        Value::Object(map) => fix_malformed(map.clone(), "", schema, report),
        Value::Null | Value::Bool(true) => return empty_object_schema(),
        _ => {
            report.record_loss(
                "",
                "type",
                "replaced by an object without properties, it was not a schema",
            );
            return empty_object_schema();
        }
    };
    drop_malformed(Value::Object(map), report)
}

fn fix_malformed(
    map: Map<String, Value>,
    path: &str,
    document: &Value,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let mut map = subschemas::map_children(map, path, |child, path| match child {
        Value::Object(map) => Value::Object(fix_malformed(map, path, document, report)),
        Value::Bool(_) => child,
        Value::String(name) if name == "object" => Value::Object(empty_object_schema()),
        Value::String(name) if subschemas::TYPE_NAMES.contains(&name.as_str()) => {
            json!({"type": name})
        }
        _ => {
            report.record_loss(
                path,
                "type",
                "replaced by an object without properties, it was not a schema",
            );
            Value::Object(empty_object_schema())
        }
    });
    for keyword in ["$schema", "$id", "id"] {
        if map.get(keyword).is_some_and(Value::is_string) {
            map.shift_remove(keyword);
        }
    }
    if let Some(reference) = map.get("$ref") {
        let found =
            reference.as_str().and_then(|reference| pointer::follow_ref(document, reference));
        if !found.is_some_and(|(target, _)| target.is_object() || target.is_boolean()) {
            map.shift_remove("$ref");
            report.record_loss(path, "$ref", "removed, its target does not exist");
        }
    }
    if let Some(Value::Array(names)) = map.get_mut("type") {
        let mut seen: Vec<Value> = Vec::new();
        names.retain(|name| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
        if names.is_empty() {
            map.insert("type".to_owned(), json!("object"));
        }
    }
    exclusive_bound(&mut map, "exclusiveMinimum", "minimum");
    exclusive_bound(&mut map, "exclusiveMaximum", "maximum");
    map
}

/// Converts draft 4's boolean `exclusiveMinimum` and `exclusiveMaximum` to
/// numbers, as used since draft 6.
fn exclusive_bound(schema: &mut Map<String, Value>, exclusive: &str, inclusive: &str) {
    let Some(Value::Bool(marked)) = schema.get(exclusive) else { return };
    let marked = *marked;
    schema.shift_remove(exclusive);
    if marked && let Some(bound) = schema.shift_remove(inclusive) {
        schema.insert(exclusive.to_owned(), bound);
    }
}

/// Removes keywords that violate the JSON Schema metaschema, such as `required:
/// true`.
pub(super) fn drop_malformed(
    mut schema: Value,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    for _ in 0..MAX_MALFORMED {
        let path = match jsonschema::draft7::meta::validate(&schema) {
            Ok(()) => break,
            Err(error) => error.instance_path().as_str().to_owned(),
        };
        let (parent, name) = path.rsplit_once('/').unwrap_or_default();
        let keyword = name.replace("~1", "/").replace("~0", "~");
        report.record_loss(parent, &keyword, "dropped, it is malformed");
        match schema.pointer_mut(parent) {
            Some(Value::Object(map)) => {
                map.shift_remove(&keyword);
            }
            Some(Value::Array(list)) => {
                if let Some(index) = name.parse().ok().filter(|index| *index < list.len()) {
                    list.remove(index);
                }
            }
            _ => break,
        }
    }
    match schema {
        Value::Object(map) if jsonschema::draft7::meta::is_valid(&Value::Object(map.clone())) => {
            map
        }
        _ => {
            report.record_loss(
                "",
                "type",
                "replaced by an object without properties, too much is malformed",
            );
            empty_object_schema()
        }
    }
}
