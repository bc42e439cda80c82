//! Rewrites `type`: lists of types, and `null` among them.

use serde_json::{Map, Value, json};

use crate::subschemas::{self, ANNOTATION_KEYWORDS};

/// Keywords that reject `null` regardless of `nullable`, or that would count a
/// `null` branch as a second match.
const NULL_REFUSING_KEYWORDS: [&str; 5] = ["allOf", "oneOf", "not", "if", "const"];

/// Whether a keyword constrains only values of this type.
fn applies_to_type(keyword: &str, kind: &str) -> bool {
    match keyword {
        "format" => matches!(kind, "string" | "number" | "integer"),
        "minLength" | "maxLength" | "pattern" | "contentEncoding" | "contentMediaType" => {
            kind == "string"
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            matches!(kind, "number" | "integer")
        }
        "items" | "prefixItems" | "additionalItems" | "contains" | "minContains"
        | "maxContains" | "minItems" | "maxItems" | "uniqueItems" | "unevaluatedItems" => {
            kind == "array"
        }
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependencies"
        | "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties" => kind == "object",
        _ => false,
    }
}

/// Replaces a list of types with one type, or with `anyOf` and a branch per
/// type that takes the type's keywords. `null` becomes `nullable`.
pub(super) fn split_types(mut schema: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(names)) = schema.get("type") else {
        return schema;
    };
    let mut names: Vec<String> =
        names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    names.dedup();
    let nullable = names.iter().any(|name| name == "null");
    names.retain(|name| name != "null");
    match names.as_slice() {
        [] => {
            let only = if nullable { "null" } else { "object" };
            schema.insert("type".to_owned(), json!(only));
            return schema;
        }
        [only] => {
            schema.insert("type".to_owned(), json!(only));
        }
        // A schema cannot have two `anyOf`; the types say less.
        _ if schema.contains_key("anyOf") => {
            schema.shift_remove("type");
        }
        several => {
            let branches: Vec<Value> = several.iter().map(|kind| branch(&schema, kind)).collect();
            schema.retain(|keyword, _| !several.iter().any(|kind| applies_to_type(keyword, kind)));
            schema.shift_remove("type");
            schema.insert("anyOf".to_owned(), Value::Array(branches));
        }
    }
    // An enum without `null` rejects it, whatever the types say.
    let listed = schema.get("enum").and_then(Value::as_array);
    if nullable && listed.is_none_or(|values| values.contains(&Value::Null)) {
        set_nullable(&mut schema);
    }
    schema
}

fn branch(schema: &Map<String, Value>, kind: &str) -> Value {
    let own = schema
        .iter()
        .filter(|(keyword, _)| applies_to_type(keyword, kind))
        .map(|(keyword, value)| (keyword.clone(), value.clone()));
    let mut branch = Map::from_iter([("type".to_owned(), json!(kind))]);
    branch.extend(own);
    Value::Object(branch)
}

/// Marks the schema as nullable, and removes the then redundant `null` from its
/// enum.
pub(super) fn set_nullable(schema: &mut Map<String, Value>) {
    schema.insert("nullable".to_owned(), Value::Bool(true));
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// Removes the `null` branch from a union. A union with one remaining branch
/// becomes that branch, with the annotations of the union.
///
/// With `only_single`, a union stays unchanged if rewriting it would change its
/// meaning.
pub(super) fn collapse_null_union(
    mut schema: Map<String, Value>,
    only_single: bool,
) -> Map<String, Value> {
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = schema.get(keyword) else { continue };
        let (nulls, mut rest): (Vec<Value>, Vec<Value>) =
            branches.iter().cloned().partition(subschemas::is_null_schema);
        if nulls.is_empty() || rest.is_empty() {
            continue;
        }
        if only_single && !is_plain_option(&schema, keyword, &rest) {
            continue;
        }
        if rest.len() > 1 {
            schema.insert(keyword.to_owned(), Value::Array(rest));
            set_nullable(&mut schema);
            continue;
        }
        let Some(Value::Object(only)) = rest.pop() else { continue };
        schema.shift_remove(keyword);
        schema = adopt_alternative(schema, only);
        set_nullable(&mut schema);
    }
    schema
}

/// Whether a union of `null` and the rest is equivalent to that rest with
/// `nullable`.
fn is_plain_option(union: &Map<String, Value>, keyword: &str, rest: &[Value]) -> bool {
    let [Value::Object(only)] = rest else { return false };
    // Keywords next to the union apply to `null` as well, and would be lost if
    // the branch has the same ones.
    let stands_alone = union.keys().map(String::as_str).all(|beside| {
        beside == keyword
            || ANNOTATION_KEYWORDS.contains(&beside)
            || matches!(beside, "nullable" | "$defs" | "definitions")
            || beside.starts_with("x-")
    });
    stands_alone && !NULL_REFUSING_KEYWORDS.iter().any(|keyword| only.contains_key(*keyword))
}

/// Replaces a union with its only alternative. The annotations of the union
/// win.
pub(super) fn adopt_alternative(
    outer: Map<String, Value>,
    inner: Map<String, Value>,
) -> Map<String, Value> {
    let mut merged = inner;
    for (keyword, value) in outer {
        if ANNOTATION_KEYWORDS.contains(&keyword.as_str()) || !merged.contains_key(&keyword) {
            merged.insert(keyword, value);
        }
    }
    merged
}

/// Returns the schema extended to accept `null`.
pub(super) fn admit_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    if schema.contains_key("$ref") {
        return Map::from_iter([("anyOf".to_owned(), json!([schema, {"type": "null"}]))]);
    }
    if let Some(value) = schema.shift_remove("const") {
        schema.insert("enum".to_owned(), json!([value]));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf")
        && !branches.iter().any(admits_null)
    {
        branches.push(json!({"type": "null"}));
    }
    match schema.get_mut("type") {
        Some(Value::Array(names)) if !names.iter().any(|name| name == "null") => {
            names.push("null".into())
        }
        Some(name @ Value::String(_)) if name != "null" => *name = json!([name, "null"]),
        _ => {}
    }
    schema
}

/// Whether a branch obviously accepts `null`.
fn admits_null(schema: &Value) -> bool {
    subschemas::is_null_schema(schema)
        || schema.as_object().is_some_and(|map| subschemas::type_names(map).contains(&"null"))
}
