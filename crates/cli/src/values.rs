//! `key=value` arguments, read by the tool's schema.

use hermes::core::ErrorKind;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Reads the arguments of `hermes call`: one JSON object, or pairs.
pub(crate) fn read(words: &[String], schema: &Value) -> Result<Value, Failure> {
    match words {
        [] => Ok(Value::Object(Map::new())),
        // The pipeline reads the text, and mends it where it can.
        [one] if one == "-" => Ok(Value::String(std::io::read_to_string(std::io::stdin())?)),
        [one] if one.trim_start().starts_with(['{', '[', '"']) || !one.contains('=') => {
            Ok(Value::String(one.clone()))
        }
        pairs => read_pairs(pairs, schema),
    }
}

fn read_pairs(pairs: &[String], schema: &Value) -> Result<Value, Failure> {
    let mut fields = Map::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(Failure::usage(format!("'{pair}' is not a key=value pair"))
                .hint("Write key=value pairs, or one JSON object in quotes."));
        };
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (key, literal(key, text)?),
            None => (key, by_schema(schema, key, text)?),
        };
        if key.is_empty() {
            return Err(Failure::usage(format!("'{pair}' has no key before '='")));
        }
        put(&mut fields, key, value);
    }
    Ok(Value::Object(fields))
}

/// A key that is given again makes a list.
fn put(fields: &mut Map<String, Value>, key: &str, value: Value) {
    match (fields.get_mut(key), value) {
        (None, value) => {
            fields.insert(key.to_owned(), value);
        }
        (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
        (Some(Value::Array(items)), one) => items.push(one),
        (Some(first), second) => *first = Value::Array(vec![first.take(), second]),
    }
}

fn literal(key: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|e| {
        Failure::usage(format!("{key}:= must be followed by JSON: {e}"))
            .hint(format!("For text, write {key}=VALUE."))
    })
}

fn by_schema(schema: &Value, key: &str, text: &str) -> Result<Value, Failure> {
    let text = match text.strip_prefix('@') {
        Some(file) if !file.is_empty() => std::fs::read_to_string(file).map_err(|e| {
            Failure::failed(ErrorKind::NotFound, format!("{key}=@{file}: {e}"))
                .hint(format!("For text that begins with '@', write {key}:='\"@…\"'."))
        })?,
        _ => text.to_owned(),
    };
    let property = schema.pointer(&format!("/properties/{}", key.replace('~', "~0").replace('/', "~1")));
    Ok(property.map_or_else(|| Value::String(text.clone()), |p| typed(p, &text)))
}

/// The text as the type that the schema asks for, if it can be read so; the
/// pipeline says what is wrong otherwise.
fn typed(property: &Value, text: &str) -> Value {
    let kinds: Vec<&str> = match property.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let plain = || Value::String(text.to_owned());
    if kinds.contains(&"string") {
        return plain();
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return value;
    }
    if kinds.contains(&"array") {
        let items = property.get("items").cloned().unwrap_or_default();
        return text.split(',').map(|part| typed(&items, part.trim())).collect();
    }
    plain()
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
