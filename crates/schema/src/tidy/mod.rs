//! Trimming a generated schema to what a model needs to read.

mod refs;

use serde_json::{Map, Value, json};

use crate::depth::ValueSurvey;
use crate::subschemas::{self, ANNOTATION_KEYWORDS};

/// Rounds until nothing changes any more; two are usual.
const MAX_ROUNDS: usize = 32;

/// Keywords whose meaning depends on the draft, so that `$schema` has to stay with them.
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

/// Formats that repeat a type of the programming language.
const NUMBER_FORMATS: [&str; 15] = [
    "uint", "uint8", "uint16", "uint32", "uint64", "uint128", "int", "int8", "int16", "int32",
    "int64", "int128", "float", "double", "decimal",
];

/// Trims a schema that was generated from types, for models to read.
///
/// - `$schema`, titles and number formats go; bounds such as `minimum: 0` stay.
/// - Definitions that are used once, and not by themselves, move to where they are used.
/// - An `allOf` of one, and a `oneOf` of documented constants, become plain schemas; the documentation
///   of the constants moves into the description.
/// - A property that may be left out need not be null as well: its `null` alternative goes.
///   Coercion drops such a null when a model writes it all the same.
///
/// Apart from the last point the meaning stays the same. Tidying a tidy schema changes nothing.
pub fn tidy_schema(schema: Value) -> Value {
    tidy_until_stable(schema, NullHandling::Drop)
}

/// The same for a schema that somebody else has written: null stays where it is allowed, since it
/// may say something else there than nothing does.
pub fn tidy_foreign_schema(schema: Value) -> Value {
    tidy_until_stable(schema, NullHandling::Keep)
}

/// What becomes of the null of a property that may be left out.
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
    // References into the middle of the document would miss their target once it is reshaped.
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

/// Draft 6 or later: the drafts that agree with the default one on all other keywords.
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

/// Whether the keyword says the same beside a reference in every draft.
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

/// `allOf` with one part becomes that part, unless both speak about the same thing.
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

/// The schema with another one written into it; of annotations both have, its own prevail, but
/// descriptions add up.
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

/// Alternatives that are all constants become a list of values.
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

/// The values of a union of constants, with their type and what is said about each.
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

/// Takes `null` out of properties that may be left out.
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
