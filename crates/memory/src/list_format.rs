//! The form of a list in its file: entries with a line between them that holds nothing but `§`.

use std::borrow::Cow;

/// What stands between two entries.
pub(crate) const ENTRY_DELIMITER: &str = "\n§\n";

/// The line that separates entries.
const DELIMITER_MARK: &str = "§";

/// The entries of a text. Blank ones are left out, and of equal ones the first is kept.
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

/// The text of entries. Reading it gives the same entries, here and in Hermes Agent, which sees a backslash
/// before a mark that belongs to an entry.
pub(crate) fn join(entries: &[String]) -> String {
    entries.iter().map(|entry| escape(entry)).collect::<Vec<_>>().join(ENTRY_DELIMITER)
}

/// An entry as it is kept: no blanks around it, line ends of one kind.
pub(crate) fn normalize_entry(content: &str) -> String {
    strip(&normalize_newlines(content)).to_owned()
}

/// Whether a text is a list, and writing it back would lose nothing of it.
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

/// How much room a text takes. A limit in plain characters would give some scripts several times the room of
/// others, so that wide characters count twice.
pub(crate) fn text_width(text: &str) -> usize {
    text.chars()
        .map(|c| if matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..) { 2 } else { 1 })
        .sum()
}

/// The room that a list takes.
pub(crate) fn list_width(entries: &[String]) -> usize {
    let between = ENTRY_DELIMITER.chars().count() * entries.len().saturating_sub(1);
    entries.iter().map(|entry| text_width(&escape(entry))).sum::<usize>() + between
}

/// The first characters of an entry, on one line.
pub(crate) fn preview(entry: &str) -> String {
    const PREVIEW_CHARS: usize = 80;
    let mut shown: String =
        entry.chars().take(PREVIEW_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if entry.chars().nth(PREVIEW_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// A file is read with every kind of line end taken for the same, as Python does it.
fn normalize_newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Without what Python takes for blanks at either end.
fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}'))
}

/// A line of the mark alone gets a backslash, and one that looks as if it had got one gets another.
fn escape(entry: &str) -> Cow<'_, str> {
    map_lines(entry, |line| is_delimiter_line(line).then(|| format!("\\{line}")))
}

fn unescape(entry: &str) -> Cow<'_, str> {
    map_lines(entry, |line| {
        let shorter = line.strip_prefix('\\')?;
        is_delimiter_line(shorter).then(|| shorter.to_owned())
    })
}

/// Whether a line is the mark behind any number of backslashes.
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
