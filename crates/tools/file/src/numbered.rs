//! Detects tool output about to be written as file content: numbered lines, or
//! the note that a file is unchanged.

use serde_json::Value;

use crate::unchanged::UNCHANGED_MESSAGE;

/// Maximum size of a note: a path has at most 4,096 bytes, which may be
/// escaped.
const MAX_NOTE_BYTES: usize = 16 * 1024;
/// Minimum percentage of lines that must be numbered.
const MIN_NUMBERED_PERCENT: usize = 60;

/// How likely a text consists of numbered lines from `read_file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineNumbering {
    No,
    /// May also be a table with a counting first column, or a line that happens
    /// to start this way; comparing with the shown lines decides.
    Perhaps,
    Surely,
}

impl LineNumbering {
    /// Classifies a text. In `read_file` output the first line and most others
    /// start with `N|`, with ascending numbers. A table has a heading, or the
    /// same number of columns in every row.
    pub(crate) fn detect(text: &str) -> Self {
        if !begins_numbered(text.as_bytes()) {
            return Self::No;
        }
        let (mut lines, mut numbered, mut bars) = (0_usize, 0_usize, None);
        let mut last: Option<u64> = None;
        let (mut is_table, mut has_gaps) = (true, false);
        // Upper bound for the early exit on unnumbered lines.
        let most = hermes_text::count_lines(text) + 1;
        for line in hermes_text::lines(text).filter(|line| !line.trim().is_empty()) {
            if (lines - numbered) * 100 > most * (100 - MIN_NUMBERED_PERCENT) {
                return Self::No;
            }
            lines += 1;
            let Some((number, rest)) = split_number(line) else {
                // `read_file` numbers every line; unnumbered text after them
                // may be a note.
                if numbered == 0 {
                    return Self::No;
                }
                continue;
            };
            if last.is_some_and(|last| number <= last) {
                return Self::No;
            }
            has_gaps |= last.is_some_and(|last| number != last + 1);
            last = Some(number);
            numbered += 1;
            let count = memchr::memchr_iter(b'|', rest.as_bytes()).count();
            is_table &= count > 0 && *bars.get_or_insert(count) == count;
        }
        match numbered * 100 >= lines * MIN_NUMBERED_PERCENT && numbered > 0 {
            false => Self::No,
            true if has_gaps || numbered == 1 || is_table && numbered == lines => Self::Perhaps,
            true => Self::Surely,
        }
    }
}

/// Whether the first line of a text may be numbered; a cheap check that rejects
/// most texts.
pub(crate) fn begins_numbered(text: &[u8]) -> bool {
    let line = text.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && line.get(digits) == Some(&b'|')
}

/// Whether a line of a numbered text equals, without its number, the line of
/// another text at that number.
pub(crate) fn numbers_lines_of(numbered: &str, text: &str) -> bool {
    let mut lines = hermes_text::lines(text).zip(1_u64..);
    hermes_text::lines(numbered).filter_map(split_number).any(|(number, shown)| {
        let line = lines.by_ref().find(|(_, at)| *at == number).map(|(line, _)| line);
        line.is_some_and(|line| !line.trim().is_empty() && line.trim_end() == shown.trim_end())
    })
}

/// Whether a text is the `read_file` result for an unchanged file, or little
/// more than its message.
pub(crate) fn is_unchanged_note(text: &str) -> bool {
    let text = text.trim();
    if text.len() <= 2 * UNCHANGED_MESSAGE.len() && text.contains(UNCHANGED_MESSAGE) {
        return true;
    }
    if !text.starts_with('{') || text.len() > MAX_NOTE_BYTES {
        return false;
    }
    let Ok(Value::Object(answer)) = serde_json::from_str(text) else { return false };
    answer.get("status").and_then(Value::as_str) == Some("unchanged")
        && answer.contains_key("content_returned")
}

/// Splits a line into its number and its text.
fn split_number(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at_checked(digits)?;
    let rest = rest.strip_prefix('|')?;
    // Line numbers have no leading zeros and at most 18 digits.
    let is_ours = (1..=18).contains(&digits) && (number == "0" || !number.starts_with('0'));
    Some((is_ours.then(|| number.parse().ok())??, rest))
}

#[cfg(test)]
#[path = "numbered_tests.rs"]
mod tests;
