//! Lossy parsing of JSON that contains unpaired surrogates. Some programs split
//! a character between two escapes, which JSON parsers reject.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Replaces an unpaired surrogate.
const REPLACEMENT_ESCAPE: &[u8] = b"\\ufffd";

/// Parses a message, replacing unpaired surrogates and invalid UTF-8 with
/// U+FFFD.
///
/// # Errors
/// If the message is invalid JSON for another reason.
pub fn from_slice_lossy<T: DeserializeOwned>(message: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(message)
        .or_else(|error| serde_json::from_slice(&replace_surrogates(message)).map_err(|_| error))
}

fn replace_surrogates(message: &[u8]) -> Vec<u8> {
    let text = match String::from_utf8_lossy(message) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    };
    let mut rest: &[u8] = &text;
    let mut whole = Vec::with_capacity(rest.len());
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, behind) = rest.split_at(at);
        whole.extend_from_slice(before);
        let length = match (parse_code_unit(behind), behind.get(6..).and_then(parse_code_unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                whole.extend_from_slice(REPLACEMENT_ESCAPE);
                rest = behind.get(6..).unwrap_or_default();
                continue;
            }
            // Keep the escaped character with its backslash, even if it is a
            // backslash.
            _ => 2.min(behind.len()),
        };
        let (kept, after) = behind.split_at(length);
        whole.extend_from_slice(kept);
        rest = after;
    }
    whole.extend_from_slice(rest);
    whole
}

/// Returns the code unit of a `\uXXXX` escape at the start of the text.
fn parse_code_unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
#[path = "surrogates_tests.rs"]
mod tests;
