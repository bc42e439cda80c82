//! Makes the top level a plain object without combinations, as most providers
//! require.

use serde_json::{Map, Value, json};

use super::{TranslationReport, merge};
use crate::pointer;
use crate::subschemas::{self, ANNOTATION_KEYWORDS};

/// Maximum number of references and combinations followed at the top level.
const MAX_STEPS: usize = 64;

/// Makes the top level a plain object schema. Properties inside combinations
/// move up.
pub(super) fn plain_object(
    document: Map<String, Value>,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    let whole = Value::Object(document.clone());
    let mut steps = MAX_STEPS;
    let mut root = flatten(document, &whole, &mut steps, report);
    for keyword in ["not", "enum", "const", "if", "then", "else"] {
        if root.shift_remove(keyword).is_some() {
            report.record_loss("", keyword, "removed from the top level");
        }
    }
    if root.get("type").is_some_and(|kind| *kind != "object")
        && !subschemas::type_names(&root).contains(&"object")
    {
        report.record_loss("", "type", "forced to an object");
        root.shift_remove("items");
    }
    let properties = root.shift_remove("properties").filter(Value::is_object);
    let mut shaped = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties.unwrap_or_else(|| json!({}))),
    ]);
    root.shift_remove("type");
    shaped.extend(root);
    prune_required(&mut shaped);
    shaped
}

/// Drops names from `required` that are not properties, and the keyword if none
/// is left.
pub(super) fn prune_required(schema: &mut Map<String, Value>) {
    let Some(required) = schema.get("required") else { return };
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut kept: Vec<Value> = Vec::new();
    for name in required.as_array().into_iter().flatten() {
        let known =
            name.as_str().is_some_and(|name| properties.is_some_and(|map| map.contains_key(name)));
        if known && !kept.contains(name) {
            kept.push(name.clone());
        }
    }
    if kept.is_empty() {
        schema.shift_remove("required");
    } else {
        schema.insert("required".to_owned(), Value::Array(kept));
    }
}

/// Merges the reference and the combinations of a schema into it.
fn flatten(
    mut schema: Map<String, Value>,
    document: &Value,
    steps: &mut usize,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    if let Some(reference) = schema.shift_remove("$ref") {
        let target =
            reference.as_str().and_then(|reference| pointer::follow_ref(document, reference));
        match target {
            Some((Value::Object(target), _)) if *steps > 0 => {
                *steps -= 1;
                let target = flatten(target.clone(), document, steps, report);
                schema = merge::intersect(schema, target, "", report);
            }
            _ => report.record_loss(
                "",
                "$ref",
                "removed from the top level, its target does \
                not exist or is too deep",
            ),
        }
    }
    for part in take_list(&mut schema, "allOf") {
        let part = flatten_branch(part, document, steps, report);
        schema = merge::intersect(schema, part, "", report);
    }
    for keyword in ["anyOf", "oneOf"] {
        let branches = take_list(&mut schema, keyword);
        if branches.is_empty() {
            continue;
        }
        let action = "merged into the top level; which properties go together is lost";
        report.record_loss("", keyword, action);
        let branches = branches
            .into_iter()
            .filter(|branch| !subschemas::is_null_schema(branch))
            .map(|branch| flatten_branch(branch, document, steps, report))
            .collect();
        schema = take_in_alternatives(schema, branches);
    }
    schema
}

fn take_list(schema: &mut Map<String, Value>, keyword: &str) -> Vec<Value> {
    match schema.shift_remove(keyword) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

fn flatten_branch(
    branch: Value,
    document: &Value,
    steps: &mut usize,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    match branch {
        Value::Object(map) if *steps > 0 => {
            *steps -= 1;
            flatten(map, document, steps, report)
        }
        _ => Map::new(),
    }
}

/// Adds the properties of all branches. A property is required if every branch
/// requires it.
fn take_in_alternatives(
    mut schema: Map<String, Value>,
    branches: Vec<Map<String, Value>>,
) -> Map<String, Value> {
    let mut found: Map<String, Value> = Map::new();
    let mut always: Option<Vec<Value>> = None;
    for branch in branches {
        let required: Vec<Value> = subschemas::required_names(&branch).map(Value::from).collect();
        always = Some(match always {
            None => required,
            Some(so_far) => so_far.into_iter().filter(|name| required.contains(name)).collect(),
        });
        for (keyword, value) in branch {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        match found.get_mut(&name) {
                            Some(known) => *known = merge::union(known.take(), property),
                            None => {
                                found.insert(name, property);
                            }
                        }
                    }
                }
                ("required" | "type" | "additionalProperties", _) => {}
                (annotation, value) if ANNOTATION_KEYWORDS.contains(&annotation) => {
                    schema.entry(annotation.to_owned()).or_insert(value);
                }
                _ => {}
            }
        }
    }
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        for (name, property) in found {
            properties.entry(name).or_insert(property);
        }
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(names) = required {
        for name in always.unwrap_or_default() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    schema
}
