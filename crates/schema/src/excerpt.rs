//! Truncates text and JSON values for messages, never inside a character.

use std::borrow::Cow;
use std::io;

use hermes_core::text::excerpt;
use serde_json::Value;

/// Default length of an excerpt in messages, in characters.
pub const DEFAULT_EXCERPT_CHARS: usize = 80;

/// Returns the value as compact JSON, truncated to `max_chars` characters.
///
/// Serializes only as much as it returns, whatever the size of the value.
pub fn excerpt_value(value: &Value, max_chars: usize) -> String {
    // A character takes at most four bytes, so the buffer always holds the
    // whole excerpt.
    let mut head = BoundedWriter {
        bytes: Vec::with_capacity(64),
        remaining: max_chars.saturating_mul(4).saturating_add(4),
    };
    let whole = serde_json::to_writer(&mut head, value).is_ok();
    let text = match std::str::from_utf8(&head.bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head.bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    let short = excerpt(text, max_chars);
    if whole || matches!(short, Cow::Owned(_)) {
        return short.into_owned();
    }
    format!("{short}…")
}

/// Returns the value itself if its JSON is short, otherwise an excerpt as a
/// string.
pub fn brief_value(value: &Value, max_chars: usize) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(excerpt(text, max_chars).into_owned()),
        Value::Array(_) | Value::Object(_) => {
            let text = excerpt_value(value, max_chars);
            if text.ends_with('…') { Value::String(text) } else { value.clone() }
        }
    }
}

/// A writer that fails after `remaining` bytes, which stops the serializer.
struct BoundedWriter {
    bytes: Vec<u8>,
    remaining: usize,
}

impl io::Write for BoundedWriter {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        let taken = chunk.len().min(self.remaining);
        if taken == 0 && !chunk.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(&chunk[..taken]);
        self.remaining -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "excerpt_tests.rs"]
mod tests;
