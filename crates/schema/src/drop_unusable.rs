//! Removes from third-party schemas what no validator can use.

use serde_json::{Value, json};

use crate::pointer;
use crate::validate::{Schema, SchemaError, expand_nullable_owned};

/// Maximum number of keywords removed one by one before the whole schema is
/// dropped.
const MAX_DROPPED_KEYWORDS: usize = 64;

/// Returns the schema without unusable keywords, and JSON pointers to those: a
/// pattern in another regex dialect, an invalid type, a dangling reference. The
/// author's software may still understand them. If nothing is usable, returns a
/// schema of any object and a single pointer to the root.
pub fn drop_unusable(schema: Value) -> (Value, Vec<String>) {
    let mut schema = schema;
    let mut dropped = Vec::new();
    for _ in 0..MAX_DROPPED_KEYWORDS {
        let compiled = Schema::new(schema);
        let at = match compiled.compile() {
            Ok(()) => return (compiled.into_raw(), dropped),
            Err(SchemaError::Invalid { path, .. }) => Some(path.clone()),
            Err(SchemaError::TooDeep) => None,
        };
        schema = compiled.into_raw();
        let Some(at) = at else { break };
        // Error paths refer to the schema with `nullable` expanded.
        schema = expand_nullable_owned(schema);
        let at = if at.is_empty() {
            find_dangling_ref(&schema, &schema, String::new())
        } else {
            Some(at)
        };
        match at {
            Some(at) if remove_at(&mut schema, &at) => dropped.push(at),
            _ => break,
        }
    }
    (json!({"type": "object"}), vec![String::new()])
}

/// Returns a pointer to the first dangling reference.
fn find_dangling_ref(document: &Value, part: &Value, at: String) -> Option<String> {
    match part {
        Value::Object(fields) => fields.iter().find_map(|(key, field)| {
            let here = pointer::join(&at, key);
            match field {
                Value::String(reference) if key == "$ref" => {
                    pointer::follow_ref(document, reference).is_none().then_some(here)
                }
                field => find_dangling_ref(document, field, here),
            }
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| find_dangling_ref(document, item, format!("{at}/{index}"))),
        _ => None,
    }
}

fn remove_at(schema: &mut Value, at: &str) -> bool {
    let Some((parent, name)) = at.rsplit_once('/') else { return false };
    match schema.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.shift_remove(&name.replace("~1", "/").replace("~0", "~")).is_some()
        }
        Some(Value::Array(items)) => match name.parse().ok().filter(|index| *index < items.len()) {
            Some(index) => {
                items.remove(index);
                true
            }
            None => false,
        },
        _ => false,
    }
}

#[cfg(test)]
#[path = "drop_unusable_tests.rs"]
mod tests;
