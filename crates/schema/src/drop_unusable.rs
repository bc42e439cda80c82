//! Schemas of strangers, without what no validator can use.

use serde_json::{Value, json};

use crate::pointer;
use crate::validate::{Schema, SchemaError, expand_nullable_owned};

/// Keywords that are taken out one by one before a schema is given up.
const MAX_DROPPED_KEYWORDS: usize = 64;

/// The schema without the keywords that cannot be used, and where those were:
/// a pattern in another dialect of regular expressions, a type that is none, a
/// reference that leads nowhere. Whoever has written it may well understand
/// them. A schema of which nothing can be used is one of any object, and the
/// only pointer is that of the whole.
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
        // Complaints about a schema are about its folded form.
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

/// Where a reference is that leads nowhere.
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
