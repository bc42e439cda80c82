//! Characters that were cut in half. Some servers cut text by the units of
//! UTF-16, so that half a pair ends one piece and the other begins the next.

use std::ops::Range;

/// What stands for half a character in JSON.
const LOST: &str = "\\ufffd";

/// Half of a pair in the text of a document.
struct Half {
    place: Range<usize>,
    is_first: bool,
}

/// The same document with the replacement character for every half; none if
/// it has none.
pub fn mended(text: &str) -> Option<String> {
    let halves = find(text);
    let mut whole = text.to_owned();
    for half in halves.iter().rev() {
        whole.replace_range(half.place.clone(), LOST);
    }
    (!halves.is_empty()).then_some(whole)
}

/// Whether a text of the document ends with the first half of a character.
pub(crate) fn is_open(text: &str) -> bool {
    last_open(text).is_some()
}

/// Two documents, of which the first is open: a half at its end and the one
/// that the second begins a text with become one character.
pub(crate) fn join(first: &str, second: &str) -> (String, String) {
    let mut first = first.to_owned();
    let mut second = second.to_owned();
    let follows = |half: &Half| !half.is_first && before(&second, half.place.start) == Some(b'"');
    if let Some(open) = last_open(&first)
        && let Some(rest) = find(&second).into_iter().find(follows)
    {
        second.insert_str(rest.place.start, &first[open.clone()]);
        first.replace_range(open, "");
    }
    (first, second)
}

fn last_open(text: &str) -> Option<Range<usize>> {
    let ends = |half: &Half| half.is_first && text.as_bytes().get(half.place.end) == Some(&b'"');
    find(text).into_iter().rev().find(ends).map(|half| half.place)
}

fn before(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at.checked_sub(1)?).copied()
}

fn find(text: &str) -> Vec<Half> {
    let mut halves = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find('\\') {
        at += offset;
        match unit(text, at) {
            Some(0xd800..=0xdbff) if matches!(unit(text, at + 6), Some(0xdc00..=0xdfff)) => {
                at += 12
            }
            Some(unit @ 0xd800..=0xdfff) => {
                halves.push(Half { place: at..at + 6, is_first: unit < 0xdc00 });
                at += 6;
            }
            Some(_) => at += 6,
            // Whatever follows is escaped, and no escape begins there.
            None => at = text.ceil_char_boundary((at + 2).min(text.len())),
        }
    }
    halves
}

/// The unit that is escaped here.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
#[path = "halves_tests.rs"]
mod tests;
