//! SHA-256 of text and of JSON, whatever order its keys are in.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// How deep a document may be nested before the rest is taken as text.
const DEEPEST: usize = 64;

/// The hash of bytes, in hexadecimal.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of a document. Two that differ only in the order of keys have the
/// same.
pub(crate) fn of_json(value: &Value) -> String {
    let mut text = String::new();
    write(value, DEEPEST, &mut text);
    of_bytes(text.as_bytes())
}

fn write(value: &Value, levels: usize, text: &mut String) {
    match value {
        Value::Object(fields) if levels > 0 => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort();
            text.push('{');
            for key in keys {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(&fields[key], levels - 1, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) if levels > 0 => {
            text.push('[');
            for item in items {
                write(item, levels - 1, text);
                text.push(',');
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}
