//! Finds the subschemas of a schema.
//!
//! Only the keywords listed here contain schemas. Everything else (`default`,
//! `enum`, `const`, `examples`, extensions) is data, and a *property named*
//! `pattern` or `$ref` is a name, not a keyword. All walks use these functions,
//! which keep the two apart.

use serde_json::{Map, Value};

use crate::pointer;

/// Names of the JSON types, as in `type`.
pub(crate) const TYPE_NAMES: [&str; 7] =
    ["object", "array", "string", "integer", "number", "boolean", "null"];

/// Keywords that describe without constraining.
pub(crate) const ANNOTATION_KEYWORDS: [&str; 9] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
];

/// How a keyword contains schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaHolder {
    /// One schema.
    One,
    /// A list of schemas.
    List,
    /// An object whose values are schemas.
    Map,
}

/// Returns how `keyword` with this value contains schemas, if it does.
pub(crate) fn schema_holder(keyword: &str, value: &Value) -> Option<SchemaHolder> {
    match keyword {
        "items" if value.is_array() => Some(SchemaHolder::List),
        "items"
        | "additionalItems"
        | "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Some(SchemaHolder::One),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Some(SchemaHolder::List),
        "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties"
        | "properties" => Some(SchemaHolder::Map),
        _ => None,
    }
}

/// Calls `visit` with every direct subschema and its relative pointer.
pub(crate) fn for_each_child<'v>(schema: &'v Value, mut visit: impl FnMut(&str, &'v Value)) {
    let Value::Object(map) = schema else { return };
    for (keyword, value) in map {
        let base = pointer::join("", keyword);
        match (schema_holder(keyword, value), value) {
            (Some(SchemaHolder::One), child) => visit(&base, child),
            (Some(SchemaHolder::List), Value::Array(list)) => {
                for (index, child) in list.iter().enumerate() {
                    visit(&format!("{base}/{index}"), child);
                }
            }
            (Some(SchemaHolder::Map), Value::Object(named)) => {
                for (name, child) in named {
                    if !is_name_list(keyword, child) {
                        visit(&pointer::join(&base, name), child);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Replaces every direct subschema with the result of `replace`.
///
/// `path` is the pointer of this schema; `replace` gets the child's pointer.
pub(crate) fn map_children(
    schema: Map<String, Value>,
    path: &str,
    mut replace: impl FnMut(Value, &str) -> Value,
) -> Map<String, Value> {
    schema
        .into_iter()
        .map(|(keyword, value)| {
            let held = schema_holder(&keyword, &value);
            let base = pointer::join(path, &keyword);
            let value = match (held, value) {
                (Some(SchemaHolder::One), child) => replace(child, &base),
                (Some(SchemaHolder::List), Value::Array(list)) => Value::Array(
                    list.into_iter()
                        .enumerate()
                        .map(|(index, child)| replace(child, &format!("{base}/{index}")))
                        .collect(),
                ),
                (Some(SchemaHolder::Map), Value::Object(named)) => Value::Object(
                    named
                        .into_iter()
                        .map(|(name, child)| {
                            if is_name_list(&keyword, &child) {
                                return (name, child);
                            }
                            let child = replace(child, &pointer::join(&base, &name));
                            (name, child)
                        })
                        .collect(),
                ),
                (_, other) => other,
            };
            (keyword, value)
        })
        .collect()
}

/// Whether a value in `dependencies` is a list of property names instead of a
/// schema.
fn is_name_list(keyword: &str, value: &Value) -> bool {
    keyword == "dependencies" && value.is_array()
}

/// Returns the value of a keyword. Most schemas have only a few keywords, for
/// which a linear search is faster than hashing.
pub(crate) fn get_keyword<'s>(schema: &'s Map<String, Value>, keyword: &str) -> Option<&'s Value> {
    const LINEAR_SEARCH_MAX: usize = 8;
    if schema.len() > LINEAR_SEARCH_MAX {
        return schema.get(keyword);
    }
    schema.iter().find(|(own, _)| *own == keyword).map(|(_, value)| value)
}

/// Returns the types in a schema's `type`, in order; none if it has no `type`.
pub(crate) fn type_names(schema: &Map<String, Value>) -> Vec<&str> {
    match get_keyword(schema, "type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether the schema accepts only `null`, by its type or its listed values.
pub(crate) fn is_null_schema(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    type_names(map) == ["null"]
        || map.get("const").is_some_and(Value::is_null)
        || map
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|values| !values.is_empty() && values.iter().all(Value::is_null))
}

/// Returns the property names in `required`.
pub(crate) fn required_names(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    get_keyword(schema, "required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}
