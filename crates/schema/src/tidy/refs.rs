//! Inlines definitions that are used once.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{is_allowed_beside_ref, merge_into};
use crate::depth::MAX_DEPTH;
use crate::pointer;
use crate::subschemas;

/// Whether every reference points to the whole document or to a top-level
/// definition.
pub(super) fn has_only_definition_refs(document: &Value) -> bool {
    fn is_definition_ref(schema: &Value, at_root: bool) -> bool {
        let direct = match schema.get("$ref") {
            None => true,
            Some(Value::String(reference)) => reference == "#" || names_definition(reference),
            Some(_) => false,
        };
        let foreign = !at_root
            && (schema.get("$id").is_some_and(Value::is_string) || has_definitions(schema));
        let mut fine = direct && !foreign;
        subschemas::for_each_child(schema, |_, child| {
            fine = fine && is_definition_ref(child, false)
        });
        fine
    }
    is_definition_ref(document, true)
}

fn has_definitions(schema: &Value) -> bool {
    schema.get("$defs").is_some() || schema.get("definitions").is_some()
}

fn names_definition(reference: &str) -> bool {
    ["#/$defs/", "#/definitions/"]
        .iter()
        .any(|base| reference.strip_prefix(base).is_some_and(|name| !name.contains('/')))
}

/// Inlines definitions that are used exactly once, and drops unused ones.
pub(super) fn inline_single_uses(document: Value) -> Value {
    let uses = count_uses(&document);
    let single: HashMap<String, Value> = uses
        .iter()
        .filter(|(_, uses)| uses.count == 1 && uses.movable)
        .filter_map(|(target, _)| Some((target.clone(), document.pointer(target)?.clone())))
        .filter(|(_, definition)| definition.is_object())
        .collect();
    let mut placement = DefinitionInliner { definitions: &single, too_deep: false };
    match placement.inline_definitions(document.clone(), 0) {
        Value::Object(map) if !placement.too_deep => {
            Value::Object(without_definitions(map, |pointer| {
                !uses.contains_key(pointer) || single.contains_key(pointer)
            }))
        }
        _ => document,
    }
}

fn without_definitions(
    mut map: Map<String, Value>,
    drop: impl Fn(&str) -> bool,
) -> Map<String, Value> {
    for keyword in ["$defs", "definitions"] {
        let base = pointer::join("", keyword);
        if let Some(Value::Object(named)) = map.get_mut(keyword) {
            named.retain(|name, _| !drop(&pointer::join(&base, name)));
            if named.is_empty() {
                map.shift_remove(keyword);
            }
        }
    }
    map
}

#[derive(Default)]
struct DefinitionUses {
    count: usize,
    /// Whether no keyword next to the reference prevents inlining.
    movable: bool,
}

/// Counts the uses of each definition that is reachable from the root.
fn count_uses(document: &Value) -> HashMap<String, DefinitionUses> {
    let mut uses: HashMap<String, DefinitionUses> = HashMap::new();
    let mut open: Vec<&Value> = vec![document];
    let mut at_root = true;
    while let Some(schema) = open.pop() {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && let Some((target, pointer)) = pointer::follow_ref(document, reference)
            && !pointer.is_empty()
        {
            let entry = uses.entry(pointer).or_default();
            entry.count += 1;
            entry.movable = schema
                .as_object()
                .is_some_and(|map| map.keys().all(|keyword| is_allowed_beside_ref(keyword)));
            if entry.count == 1 {
                open.push(target);
            }
        }
        subschemas::for_each_child(schema, |path, child| {
            let definition = path.starts_with("/$defs/") || path.starts_with("/definitions/");
            if !(at_root && definition) {
                open.push(child);
            }
        });
        at_root = false;
    }
    uses
}

/// Replaces references with their definitions.
struct DefinitionInliner<'d> {
    definitions: &'d HashMap<String, Value>,
    /// Whether a chain of nested definitions exceeded the depth limit.
    too_deep: bool,
}

impl DefinitionInliner<'_> {
    fn inline_definitions(&mut self, schema: Value, depth: usize) -> Value {
        let Value::Object(mut map) = schema else {
            return schema;
        };
        // A subschema usually takes two levels of JSON.
        if depth > MAX_DEPTH / 2 {
            self.too_deep = true;
            return Value::Object(map);
        }
        let target = map
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| self.definitions.get(&pointer::local_pointer(reference)?));
        if let Some(Value::Object(definition)) = target {
            map.shift_remove("$ref");
            let written = merge_into(map, definition.clone());
            return self.inline_definitions(Value::Object(written), depth + 1);
        }
        Value::Object(subschemas::map_children(map, "", |child, _| {
            self.inline_definitions(child, depth + 1)
        }))
    }
}
