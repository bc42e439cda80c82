//! Draft 7: rewrites newer keywords, and those of OpenAPI and draft 4.

use serde_json::{Map, Value, json};

use super::{TranslationReport, root};
use crate::subschemas::{self, ANNOTATION_KEYWORDS};
use crate::validate::expand_nullable_owned;

/// Keywords without an equivalent in draft 7.
const NEWER_KEYWORDS: [&str; 10] = [
    "unevaluatedProperties",
    "unevaluatedItems",
    "minContains",
    "maxContains",
    "contentSchema",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$anchor",
];

pub(super) fn translate(
    document: Map<String, Value>,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let folded = match expand_nullable_owned(Value::Object(document)) {
        Value::Object(map) => map,
        _ => super::empty_object_schema(),
    };
    let rewritten = rewrite(folded, "", report);
    let mut schema = match rewritten.get("type") {
        Some(kind) if *kind != "object" => root::plain_object(rewritten, report),
        _ if rewritten.contains_key("$ref") => root::plain_object(rewritten, report),
        _ => rewritten,
    };
    if !schema.contains_key("type") {
        schema.insert("type".to_owned(), json!("object"));
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    schema
}

fn rewrite(
    schema: Map<String, Value>,
    path: &str,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let mut schema = subschemas::map_children(schema, path, |child, path| match child {
        Value::Object(map) => Value::Object(rewrite(map, path, report)),
        other => other,
    });
    for keyword in NEWER_KEYWORDS {
        if schema.shift_remove(keyword).is_some() {
            report.record_loss(path, keyword, "dropped, draft 7 has no such keyword");
        }
    }
    rename_definitions(&mut schema);
    if let Some(tuple @ Value::Array(_)) = schema.shift_remove("prefixItems") {
        if let Some(rest) = schema.shift_remove("items") {
            schema.insert("additionalItems".to_owned(), rest);
        }
        schema.insert("items".to_owned(), tuple);
    }
    for keyword in ["dependentRequired", "dependentSchemas"] {
        if let Some(Value::Object(rules)) = schema.shift_remove(keyword) {
            let all = schema.entry("dependencies").or_insert_with(|| json!({}));
            for (name, rule) in rules {
                match all.as_object_mut() {
                    Some(known) if !known.contains_key(&name) => {
                        known.insert(name, rule);
                    }
                    _ => report.record_loss(
                        path,
                        keyword,
                        format!("dropped for `{name}`, which already has a rule"),
                    ),
                }
            }
        }
    }
    wrap_reference(schema)
}

/// Renames `$defs` to `definitions`, in references too.
fn rename_definitions(schema: &mut Map<String, Value>) {
    if let Some(Value::Object(newer)) = schema.shift_remove("$defs") {
        let all = schema.entry("definitions").or_insert_with(|| json!({}));
        if let Some(all) = all.as_object_mut() {
            for (name, definition) in newer {
                all.entry(name).or_insert(definition);
            }
        }
    }
    if let Some(Value::String(reference)) = schema.get_mut("$ref")
        && reference.contains("/$defs/")
    {
        *reference = reference.replace("/$defs/", "/definitions/");
    }
}

/// Moves a reference with constraints next to it into `allOf`, because draft 7
/// ignores everything next to `$ref`.
fn wrap_reference(mut schema: Map<String, Value>) -> Map<String, Value> {
    let harmless = |keyword: &String| {
        ANNOTATION_KEYWORDS.contains(&keyword.as_str())
            || matches!(keyword.as_str(), "$ref" | "definitions")
    };
    if !schema.contains_key("$ref") || schema.keys().all(harmless) {
        return schema;
    }
    let reference = json!({"$ref": schema.shift_remove("$ref")});
    match schema.get_mut("allOf") {
        Some(Value::Array(all)) => all.push(reference),
        _ => {
            schema.insert("allOf".to_owned(), json!([reference]));
        }
    }
    schema
}
