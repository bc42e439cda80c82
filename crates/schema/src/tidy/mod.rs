//! Trims a generated schema to what a model needs to read.

mod refs;

use serde_json::{Map, Value, json};

use crate::depth::ValueSurvey;
use crate::subschemas::{self, ANNOTATION_KEYWORDS};

/// Maximum number of rounds until nothing changes; usually two suffice.
const MAX_ROUNDS: usize = 32;

/// Keywords whose meaning depends on the draft, so `$schema` must stay.
const DRAFT_DEPENDENT_KEYWORDS: [&str; 14] = [
    "prefixItems",
    "additionalItems",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "minContains",
    "maxContains",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$anchor",
    "$vocabulary",
];

/// Formats that only repeat a number type of a programming language.
const NUMBER_FORMATS: [&str; 15] = [
    "uint", "uint8", "uint16", "uint32", "uint64", "uint128", "int", "int8", "int16", "int32",
    "int64", "int128", "float", "double", "decimal",
];

/// Trims a schema generated from types, for models to read.
///
/// - Removes `$schema`, titles and number formats; bounds such as `minimum: 0` stay.
/// - Inlines definitions that are used once and are not recursive.
/// - Simplifies an `allOf` with one part.
/// - Converts a `oneOf` of documented constants to an enum, with their docs in the description.
/// - Removes `null` from optional properties; coercion drops it if a model sends it anyway.
///
/// Except for the last point, the meaning stays the same. Tidying a tidy schema
/// changes nothing.
pub fn tidy_schema(schema: Value) -> Value {
    tidy_until_stable(schema, NullHandling::Drop)
}

/// Trims a third-party schema like [`tidy_schema`], but keeps `null` where it
/// is allowed, as it may differ from an omitted property.
pub fn tidy_foreign_schema(schema: Value) -> Value {
    tidy_until_stable(schema, NullHandling::Keep)
}

/// What to do with `null` in optional properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NullHandling {
    Drop,
    Keep,
}

fn tidy_until_stable(schema: Value, nulls: NullHandling) -> Value {
    if ValueSurvey::measure(&schema).too_deep {
        return schema;
    }
    let mut current = schema;
    for _ in 0..MAX_ROUNDS {
        let next = tidy_once(current.clone(), nulls);
        if next == current {
            break;
        }
        current = next;
    }
    current
}

fn tidy_once(schema: Value, nulls: NullHandling) -> Value {
    // References into the middle of the document would break if it were
    // reshaped.
    let reshape = refs::has_only_definition_refs(&schema);
    let mut schema = trim_keywords(schema, reshape, nulls);
    if reshape {
        schema = refs::inline_single_uses(schema);
    }
    if let Value::Object(map) = &mut schema
        && is_modern(map.get("$schema"))
        && !depends_on_draft(&Value::Object(map.clone()))
    {
        map.shift_remove("$schema");
    }
    schema
}

/// Whether the draft is 6 or later: these agree with the default draft on all
/// other keywords.
fn is_modern(uri: Option<&Value>) -> bool {
    let uri = uri.and_then(Value::as_str).unwrap_or_default();
    ["draft-06/", "draft-07/", "draft/2019-09/", "draft/2020-12/"]
        .iter()
        .any(|draft| uri.contains(draft))
}

fn depends_on_draft(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    let mut found = DRAFT_DEPENDENT_KEYWORDS.iter().any(|keyword| map.contains_key(*keyword))
        || (map.contains_key("$ref") && !map.keys().all(|keyword| is_allowed_beside_ref(keyword)));
    subschemas::for_each_child(schema, |_, child| found = found || depends_on_draft(child));
    found
}

/// Whether the keyword means the same next to `$ref` in every draft.
fn is_allowed_beside_ref(keyword: &str) -> bool {
    ANNOTATION_KEYWORDS.contains(&keyword)
        || matches!(keyword, "$ref" | "$defs" | "definitions" | "$schema")
}

fn trim_keywords(schema: Value, reshape: bool, nulls: NullHandling) -> Value {
    let Value::Object(map) = schema else {
        return schema;
    };
    let mut map =
        subschemas::map_children(map, "", |child, _| trim_keywords(child, reshape, nulls));
    if map.get("title").is_some_and(Value::is_string) {
        map.shift_remove("title");
    }
    let numeric =
        subschemas::type_names(&map).iter().any(|name| matches!(*name, "integer" | "number"));
    let format = map.get("format").and_then(Value::as_str);
    if numeric && format.is_some_and(|format| NUMBER_FORMATS.contains(&format)) {
        map.shift_remove("format");
    }
    if reshape {
        map = unwrap_single_part(map);
        map = constants_to_enum(map);
        if nulls == NullHandling::Drop {
            drop_optional_nulls(&mut map);
        }
    }
    Value::Object(map)
}

/// Replaces an `allOf` of one part with that part, unless their keywords
/// conflict.
fn unwrap_single_part(mut map: Map<String, Value>) -> Map<String, Value> {
    let part = match map.get("allOf") {
        Some(Value::Array(parts)) if parts.len() == 1 => parts[0].as_object().cloned(),
        _ => None,
    };
    let Some(part) = part else { return map };
    let outer: Vec<&String> = map.keys().filter(|keyword| *keyword != "allOf").collect();
    let clash = outer.iter().any(|keyword| {
        part.contains_key(*keyword) && !ANNOTATION_KEYWORDS.contains(&keyword.as_str())
    });
    let beside =
        !part.contains_key("$ref") || outer.iter().all(|keyword| is_allowed_beside_ref(keyword));
    let hidden =
        map.contains_key("$ref") && !part.keys().all(|keyword| is_allowed_beside_ref(keyword));
    if clash || !beside || hidden {
        return map;
    }
    map.shift_remove("allOf");
    merge_into(map, part)
}

/// Merges `inner` into `outer`. Descriptions are concatenated; of other shared
/// annotations, those of `outer` win.
fn merge_into(mut outer: Map<String, Value>, inner: Map<String, Value>) -> Map<String, Value> {
    for (keyword, theirs) in inner {
        match outer.get_mut(&keyword) {
            Some(Value::String(ours)) if keyword == "description" => {
                if let Some(text) = theirs.as_str().filter(|text| !ours.contains(*text)) {
                    ours.push('\n');
                    ours.push_str(text);
                }
            }
            Some(_) if ANNOTATION_KEYWORDS.contains(&keyword.as_str()) => {}
            _ => {
                outer.insert(keyword, theirs);
            }
        }
    }
    outer
}

/// Converts a union of constants to an enum.
fn constants_to_enum(mut map: Map<String, Value>) -> Map<String, Value> {
    for keyword in ["oneOf", "anyOf"] {
        let Some(Value::Array(branches)) = map.get(keyword) else { continue };
        let Some(listed) = ConstantUnion::from_branches(branches, keyword == "oneOf") else {
            continue;
        };
        let typed = match (map.get("type"), &listed.kind) {
            (None, _) => true,
            (Some(outer), Some(inner)) => outer == inner,
            (Some(_), None) => false,
        };
        if map.contains_key("enum")
            || map.contains_key("const")
            || map.contains_key("$ref")
            || !typed
        {
            continue;
        }
        let description = listed.merge_description(map.get("description").and_then(Value::as_str));
        map.shift_remove(keyword);
        if let Some(kind) = listed.kind {
            map.insert("type".to_owned(), Value::String(kind));
        }
        map.insert("enum".to_owned(), Value::Array(listed.values));
        if let Some(text) = description {
            map.insert("description".to_owned(), Value::String(text));
        }
    }
    map
}

/// The values of a union of constants, with their type and descriptions.
struct ConstantUnion {
    values: Vec<Value>,
    kind: Option<String>,
    notes: Vec<String>,
}

impl ConstantUnion {
    fn from_branches(branches: &[Value], exclusive: bool) -> Option<Self> {
        let mut listed = Self { values: Vec::new(), kind: None, notes: Vec::new() };
        let mut kinds: Vec<Option<&str>> = Vec::new();
        for branch in branches {
            let map = branch.as_object()?;
            let plain = |keyword: &String| {
                matches!(keyword.as_str(), "const" | "enum" | "type" | "description" | "title")
            };
            if !map.keys().all(plain) {
                return None;
            }
            let values: &[Value] = match (map.get("const"), map.get("enum")) {
                (Some(value), None) => std::slice::from_ref(value),
                (None, Some(Value::Array(values))) => values,
                _ => return None,
            };
            let kind = map.get("type").map(|kind| kind.as_str().ok_or(())).transpose().ok()?;
            for value in values {
                let repeated = listed.values.contains(value);
                let fits = kind.is_none_or(|kind| crate::validate::json_type_name(value) == kind);
                if !fits || (repeated && exclusive) {
                    return None;
                }
                if !repeated {
                    listed.values.push(value.clone());
                }
            }
            kinds.push(kind);
            if let Some(note) = map.get("description").and_then(Value::as_str) {
                let names: Vec<String> = values.iter().map(plain_text).collect();
                listed.notes.push(format!("- {}: {}", names.join(", "), note.trim()));
            }
        }
        let first = *kinds.first()?;
        if kinds.iter().all(|kind| *kind == first) {
            listed.kind = first.map(str::to_owned);
        }
        Some(listed)
    }

    fn merge_description(&self, description: Option<&str>) -> Option<String> {
        let lines: Vec<&str> = description
            .into_iter()
            .chain(self.notes.iter().map(String::as_str))
            .filter(|line| !line.is_empty())
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Removes `null` from optional properties.
fn drop_optional_nulls(map: &mut Map<String, Value>) {
    let required: Vec<String> = subschemas::required_names(map).map(str::to_owned).collect();
    let Some(Value::Object(properties)) = map.get_mut("properties") else { return };
    for (name, property) in properties {
        if !required.contains(name)
            && let Value::Object(property) = property
        {
            drop_null(property);
        }
    }
}

fn drop_null(property: &mut Map<String, Value>) {
    let mut dropped = property.get("nullable") == Some(&Value::Bool(true));
    property.retain(|keyword, value| keyword != "nullable" || *value != true);
    if let Some(Value::Array(names)) = property.get_mut("type")
        && names.len() > 1
        && names.iter().any(|name| name == "null")
    {
        names.retain(|name| name != "null");
        if let [only] = names.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
        dropped = true;
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = property.get_mut(keyword) else { continue };
        let before = branches.len();
        let real = branches.iter().filter(|branch| !subschemas::is_null_schema(branch)).count();
        if real == 0 || real == before {
            continue;
        }
        branches.retain(|branch| !subschemas::is_null_schema(branch));
        dropped = true;
        if let [only @ Value::Object(_)] = branches.as_slice() {
            let part = json!([only]);
            property.shift_remove(keyword);
            property.insert("allOf".to_owned(), part);
            *property = unwrap_single_part(std::mem::take(property));
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum")
        && values.iter().any(|value| !value.is_null())
        && values.iter().any(Value::is_null)
    {
        values.retain(|value| !value.is_null());
        dropped = true;
    }
    if dropped && property.get("default") == Some(&Value::Null) {
        property.shift_remove("default");
    }
}

#[cfg(test)]
#[path = "tidy_tests.rs"]
mod tests;
