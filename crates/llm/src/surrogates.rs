//! Characters that were cut in half. Some servers cut text by the units of
//! UTF-16, so that half a pair ends one piece and the other begins the next.

use std::ops::Range;

/// What stands for half a character in JSON.
const REPLACEMENT_ESCAPE: &str = "\\ufffd";

/// Half of a pair in the text of a document.
struct LoneSurrogate {
    range: Range<usize>,
    is_high: bool,
}

/// The same document with the replacement character for every half; none if
/// it has none.
pub fn replace_lone_surrogates(text: &str) -> Option<String> {
    let halves = find_lone_surrogates(text);
    let mut whole = text.to_owned();
    for half in halves.iter().rev() {
        whole.replace_range(half.range.clone(), REPLACEMENT_ESCAPE);
    }
    (!halves.is_empty()).then_some(whole)
}

/// Whether a text of the document ends with the first half of a character.
pub(crate) fn ends_with_high(text: &str) -> bool {
    trailing_high(text).is_some()
}

/// Two documents, of which the first is open: a half at its end and the one
/// that the second begins a text with become one character.
pub(crate) fn join_split_pair(first: &str, second: &str) -> (String, String) {
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
            // Whatever follows is escaped, and no escape begins there.
            None => at = text.ceil_char_boundary((at + 2).min(text.len())),
        }
    }
    halves
}

/// The unit that is escaped here.
fn escaped_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
#[path = "surrogates_tests.rs"]
mod tests;
