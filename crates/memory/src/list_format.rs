//! File format of a list: entries separated by a line that contains only `§`.

use std::borrow::Cow;

/// Separates two entries.
pub(crate) const ENTRY_DELIMITER: &str = "\n§\n";

/// The line that separates entries.
const DELIMITER_MARK: &str = "§";

/// Parses a list. Drops blank entries and duplicates.
pub(crate) fn parse(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for piece in normalize_newlines(text).split(ENTRY_DELIMITER) {
        let entry = unescape(strip(piece)).into_owned();
        if !entry.is_empty() && seen.insert(entry.clone()) {
            entries.push(entry);
        }
    }
    entries
}

/// Serializes entries. Parsing the result yields the same entries; Hermes Agent
/// shows the backslash that escapes a delimiter inside an entry.
pub(crate) fn join(entries: &[String]) -> String {
    entries.iter().map(|entry| escape(entry)).collect::<Vec<_>>().join(ENTRY_DELIMITER)
}

/// Trims an entry and normalizes its newlines.
pub(crate) fn normalize_entry(content: &str) -> String {
    strip(&normalize_newlines(content)).to_owned()
}

/// Whether a text is a list that parsing and writing preserves.
pub(crate) fn is_list(text: &str) -> bool {
    let text = normalize_newlines(text);
    let text = strip(&text);
    if text.is_empty() {
        return true;
    }
    text.split(ENTRY_DELIMITER).all(|piece| !piece.is_empty() && strip(piece) == piece)
        && text.lines().next() != Some(DELIMITER_MARK)
        && text.lines().next_back() != Some(DELIMITER_MARK)
}

/// Width of a text. Wide characters count twice; a limit in plain characters
/// would give some scripts several times the content of others.
pub(crate) fn text_width(text: &str) -> usize {
    text.chars()
        .map(|c| if matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..) { 2 } else { 1 })
        .sum()
}

/// Width of a list, including delimiters.
pub(crate) fn list_width(entries: &[String]) -> usize {
    let between = ENTRY_DELIMITER.chars().count() * entries.len().saturating_sub(1);
    entries.iter().map(|entry| text_width(&escape(entry))).sum::<usize>() + between
}

/// Returns the start of an entry, on one line.
pub(crate) fn preview(entry: &str) -> String {
    const PREVIEW_CHARS: usize = 80;
    let mut shown: String =
        entry.chars().take(PREVIEW_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if entry.chars().nth(PREVIEW_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// Converts all line endings to `\n`, as Python's text mode does.
fn normalize_newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Trims what Python's `str.strip` considers whitespace.
fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}'))
}

/// Escapes each delimiter line with a backslash, including those already
/// escaped.
fn escape(entry: &str) -> Cow<'_, str> {
    map_lines(entry, |line| is_delimiter_line(line).then(|| format!("\\{line}")))
}

fn unescape(entry: &str) -> Cow<'_, str> {
    map_lines(entry, |line| {
        let shorter = line.strip_prefix('\\')?;
        is_delimiter_line(shorter).then(|| shorter.to_owned())
    })
}

/// Whether a line is the delimiter after any number of backslashes.
fn is_delimiter_line(line: &str) -> bool {
    line.trim_start_matches('\\') == DELIMITER_MARK
}

fn map_lines(entry: &str, change: impl Fn(&str) -> Option<String>) -> Cow<'_, str> {
    if !entry.contains(DELIMITER_MARK) {
        return Cow::Borrowed(entry);
    }
    let lines = entry.split('\n').map(|line| change(line).map_or(Cow::Borrowed(line), Cow::Owned));
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
#[path = "list_format_tests.rs"]
mod tests;
