//! Removes wrappers that models put around the arguments of a call.

use serde_json::{Map, Value};

use super::ChangeLog;
use super::keys::normalize_name;
use crate::repair;
use crate::type_set::TypeSet;
use crate::validate::{CompiledSchema, applicable};

/// Names under which models nest the arguments.
const WRAPPER_KEYS: [&str; 6] =
    ["arguments", "args", "input", "parameters", "params", "tool_input"];

/// Maximum number of wrappers around the arguments.
const MAX_WRAPPERS: usize = 3;

/// Unwraps `{"arguments": {…}}` and `[{…}]`, if the schema knows neither.
pub(super) fn unwrap_arguments(
    compiled: &CompiledSchema,
    args: &mut Value,
    aliases: &[(&str, &str)],
    log: &mut ChangeLog,
) {
    for _ in 0..MAX_WRAPPERS {
        let inner = match args {
            Value::Array(items) => listed_arguments(compiled, items),
            Value::Object(map) => nested_arguments(compiled, map, aliases),
            _ => None,
        };
        let Some(inner) = inner else { return };
        log.push("", args, Some(&inner), "unwrap");
        *args = inner;
    }
}

/// The only object of a list, if the arguments cannot be a list.
fn listed_arguments(compiled: &CompiledSchema, items: &[Value]) -> Option<Value> {
    let [only @ Value::Object(_)] = items else { return None };
    let root = [compiled.root_node()];
    let facets = compiled.conjunction(&root);
    let takes_list = TypeSet::allowed_types(&facets).intersects(TypeSet::ARRAY);
    let is_object = compiled.root_node().get("type").is_some_and(|kind| kind == "object");
    (is_object && !takes_list).then(|| only.clone())
}

/// The object under the only key, if that is a wrapper and not an argument.
fn nested_arguments(
    compiled: &CompiledSchema,
    map: &Map<String, Value>,
    aliases: &[(&str, &str)],
) -> Option<Value> {
    let mut entries = map.iter();
    let (Some((key, inner)), None) = (entries.next(), entries.next()) else { return None };
    if !WRAPPER_KEYS.contains(&key.as_str()) {
        return None;
    }
    let root = [compiled.root_node()];
    let facets = compiled.conjunction(&root);
    let says = |keyword: &str| facets.iter().any(|facet| facet.get(keyword).is_some());
    let known = applicable::known_properties(&facets);
    let is_closed = applicable::is_closed(&facets);
    let is_open = says("additionalProperties") || known.is_empty();
    if known.contains(&key.as_str()) || says("patternProperties") || (is_open && !is_closed) {
        return None;
    }
    let fits = |name: &str| {
        let nodes = applicable::property_nodes(&facets, name);
        known.contains(&name) && compiled.accepts(inner, &nodes)
    };
    if aliases.iter().any(|(alias, name)| alias == key && fits(name)) {
        return None;
    }
    let inner = match inner {
        Value::Object(inner) => inner.clone(),
        Value::String(text) => match repair::parse_strict(text)? {
            Value::Object(inner) => inner,
            _ => return None,
        },
        _ => return None,
    };
    let spellings = known.iter().chain(aliases.iter().map(|(alias, _)| alias));
    let spellings: Vec<String> = spellings.map(|name| normalize_name(name)).collect();
    let is_known = |key: &String| spellings.contains(&normalize_name(key));
    (is_closed || inner.keys().all(is_known)).then_some(Value::Object(inner))
}
