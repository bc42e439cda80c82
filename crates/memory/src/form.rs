//! The form of a list in its file: entries with a line between them that holds nothing but `§`.

use std::borrow::Cow;

/// What stands between two entries.
pub(crate) const DELIMITER: &str = "\n§\n";

/// The line that separates entries.
const MARK: &str = "§";

/// The entries of a text. Blank ones are left out, and of equal ones the first is kept.
pub(crate) fn parse(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for piece in plain_lines(text).split(DELIMITER) {
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
    entries.iter().map(|entry| escape(entry)).collect::<Vec<_>>().join(DELIMITER)
}

/// An entry as it is kept: no blanks around it, line ends of one kind.
pub(crate) fn clean(content: &str) -> String {
    strip(&plain_lines(content)).to_owned()
}

/// Whether a text is a list, and writing it back would lose nothing of it.
pub(crate) fn is_list(text: &str) -> bool {
    let text = plain_lines(text);
    let text = strip(&text);
    if text.is_empty() {
        return true;
    }
    text.split(DELIMITER).all(|piece| !piece.is_empty() && strip(piece) == piece)
        && text.lines().next() != Some(MARK)
        && text.lines().next_back() != Some(MARK)
}

/// How much room a text takes. A limit in plain characters would give some scripts several times the room of
/// others, so that wide characters count twice.
pub(crate) fn size(text: &str) -> usize {
    text.chars()
        .map(|c| if matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..) { 2 } else { 1 })
        .sum()
}

/// The room that a list takes.
pub(crate) fn size_of(entries: &[String]) -> usize {
    let between = DELIMITER.chars().count() * entries.len().saturating_sub(1);
    entries.iter().map(|entry| size(&escape(entry))).sum::<usize>() + between
}

/// The first characters of an entry, on one line.
pub(crate) fn preview(entry: &str) -> String {
    const SHOWN: usize = 80;
    let mut shown: String =
        entry.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if entry.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// A file is read with every kind of line end taken for the same, as Python does it.
fn plain_lines(text: &str) -> Cow<'_, str> {
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
    change_lines(entry, |line| is_marked(line).then(|| format!("\\{line}")))
}

fn unescape(entry: &str) -> Cow<'_, str> {
    change_lines(entry, |line| {
        let shorter = line.strip_prefix('\\')?;
        is_marked(shorter).then(|| shorter.to_owned())
    })
}

/// Whether a line is the mark behind any number of backslashes.
fn is_marked(line: &str) -> bool {
    line.trim_start_matches('\\') == MARK
}

fn change_lines(entry: &str, change: impl Fn(&str) -> Option<String>) -> Cow<'_, str> {
    if !entry.contains(MARK) {
        return Cow::Borrowed(entry);
    }
    let lines = entry.split('\n').map(|line| change(line).map_or(Cow::Borrowed(line), Cow::Owned));
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
