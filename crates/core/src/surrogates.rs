//! Repairs JSON with unpaired surrogates. Some programs cut text at UTF-16 code
//! units, so half a pair ends one escape or message and the other half starts
//! the next; JSON parsers reject both.

use std::ops::Range;

use serde::de::DeserializeOwned;

/// Escape of the replacement character, as JSON.
const REPLACEMENT_ESCAPE: &str = "\\ufffd";

/// An escaped surrogate without its other half.
struct LoneSurrogate {
    range: Range<usize>,
    is_high: bool,
}

/// Replaces every lone surrogate with the replacement character. `None` if the
/// document has none.
pub fn replace_lone_surrogates(text: &str) -> Option<String> {
    let halves = find_lone_surrogates(text);
    let mut whole = text.to_owned();
    for half in halves.iter().rev() {
        whole.replace_range(half.range.clone(), REPLACEMENT_ESCAPE);
    }
    (!halves.is_empty()).then_some(whole)
}

/// Parses a message, replacing unpaired surrogates and invalid UTF-8 with
/// U+FFFD.
///
/// # Errors
/// If the message is invalid JSON for another reason.
pub fn from_slice_lossy<T: DeserializeOwned>(message: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(message).or_else(|error| {
        let text = String::from_utf8_lossy(message);
        let text = replace_lone_surrogates(&text).unwrap_or_else(|| text.into_owned());
        serde_json::from_str(&text).map_err(|_| error)
    })
}

/// Whether a string of the document ends with a high surrogate.
pub fn ends_with_high(text: &str) -> bool {
    trailing_high(text).is_some()
}

/// Joins a surrogate pair that is split between two documents: moves the high
/// surrogate at the end of the first to the start of the string in the second.
pub fn join_split_pair(first: &str, second: &str) -> (String, String) {
    let mut first = first.to_owned();
    let mut second = second.to_owned();
    let follows = |half: &LoneSurrogate| {
        !half.is_high && byte_before(&second, half.range.start) == Some(b'"')
    };
    if let Some(open) = trailing_high(&first)
        && let Some(rest) = find_lone_surrogates(&second).into_iter().find(follows)
    {
        second.insert_str(rest.range.start, &first[open.clone()]);
        first.replace_range(open, "");
    }
    (first, second)
}

fn trailing_high(text: &str) -> Option<Range<usize>> {
    let ends =
        |half: &LoneSurrogate| half.is_high && text.as_bytes().get(half.range.end) == Some(&b'"');
    find_lone_surrogates(text).into_iter().rev().find(ends).map(|half| half.range)
}

fn byte_before(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at.checked_sub(1)?).copied()
}

fn find_lone_surrogates(text: &str) -> Vec<LoneSurrogate> {
    let mut halves = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find('\\') {
        at += offset;
        match escaped_unit(text, at) {
            Some(0xd800..=0xdbff)
                if matches!(escaped_unit(text, at + 6), Some(0xdc00..=0xdfff)) =>
            {
                at += 12
            }
            Some(unit @ 0xd800..=0xdfff) => {
                halves.push(LoneSurrogate { range: at..at + 6, is_high: unit < 0xdc00 });
                at += 6;
            }
            Some(_) => at += 6,
            // The next character is escaped, so no escape starts there.
            None => at = text.ceil_char_boundary((at + 2).min(text.len())),
        }
    }
    halves
}

/// Returns the UTF-16 code unit that is escaped at this position.
fn escaped_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
#[path = "surrogates_tests.rs"]
mod tests;
