//! SHA-256 of text and of JSON, whatever order its keys are in.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// How deep a document may be nested before the rest is taken as text.
const MAX_DEPTH: usize = 64;

/// The hash of bytes, in hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of a document. Two that differ only in the order of keys have the
/// same.
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
