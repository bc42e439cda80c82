//! The dialect that most servers accept: one type per schema, no combinations
//! at the top level.

use serde_json::{Map, Value, json};

use super::{TranslationReport, root, types};
use crate::subschemas;

pub(super) fn translate(
    document: Map<String, Value>,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let mut schema = rewrite(document);
    // Arguments as a whole are never `null`.
    schema.shift_remove("nullable");
    let schema = root::plain_object(schema, report);
    rewrite(schema)
}

fn rewrite(schema: Map<String, Value>) -> Map<String, Value> {
    let schema = subschemas::map_children(schema, "", |child, path| match child {
        Value::Object(map) => Value::Object(rewrite(map)),
        // Booleans are accepted in `additionalProperties` and the like;
        // elsewhere only objects are.
        Value::Bool(_) if path.starts_with("/additional") || path.starts_with("/unevaluated") => {
            child
        }
        Value::Bool(true) => json!({}),
        _ => json!({"not": {}}),
    });
    let mut schema = types::collapse_null_union(types::split_types(schema), true);
    match schema.get("type").and_then(Value::as_str) {
        Some("object") if !schema.get("properties").is_some_and(Value::is_object) => {
            schema.insert("properties".to_owned(), json!({}));
        }
        Some("array") if !schema.contains_key("items") && !schema.contains_key("prefixItems") => {
            schema.insert("items".to_owned(), json!({}));
        }
        _ => {}
    }
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        root::prune_required(&mut schema);
    }
    if schema.contains_key("$ref") {
        schema.shift_remove("default");
    }
    schema
}
