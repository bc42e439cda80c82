//! Expresses OpenAPI's `nullable: true` in JSON Schema.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::subschemas;

/// Returns the schema with every `nullable: true` expressed as a `null`
/// alternative; shares the input if there is none. The schema must be within
/// the depth limit.
pub(super) fn expand_nullable(schema: &Arc<Value>) -> Arc<Value> {
    match expand_value(schema) {
        Cow::Borrowed(_) => Arc::clone(schema),
        Cow::Owned(folded) => Arc::new(folded),
    }
}

/// Like [`expand_nullable`], for an owned schema.
pub(crate) fn expand_nullable_owned(schema: Value) -> Value {
    match expand_value(&schema) {
        Cow::Owned(folded) => folded,
        Cow::Borrowed(_) => schema,
    }
}

fn expand_value(schema: &Value) -> Cow<'_, Value> {
    if !mentions_nullable(schema) {
        return Cow::Borrowed(schema);
    }
    let Value::Object(map) = schema.clone() else {
        return Cow::Borrowed(schema);
    };
    let map = subschemas::map_children(map, "", |child, _| expand_value(&child).into_owned());
    Cow::Owned(Value::Object(if is_nullable(&map) { admit_null(map) } else { map }))
}

fn mentions_nullable(schema: &Value) -> bool {
    let mut found = schema.as_object().is_some_and(is_nullable);
    subschemas::for_each_child(schema, |_, child| found = found || mentions_nullable(child));
    found
}

fn is_nullable(map: &Map<String, Value>) -> bool {
    map.get("nullable") == Some(&Value::Bool(true))
}

fn admit_null(mut map: Map<String, Value>) -> Map<String, Value> {
    map.shift_remove("nullable");
    if map.contains_key("$ref") {
        return Map::from_iter([("anyOf".to_owned(), json!([map, {"type": "null"}]))]);
    }
    match map.get_mut("type") {
        Some(Value::Array(names)) if !names.iter().any(|name| name == "null") => {
            names.push("null".into());
        }
        Some(name @ Value::String(_)) if name != "null" => *name = json!([name, "null"]),
        _ => {}
    }
    if let Some(Value::Array(values)) = map.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = map.get_mut(keyword)
            && !branches.iter().any(subschemas::is_null_schema)
        {
            branches.push(json!({"type": "null"}));
        }
    }
    map
}
