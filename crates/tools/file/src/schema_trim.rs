//! Removal of redundant defaults from tool schemas, which a model reads with
//! every request.

use schemars::Schema;
use serde_json::Value;

/// Removes defaults that are false, empty or 0. The minimum of a count stays:
/// the validation error for a negative value refers to it.
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
