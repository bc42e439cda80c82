//! Definitions without what goes without saying: each is read by a model again
//! and again.

use schemars::Schema;
use serde_json::Value;

/// Leaves out that a switch is off, a list empty and a count 0 where nothing is
/// said. That a count is not negative stays: whoever gives such a one is told by
/// it, with an example.
pub(crate) fn omit_empty_defaults(schema: &mut Schema) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|all| all.values_mut()) {
        let Some(keywords) = property.as_object_mut() else { continue };
        keywords.retain(|keyword, value| keyword != "default" || !is_empty_default(value));
    }
}

fn is_empty_default(value: &Value) -> bool {
    match value {
        Value::Bool(on) => !on,
        Value::Number(count) => count.as_u64() == Some(0),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
#[path = "schema_trim_tests.rs"]
mod tests;
