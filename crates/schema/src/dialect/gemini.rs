//! Gemini's dialect: few keywords, no references, enums of strings only.

use serde_json::{Map, Value, json};

use super::{TranslationReport, inline, merge, root, types};
use crate::excerpt::{self, excerpt_value};
use crate::subschemas::{self, ANNOTATION_KEYWORDS};

/// Accepted keywords, in output order.
const ACCEPTED_KEYWORDS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "properties",
    "required",
    "propertyOrdering",
    "minProperties",
    "maxProperties",
    "items",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "anyOf",
    "default",
    "example",
];

pub(super) fn translate(
    document: Map<String, Value>,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let schema = root::plain_object(inline::inline_references(document, report), report);
    let mut schema = rewrite(schema, "", report);
    schema.shift_remove("nullable");
    schema
}

fn rewrite(
    schema: Map<String, Value>,
    path: &str,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let mut schema = schema;
    while let Some(Value::Array(parts)) = schema.shift_remove("allOf") {
        for part in parts {
            if let Value::Object(part) = part {
                schema = merge::intersect(schema, part, path, report);
            }
        }
    }
    if let Some(branches) = schema.shift_remove("oneOf") {
        if schema.contains_key("anyOf") {
            report.record_loss(path, "oneOf", "dropped in favor of `anyOf`");
        } else {
            let exclusive = branches.as_array().is_some_and(|list| {
                list.iter().filter(|branch| !subschemas::is_null_schema(branch)).count() > 1
            });
            if exclusive {
                report.record_loss(path, "oneOf", "widened to `anyOf`");
            }
            schema.insert("anyOf".to_owned(), branches);
        }
    }
    tuple_to_items(&mut schema, path, report);
    let schema = subschemas::map_children(schema, path, |child, path| match child {
        Value::Object(map) => Value::Object(rewrite(map, path, report)),
        other => other,
    });
    let mut schema = types::collapse_null_union(types::split_types(schema), false);
    single_branch(&mut schema);
    listed_values(&mut schema, path, report);
    exclusive_bound(&mut schema, "exclusiveMinimum", "minimum", 1, path, report);
    exclusive_bound(&mut schema, "exclusiveMaximum", "maximum", -1, path, report);
    restrict_format(&mut schema, path, report);
    if let Some(Value::Array(examples)) = schema.shift_remove("examples")
        && let Some(first) = examples.into_iter().next()
    {
        schema.entry("example").or_insert(first);
    }
    settle_type(&mut schema, path, report);
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        root::prune_required(&mut schema);
    }
    keep_accepted(schema, path, report)
}

/// Replaces a union of one branch with that branch.
fn single_branch(schema: &mut Map<String, Value>) {
    let only = match schema.get("anyOf") {
        Some(Value::Array(branches)) if branches.len() == 1 => branches[0].as_object().cloned(),
        _ => None,
    };
    if let Some(only) = only {
        schema.shift_remove("anyOf");
        *schema = types::adopt_alternative(std::mem::take(schema), only);
    }
}

/// Replaces schemas by position with one schema that accepts any of them.
fn tuple_to_items(schema: &mut Map<String, Value>, path: &str, report: &mut TranslationReport) {
    let tuple = match (schema.shift_remove("prefixItems"), schema.get("items")) {
        (Some(Value::Array(tuple)), _) => tuple,
        (_, Some(Value::Array(tuple))) => tuple.clone(),
        _ => return,
    };
    report.record_loss(path, "items", "widened, items by position are not supported");
    let tuple = tuple.into_iter().filter(Value::is_object).reduce(merge::union);
    schema.insert("items".to_owned(), tuple.unwrap_or_else(|| json!({})));
}

/// Converts `const` to an enum of one value, and drops enums of other types
/// than strings.
fn listed_values(schema: &mut Map<String, Value>, path: &str, report: &mut TranslationReport) {
    if let Some(value) = schema.shift_remove("const") {
        schema.insert("enum".to_owned(), json!([value]));
    }
    let Some(Value::Array(mut values)) = schema.shift_remove("enum") else {
        return;
    };
    if values.iter().any(Value::is_null) {
        values.retain(|value| !value.is_null());
        schema.insert("nullable".to_owned(), Value::Bool(true));
    }
    let kind = schema.get("type").and_then(Value::as_str);
    if !values.is_empty()
        && values.iter().all(Value::is_string)
        && matches!(kind, None | Some("string"))
    {
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), Value::Array(values));
        return;
    }
    if kind.is_none()
        && let Some(first) = values.first()
    {
        let kind = crate::validate::json_type_name(first);
        schema.insert("type".to_owned(), json!(kind));
    }
    report.record_loss(
        path,
        "enum",
        "dropped, only strings are allowed in enums; the values are in the description",
    );
    let shown: Vec<String> = values
        .iter()
        .take(12)
        .map(|value| excerpt_value(value, excerpt::DEFAULT_EXCERPT_CHARS))
        .collect();
    let note = format!("Allowed values: {}.", shown.join(", "));
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text} {note}"),
        _ => note,
    };
    schema.insert("description".to_owned(), Value::String(description));
}

/// Replaces an exclusive bound: for integers by the next integer, for other
/// numbers by the wider inclusive bound.
fn exclusive_bound(
    schema: &mut Map<String, Value>,
    exclusive: &str,
    inclusive: &str,
    step: i64,
    path: &str,
    report: &mut TranslationReport,
) {
    let Some(bound) = schema.shift_remove(exclusive).filter(Value::is_number) else {
        return;
    };
    let integer = schema.get("type").and_then(Value::as_str) == Some("integer");
    let next = bound.as_i64().filter(|_| integer).and_then(|bound| bound.checked_add(step));
    if next.is_none() {
        report.record_loss(path, exclusive, format!("widened to `{inclusive}`"));
    }
    let bound = next.map_or(bound, Value::from);
    // The stricter of two bounds applies.
    let other = schema.get(inclusive).and_then(Value::as_f64);
    let stricter = match (other, bound.as_f64()) {
        (Some(other), Some(bound)) if step > 0 => bound > other,
        (Some(other), Some(bound)) => bound < other,
        _ => true,
    };
    if stricter {
        schema.insert(inclusive.to_owned(), bound);
    }
}

fn restrict_format(schema: &mut Map<String, Value>, path: &str, report: &mut TranslationReport) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else {
        return;
    };
    let accepted = match schema.get("type").and_then(Value::as_str) {
        Some("string") => matches!(format, "date-time" | "enum"),
        Some("integer") => matches!(format, "int32" | "int64"),
        Some("number") => matches!(format, "float" | "double"),
        _ => false,
    };
    if !accepted {
        report.record_loss(path, "format", format!("dropped, `{format}` is not supported"));
        schema.shift_remove("format");
    }
}

/// Ensures that every schema has either one type, or `anyOf` and no type.
fn settle_type(schema: &mut Map<String, Value>, path: &str, report: &mut TranslationReport) {
    if schema.contains_key("anyOf") {
        schema.shift_remove("type");
        return;
    }
    if !schema.get("type").is_some_and(Value::is_string) {
        let kind = if schema.contains_key("properties") {
            "object"
        } else if schema.contains_key("items") {
            "array"
        } else {
            report.record_loss(path, "type", "narrowed to strings, a type is required");
            "string"
        };
        schema.insert("type".to_owned(), json!(kind));
    }
    let items = schema.get("items");
    if schema.get("type").and_then(Value::as_str) == Some("array")
        && !items.is_some_and(Value::is_object)
    {
        report.record_loss(path, "items", "narrowed to strings, a type is required");
        schema.insert("items".to_owned(), json!({"type": "string"}));
    }
}

fn keep_accepted(
    mut schema: Map<String, Value>,
    path: &str,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let mut kept = Map::new();
    for keyword in ACCEPTED_KEYWORDS {
        if let Some(value) = schema.shift_remove(keyword) {
            kept.insert(keyword.to_owned(), value);
        }
    }
    if let Some(Value::Object(properties)) = kept.get_mut("properties") {
        for property in properties.values_mut().filter(|property| !property.is_object()) {
            *property = json!({"type": "string"});
        }
    }
    for keyword in schema.keys() {
        let silent = ANNOTATION_KEYWORDS.contains(&keyword.as_str())
            || keyword.starts_with("x-")
            || matches!(keyword.as_str(), "$id" | "id" | "$anchor" | "$schema" | "then" | "else");
        if !silent {
            report.record_loss(path, keyword, "dropped");
        }
    }
    kept
}
