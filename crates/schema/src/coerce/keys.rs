//! Properties under another name: the caller's aliases, and other spellings.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::Log;
use crate::validate::{Compiled, Node, facets};

/// Renames top-level properties by the caller's list.
pub(super) fn apply_aliases(
    compiled: &Compiled,
    args: &mut Value,
    aliases: &[(&str, &str)],
    log: &mut Log,
) {
    let Value::Object(map) = args else { return };
    if !aliases.iter().any(|(alias, _)| map.contains_key(*alias)) {
        return;
    }
    let own = facets::known_properties(&compiled.conjunction(&[compiled.root_node()]));
    let mut renames = HashMap::new();
    for (alias, name) in aliases {
        let taken = map.contains_key(*name) || renames.values().any(|used| used == name);
        if map.contains_key(*alias) && !taken && !own.contains(alias) {
            renames.insert((*alias).to_owned(), (*name).to_owned());
            log.rename("", alias, name, "alias");
        }
    }
    rename(map, renames);
}

/// Renames keys where they stand.
pub(super) fn rename(map: &mut Map<String, Value>, mut renames: HashMap<String, String>) {
    if renames.is_empty() {
        return;
    }
    *map = std::mem::take(map)
        .into_iter()
        .map(|(key, value)| (renames.remove(&key).unwrap_or(key), value))
        .collect();
}

/// An unknown key and the absent property that it spells differently.
pub(super) struct Match {
    pub(super) key: String,
    pub(super) property: String,
    /// The key cannot stay as it is, or the property cannot stay absent.
    pub(super) needed: bool,
}

/// The unknown keys of an object that spell an absent property, each as the only one to do so.
pub(super) fn matches(map: &Map<String, Value>, facets: &[Node<'_>], at_top: bool) -> Vec<Match> {
    let says = |keyword: &str| facets.iter().any(|facet| facet.schema.get(keyword).is_some());
    if says("patternProperties") {
        return Vec::new();
    }
    let known = facets::known_properties(facets);
    let closed = facets::is_closed(facets);
    let tolerant = at_top && !says("additionalProperties");
    // `None` marks a spelling that several properties, or several keys, share.
    let mut properties: HashMap<String, Option<&str>> = HashMap::new();
    for name in &known {
        properties
            .entry(squash(name))
            .and_modify(|shared| *shared = None)
            .or_insert(Some(name));
    }
    let declared: HashSet<&str> = known.into_iter().collect();
    let mut strays: HashMap<String, Option<&str>> = HashMap::new();
    let mut order = Vec::new();
    for key in map.keys().filter(|key| !declared.contains(key.as_str())) {
        let spelling = squash(key);
        if strays.contains_key(&spelling) {
            strays.insert(spelling, None);
        } else {
            order.push(spelling.clone());
            strays.insert(spelling, Some(key));
        }
    }
    order
        .into_iter()
        .filter_map(|spelling| {
            let key = (*strays.get(&spelling)?)?;
            let property = (*properties.get(&spelling)?)?;
            let needed = closed || facets::is_required(facets, property);
            let absent = !map.contains_key(property);
            (absent && (needed || tolerant)).then(|| Match {
                key: key.to_owned(),
                property: property.to_owned(),
                needed,
            })
        })
        .collect()
}

/// A name without what differs between spellings: case and separators.
pub(super) fn squash(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
