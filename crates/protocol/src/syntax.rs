//! Explains JSON syntax errors: the position, the text there, and how to fix
//! it.

use memchr::{memchr, memchr_iter, memrchr};
use serde::de::IgnoredAny;

use crate::json_scan::JsonScanner;
use crate::{CallDialect, ProtocolError};

/// Checks that a text is one JSON document.
pub(crate) fn check_json(text: &str) -> Result<(), ProtocolError> {
    serde_json::from_str::<IgnoredAny>(text).map(|_| ()).map_err(|e| diagnose(text, &e))
}

/// Explains why `text` failed to parse with `error`.
pub(crate) fn diagnose(text: &str, error: &serde_json::Error) -> ProtocolError {
    let at = offset(text, error.line(), error.column());
    let (line, column) = position(text, at);
    let message = error.to_string();
    let said = message.rsplit_once(" at line ").map_or(message.as_str(), |(said, _)| said);
    // The parser reports it only in some positions.
    let problem = if ends_in_comma(text, at) { "trailing comma" } else { said };
    ProtocolError::Syntax {
        line,
        column,
        problem: problem.to_owned(),
        excerpt: excerpt(text, at),
        suggestion: suggest(text, at, problem),
    }
}

/// Returns the number of the line that follows `before`.
pub(crate) fn count_lines(before: &[u8]) -> usize {
    1 + memchr_iter(b'\n', before).count()
}

/// Returns line and column of a byte, both from 1, the column in characters.
pub(crate) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..floor_char_boundary(text, at)).unwrap_or(text);
    let begin = memrchr(b'\n', before.as_bytes()).map_or(0, |newline| newline + 1);
    let column = before.get(begin..).unwrap_or_default().chars().count() + 1;
    (count_lines(before.as_bytes()), column)
}

/// Returns a short excerpt around a byte, on one line.
pub(crate) fn excerpt(text: &str, at: usize) -> String {
    const CHARS_BEFORE: usize = 30;
    const CHARS_AFTER: usize = 30;
    let (before, after) = text.split_at(floor_char_boundary(text, at));
    let before = before.rsplit('\n').next().unwrap_or_default();
    let after = after.split('\n').next().unwrap_or_default();
    let begin = before.char_indices().rev().nth(CHARS_BEFORE - 1).map_or(0, |(i, _)| i);
    let end = after.char_indices().nth(CHARS_AFTER).map_or(after.len(), |(i, _)| i);
    let left = before.get(begin..).unwrap_or_default();
    let right = after.get(..end).unwrap_or_default();
    let mut shown = String::with_capacity(left.len() + right.len() + 6);
    if begin > 0 {
        shown.push('…');
    }
    shown.extend(left.chars().chain(right.chars()).map(|c| if c.is_control() { ' ' } else { c }));
    if end < after.len() {
        shown.push('…');
    }
    shown
}

/// Returns the byte offset of a serde_json position, whose columns count bytes.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let bytes = text.as_bytes();
    let mut begin = 0;
    for _ in 1..line {
        match memchr(b'\n', bytes.get(begin..).unwrap_or_default()) {
            Some(newline) => begin += newline + 1,
            None => break,
        }
    }
    floor_char_boundary(text, begin + column.saturating_sub(1))
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

fn ends_in_comma(text: &str, at: usize) -> bool {
    let (before, here) = text.split_at(floor_char_boundary(text, at));
    here.starts_with([']', '}']) && before.trim_end().ends_with(',')
}

fn suggest(text: &str, at: usize, problem: &str) -> String {
    let (_, here) = text.split_at(floor_char_boundary(text, at));
    let word = |word: &str| here.starts_with(word);
    let fixed = if problem.starts_with("EOF") {
        return suggest_completion(text);
    } else if problem == "trailing comma" {
        "Remove the comma before the closing bracket."
    } else if problem.starts_with("control character") {
        "Escape it inside the string: a newline is \\n, a tab is \\t."
    } else if problem == "invalid escape" {
        "Write a backslash in a string as two: C:\\\\dir, \\\\d+."
    } else if word("'") {
        "Use double quotes for keys and strings."
    } else if word("\u{201c}") || word("\u{201d}") || word("\u{2018}") || word("\u{2019}") {
        "Use straight double quotes for keys and strings."
    } else if word("//") || word("/*") || word("#") {
        "Remove the comment; JSON does not support comments."
    } else if word("True") || word("False") || word("None") || word("undefined") {
        "Write true, false and null in lower case."
    } else if word("NaN") || word("Infinity") || word("-Infinity") {
        "JSON has no NaN or Infinity; use null or a string."
    } else if problem == "trailing characters" {
        "Send one document, or several with each on its own line."
    } else if problem == "key must be a string" {
        "Put the key in double quotes."
    } else if problem == "expected `:`" {
        "Put a colon between the key and its value."
    } else if problem.starts_with("expected `,`") {
        "Put a comma between the members; write a quote inside a string as \\\"."
    } else {
        return format!("Send JSON such as {}", CallDialect::Envelope.example());
    };
    fixed.to_owned()
}

fn suggest_completion(text: &str) -> String {
    let mut scanner = JsonScanner::new();
    scanner.feed(text.trim().as_bytes());
    let missing = scanner.missing_suffix();
    if missing.is_empty() {
        return "Send the whole document.".to_owned();
    }
    format!("The text ends too early; send it whole. At least `{missing}` is missing.")
}

#[cfg(test)]
#[path = "syntax_tests.rs"]
mod tests;
