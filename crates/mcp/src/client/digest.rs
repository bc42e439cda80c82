//! SHA-256 of bytes and of JSON, independent of key order.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Deeper levels of a document are hashed as plain text.
const MAX_DEPTH: usize = 64;

/// Returns the SHA-256 hash of bytes, in hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the hash of a JSON document, independent of key order.
pub(crate) fn json_sha256(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, MAX_DEPTH, &mut text);
    sha256_hex(text.as_bytes())
}

fn write_canonical(value: &Value, levels: usize, text: &mut String) {
    match value {
        Value::Object(fields) if levels > 0 => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort();
            text.push('{');
            for key in keys {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(&fields[key], levels - 1, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) if levels > 0 => {
            text.push('[');
            for item in items {
                write_canonical(item, levels - 1, text);
                text.push(',');
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}
