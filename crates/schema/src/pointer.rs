//! Builds, displays and resolves JSON pointers.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

/// Appends `/key`, escaped.
pub(crate) fn push_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    if key.contains(['~', '/']) {
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    } else {
        pointer.push_str(key);
    }
}

/// Appends `/index`.
pub(crate) fn push_index(pointer: &mut String, index: usize) {
    let _ = write!(pointer, "/{index}");
}

/// Returns the pointer with one more key.
pub(crate) fn join(pointer: &str, key: &str) -> String {
    let mut longer = String::with_capacity(pointer.len() + key.len() + 1);
    longer.push_str(pointer);
    push_key(&mut longer, key);
    longer
}

/// Returns the unescaped segments of a pointer.
fn segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|part| {
        if part.contains('~') {
            Cow::Owned(part.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(part)
        }
    })
}

/// Formats a JSON pointer for people and models: `/a/0/b c` becomes `$.a[0]["b
/// c"]`.
pub fn to_dotted(pointer: &str) -> String {
    let mut shown = String::with_capacity(pointer.len() + 8);
    shown.push('$');
    for part in segments(pointer) {
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            shown.push('[');
            shown.push_str(&part);
            shown.push(']');
        } else if is_identifier(&part) {
            shown.push('.');
            shown.push_str(&part);
        } else {
            let _ = write!(shown, "[{}]", Value::String(part.into_owned()));
        }
    }
    shown
}

fn is_identifier(key: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c.is_alphanumeric();
    !key.is_empty() && key.chars().all(plain)
}

/// Resolves a reference into the same document (`#`, `#/a/b`); returns the
/// target and its pointer.
pub(crate) fn follow_ref<'v>(root: &'v Value, reference: &str) -> Option<(&'v Value, String)> {
    let pointer = local_pointer(reference)?;
    let target = root.pointer(&pointer)?;
    Some((target, pointer))
}

/// Returns the pointer of a reference into the same document.
pub(crate) fn local_pointer(reference: &str) -> Option<String> {
    percent_decode(reference.strip_prefix('#')?)
}

fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (high, low) = (*rest.first()?, *rest.get(1)?);
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
        bytes.push(digit(high)? * 16 + digit(low)?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

/// Encodes the pointer as the fragment of a URI.
pub(crate) fn percent_encode(pointer: &str) -> String {
    let mut encoded = String::with_capacity(pointer.len());
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~$".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
#[path = "pointer_tests.rs"]
mod tests;
