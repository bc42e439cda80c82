//! Merges two schemas: intersection and union.

use serde_json::{Map, Value, json};

use super::TranslationReport;
use crate::subschemas::{self, ANNOTATION_KEYWORDS};

/// Keywords for which the larger (lower bounds) or smaller (upper bounds) value
/// is stricter.
const LOWER_BOUNDS: [&str; 5] =
    ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER_BOUNDS: [&str; 5] =
    ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];

/// Returns the schema that requires what both require; where that cannot be
/// expressed, the first wins.
pub(super) fn intersect(
    mut first: Map<String, Value>,
    second: Map<String, Value>,
    path: &str,
    report: &mut TranslationReport,
) -> Map<String, Value> {
    for (keyword, theirs) in second {
        let Some(ours) = first.get_mut(&keyword) else {
            first.insert(keyword, theirs);
            continue;
        };
        if *ours == theirs || ANNOTATION_KEYWORDS.contains(&keyword.as_str()) {
            continue;
        }
        let mine = ours.take();
        *ours = combine_keyword(&keyword, mine, theirs, path, report);
    }
    first
}

fn combine_keyword(
    keyword: &str,
    ours: Value,
    theirs: Value,
    path: &str,
    report: &mut TranslationReport,
) -> Value {
    match (keyword, ours, theirs) {
        (
            "properties" | "$defs" | "definitions",
            Value::Object(mut ours),
            Value::Object(theirs),
        ) => {
            for (name, schema) in theirs {
                match ours.get_mut(&name) {
                    Some(own) => *own = intersect_values(own.take(), schema, path, report),
                    None => {
                        ours.insert(name, schema);
                    }
                }
            }
            Value::Object(ours)
        }
        ("required", Value::Array(mut ours), Value::Array(theirs)) => {
            for name in theirs {
                if !ours.contains(&name) {
                    ours.push(name);
                }
            }
            Value::Array(ours)
        }
        ("enum", Value::Array(mut ours), Value::Array(theirs)) => {
            ours.retain(|value| theirs.contains(value));
            Value::Array(ours)
        }
        ("type", ours, theirs) => common_type(&ours, &theirs).unwrap_or_else(|| {
            report.record_loss(path, "type", "kept only the first of two conflicting types");
            ours
        }),
        ("items" | "additionalProperties", ours, theirs) => {
            intersect_values(ours, theirs, path, report)
        }
        (keyword, ours, theirs) if LOWER_BOUNDS.contains(&keyword) => {
            if ours.as_f64() >= theirs.as_f64() { ours } else { theirs }
        }
        (keyword, ours, theirs) if UPPER_BOUNDS.contains(&keyword) => {
            if ours.as_f64() <= theirs.as_f64() { ours } else { theirs }
        }
        (keyword, ours, _) => {
            report.record_loss(
                path,
                keyword,
                "kept only the first of two values that cannot be combined",
            );
            ours
        }
    }
}

fn intersect_values(
    ours: Value,
    theirs: Value,
    path: &str,
    report: &mut TranslationReport,
) -> Value {
    match (ours, theirs) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
        (Value::Object(ours), Value::Object(theirs)) => {
            Value::Object(intersect(ours, theirs, path, report))
        }
        (Value::Object(only), _) | (_, Value::Object(only)) => Value::Object(only),
        (ours, _) => ours,
    }
}

fn common_type(ours: &Value, theirs: &Value) -> Option<Value> {
    let names = |value: &Value| {
        subschemas::type_names(&Map::from_iter([("type".to_owned(), value.clone())]))
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    let (ours, theirs) = (names(ours), names(theirs));
    let mut common: Vec<String> = Vec::new();
    for name in &ours {
        let narrowed = match name.as_str() {
            "number" if !theirs.contains(name) && theirs.iter().any(|other| other == "integer") => {
                "integer"
            }
            "integer" if theirs.iter().any(|other| other == "number") => "integer",
            name if theirs.iter().any(|other| other == name) => name,
            _ => continue,
        };
        if !common.iter().any(|known| known == narrowed) {
            common.push(narrowed.to_owned());
        }
    }
    match common.as_slice() {
        [] => None,
        [only] => Some(json!(only)),
        several => Some(json!(several)),
    }
}

/// Returns the schema that accepts what either accepts, for a property shared
/// by alternatives.
pub(super) fn union(first: Value, second: Value) -> Value {
    if first == second {
        return first;
    }
    if let (Some(mut values), Some(more)) = (listed_values(&first), listed_values(&second)) {
        for value in more {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let mut joined = json!({"enum": values});
        if first.get("type") == second.get("type")
            && let Some(kind) = first.get("type")
        {
            joined = json!({"type": kind, "enum": joined["enum"]});
        }
        return joined;
    }
    let mut branches = match first {
        Value::Object(mut map) if map.len() == 1 && map.contains_key("anyOf") => {
            match map.shift_remove("anyOf") {
                Some(Value::Array(branches)) => branches,
                other => other.into_iter().collect(),
            }
        }
        other => vec![other],
    };
    if !branches.contains(&second) {
        branches.push(second);
    }
    json!({"anyOf": branches})
}

/// Returns the allowed values of a schema that only lists values.
fn listed_values(schema: &Value) -> Option<Vec<Value>> {
    let map = schema.as_object()?;
    let only_values = map.keys().all(|keyword| {
        matches!(keyword.as_str(), "const" | "enum" | "type" | "description" | "title")
    });
    if !only_values {
        return None;
    }
    match (map.get("const"), map.get("enum")) {
        (Some(value), None) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    }
}
