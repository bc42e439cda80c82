//! Renames misspelled properties: the caller's aliases, and other spellings.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::ChangeLog;
use crate::validate::{CompiledSchema, SchemaNode, applicable};

/// Renames top-level properties by the caller's aliases.
pub(super) fn apply_aliases(
    compiled: &CompiledSchema,
    args: &mut Value,
    aliases: &[(&str, &str)],
    log: &mut ChangeLog,
) {
    let Value::Object(map) = args else { return };
    if !aliases.iter().any(|(alias, _)| map.contains_key(*alias)) {
        return;
    }
    let own = applicable::known_properties(&compiled.conjunction(&[compiled.root_node()]));
    let mut renames = HashMap::new();
    for (alias, name) in aliases {
        let taken = map.contains_key(*name) || renames.values().any(|used| used == name);
        if map.contains_key(*alias) && !taken && !own.contains(alias) {
            renames.insert((*alias).to_owned(), (*name).to_owned());
            log.push_rename("", alias, name, "alias");
        }
    }
    rename_keys(map, renames);
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
