//! Renames misspelled properties: the caller's aliases, and other spellings.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::ChangeLog;
use crate::validate::{CompiledSchema, SchemaNode, applicable};

/// Renames top-level properties by the caller's aliases, in any spelling.
pub(super) fn apply_aliases(
    compiled: &CompiledSchema,
    args: &mut Value,
    aliases: &[(&str, &str)],
    log: &mut ChangeLog,
) {
    if aliases.is_empty() || !has_unknown_keys(compiled, args) {
        return;
    }
    let Value::Object(map) = args else { return };
    let own = applicable::known_properties(&compiled.conjunction(&[compiled.root_node()]));
    let own_spellings: HashSet<String> = own.iter().map(|name| normalize_name(name)).collect();
    let respelled = |alias: &str| {
        let spelling = normalize_name(alias);
        let mut same = map.keys().filter(|key| normalize_name(key) == spelling);
        same.next().filter(|_| !own_spellings.contains(&spelling) && same.next().is_none())
    };
    let mut renames = HashMap::new();
    for is_exact in [true, false] {
        for (alias, name) in aliases {
            let taken = map.contains_key(*name) || renames.values().any(|used| used == name);
            if taken || own.contains(alias) {
                continue;
            }
            let key =
                if is_exact { map.get_key_value(*alias).map(|it| it.0) } else { respelled(alias) };
            if let Some(key) = key.filter(|key| !renames.contains_key(*key)) {
                renames.insert(key.clone(), (*name).to_owned());
                log.push_rename("", key, name, "alias");
            }
        }
    }
    rename_keys(map, renames);
}

/// Whether an object has keys that the root of the schema does not declare
/// itself.
pub(super) fn has_unknown_keys(compiled: &CompiledSchema, args: &Value) -> bool {
    let declared = compiled.root_node().get("properties").and_then(Value::as_object);
    let is_declared = |key: &String| declared.is_some_and(|all| all.contains_key(key));
    args.as_object().is_some_and(|map| !map.keys().all(is_declared))
}

/// Renames keys and keeps their order.
pub(super) fn rename_keys(map: &mut Map<String, Value>, mut renames: HashMap<String, String>) {
    if renames.is_empty() {
        return;
    }
    *map = std::mem::take(map)
        .into_iter()
        .map(|(key, value)| (renames.remove(&key).unwrap_or(key), value))
        .collect();
}

/// Returns the unknown keys of an object that spell an absent property, each
/// with that property. Ambiguous keys are left out.
pub(super) fn match_unknown_keys(
    map: &Map<String, Value>,
    facets: &[SchemaNode<'_>],
    at_top: bool,
) -> Vec<(String, String)> {
    let says = |keyword: &str| facets.iter().any(|facet| facet.get(keyword).is_some());
    if says("patternProperties") {
        return Vec::new();
    }
    let known = applicable::known_properties(facets);
    if known.len() <= 32 && map.keys().all(|key| known.contains(&key.as_str())) {
        return Vec::new();
    }
    let declared: HashSet<&str> = known.iter().copied().collect();
    let closed = applicable::is_closed(facets);
    let tolerant = at_top && !says("additionalProperties");
    // `None` marks a spelling shared by several properties or keys.
    let mut properties: HashMap<String, Option<&str>> = HashMap::new();
    for name in &known {
        properties
            .entry(normalize_name(name))
            .and_modify(|shared| *shared = None)
            .or_insert(Some(name));
    }
    let mut strays: IndexMap<String, Option<&str>> = IndexMap::new();
    for key in map.keys().filter(|key| !declared.contains(key.as_str())) {
        strays.entry(normalize_name(key)).and_modify(|shared| *shared = None).or_insert(Some(key));
    }
    strays
        .into_iter()
        .filter_map(|(spelling, key)| {
            let (key, property) = (key?, (*properties.get(&spelling)?)?);
            let welcome = closed || tolerant || applicable::is_required(facets, property);
            (welcome && !map.contains_key(property)).then(|| (key.to_owned(), property.to_owned()))
        })
        .collect()
}

/// Removes what differs between spellings: case, hyphens, underscores,
/// whitespace.
pub(super) fn normalize_name(name: &str) -> String {
    let separator = |c: &char| matches!(c, '-' | '_') || c.is_whitespace();
    name.chars().filter(|c| !separator(c)).flat_map(char::to_lowercase).collect()
}
