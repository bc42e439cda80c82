//! Our own answers, recognised when they are about to become the content of a
//! file: lines with numbers in front, or the note that a file is unchanged.

use serde_json::Value;

use crate::unchanged::MESSAGE;

/// A longer text is no note; a path has at most 4,096 bytes, which may be
/// escaped.
const LONGEST_NOTE: usize = 16 * 1024;
/// The least share of lines that must have a number, in percent.
const SHARE: usize = 60;

/// Whether a text looks like the numbered lines that `read_file` shows: the
/// first and most of the others begin with `N|`, and the numbers follow one
/// another. A table has a heading, or as many columns in every row.
pub(crate) fn is_numbered(text: &str) -> bool {
    if memchr::memchr(b'|', text.as_bytes()).is_none() {
        return false;
    }
    let (mut lines, mut numbered, mut bars) = (0_usize, 0_usize, None);
    let mut last: Option<u64> = None;
    let mut is_table = true;
    // So many without a number are too many.
    let most = memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if (lines - numbered) * 100 > most * (100 - SHARE) {
            return false;
        }
        lines += 1;
        let Some((number, rest)) = split(line) else {
            // We number every line; what stands behind them may be a note.
            if numbered == 0 {
                return false;
            }
            continue;
        };
        if last.is_some_and(|last| number != last + 1) {
            return false;
        }
        last = Some(number);
        numbered += 1;
        let count = memchr::memchr_iter(b'|', rest.as_bytes()).count();
        is_table &= count > 0 && *bars.get_or_insert(count) == count;
    }
    numbered >= 2 && numbered * 100 >= lines * SHARE && !(is_table && numbered == lines)
}

/// Whether a text is the answer of `read_file` that nothing has changed, or
/// little more than the sentence in it.
pub(crate) fn is_unchanged_note(text: &str) -> bool {
    let text = text.trim();
    if text.len() <= 2 * MESSAGE.len() && text.contains(MESSAGE) {
        return true;
    }
    if !text.starts_with('{') || text.len() > LONGEST_NOTE {
        return false;
    }
    let Ok(Value::Object(answer)) = serde_json::from_str(text) else { return false };
    answer.get("status").and_then(Value::as_str) == Some("unchanged")
        && answer.contains_key("content_returned")
}

/// The number in front of a line, and the line.
fn split(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at_checked(digits)?;
    let rest = rest.strip_prefix('|')?;
    // A number with leading zeros was not written by us; it fits no more
    // than 18 digits either.
    let is_ours = (1..=18).contains(&digits) && (number == "0" || !number.starts_with('0'));
    Some((is_ours.then(|| number.parse().ok())??, rest))
}

#[cfg(test)]
#[path = "numbered_tests.rs"]
mod tests;
