//! Encodes the fields of an entry.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Longer entries lose their long fields.
const MAX_ENTRY_BYTES: usize = 4 << 20;

/// Fields up to this size are kept.
const SHORT_FIELD_BYTES: usize = 4096;

/// Limit on the total size of the fields kept.
const MAX_SHORT_FIELDS_BYTES: usize = 1 << 20;

/// Fields reserved for the log.
const RESERVED_FIELDS: [&str; 4] = ["seq", "time", "prev", "hash"];

/// Returns the content of an entry's object on one line, with reserved field
/// names prefixed.
pub(crate) fn entry_fields(text: &[u8]) -> Cow<'_, [u8]> {
    if text.len() <= MAX_ENTRY_BYTES && is_plain(text) {
        return Cow::Borrowed(object_contents(text));
    }
    Cow::Owned(object_contents(&rewrite(text)).to_vec())
}

fn object_contents(object: &[u8]) -> &[u8] {
    object.get(1..object.len().saturating_sub(1)).unwrap_or_default().trim_ascii()
}

/// Whether an entry can be written unchanged. The checks search the whole text;
/// a false negative only costs time.
fn is_plain(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    text.starts_with('{')
        && text.ends_with('}')
        && !text.contains(['\n', '\r'])
        && !text.contains("\\u")
        && !text.contains("\"seq\"")
        && !text.contains("\"time\"")
        && !text.contains("\"prev\"")
        && !text.contains("\"hash\"")
}

fn rewrite(text: &[u8]) -> Vec<u8> {
    let map = match serde_json::from_slice(text) {
        Ok(Value::Object(map)) => map,
        Ok(other) => Map::from_iter([("value".to_owned(), other)]),
        Err(error) => Map::from_iter([
            ("event".to_owned(), Value::from("unreadable")),
            ("why".to_owned(), Value::from(error.to_string())),
        ]),
    };
    let long = text.len() > MAX_ENTRY_BYTES;
    let mut kept = Map::new();
    let mut room = MAX_SHORT_FIELDS_BYTES;
    for (name, value) in map {
        if long {
            let size = name.len() + value.to_string().len();
            if size > SHORT_FIELD_BYTES.min(room) {
                continue;
            }
            room -= size;
        }
        let name = if RESERVED_FIELDS.contains(&name.as_str()) { format!("_{name}") } else { name };
        kept.insert(name, value);
    }
    if long {
        kept.insert("event".to_owned(), Value::from("shortened"));
        kept.insert("bytes".to_owned(), Value::from(text.len()));
    }
    Value::Object(kept).to_string().into_bytes()
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
