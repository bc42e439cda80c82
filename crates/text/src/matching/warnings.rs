//! Warnings about likely unintended effects of a replacement.

use std::collections::BTreeSet;
use std::ops::Range;

use super::MAX_LISTED_PLACES;
use super::line_table::LineTable;
use super::nearest::is_placeholder_line;

/// Returns all warnings about a replacement.
pub(super) fn replacement_warnings(
    text: &str,
    found: &[Range<usize>],
    (old, new): (&str, &str),
    rows: &LineTable<'_>,
) -> Vec<String> {
    let all = [
        partial_word_warning(text, found, rows),
        indent_warning(text, found, new, rows),
        join_warning(text, found, (old, new), rows),
        placeholder_warning(old.lines(), new.lines()),
    ];
    all.into_iter().flatten().collect()
}

fn is_word(c: char) -> bool {
    (c.is_alphanumeric() || c == '_') && !has_no_blanks(c)
}

/// Whether a letter belongs to a script written without spaces between words.
fn has_no_blanks(c: char) -> bool {
    matches!(c,
        // Thai, Lao, Tibetan; Burmese; Khmer.
        '\u{0E00}'..='\u{0FFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        // Chinese and Japanese.
        | '\u{2E80}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Warns about places that are part of a longer name.
fn partial_word_warning(
    text: &str,
    found: &[Range<usize>],
    rows: &LineTable<'_>,
) -> Option<String> {
    let mut lines = BTreeSet::new();
    let mut sample = None;
    for place in found {
        let (before, inside, after) =
            (text.get(..place.start)?, text.get(place.clone())?, text.get(place.end..)?);
        let cut =
            |a: Option<char>, b: Option<char>| a.is_some_and(is_word) && b.is_some_and(is_word);
        let cut_before = cut(before.chars().next_back(), inside.chars().next());
        let cut_after = cut(inside.chars().next_back(), after.chars().next());
        if !(cut_before || cut_after) || inside.len() > 200 {
            continue;
        }
        lines.insert(rows.row_at(place.start) + 1);
        sample.get_or_insert_with(|| {
            let head: Vec<char> =
                before.chars().rev().take_while(|c| cut_before && is_word(*c)).take(40).collect();
            let tail = after.chars().take_while(|c| cut_after && is_word(*c)).take(40);
            head.into_iter().rev().chain(inside.chars()).chain(tail).collect::<String>()
        });
    }
    let sample = sample?;
    let shown: Vec<String> =
        lines.iter().take(MAX_LISTED_PLACES).map(ToString::to_string).collect();
    let more = if lines.len() > MAX_LISTED_PLACES { ", ..." } else { "" };
    let plural = if lines.len() == 1 { "line" } else { "lines" };
    Some(format!(
        "The old text is part of a longer name, such as '{sample}' ({plural} {}{more}).",
        shown.join(", ")
    ))
}

/// Warns about a new line that is a placeholder for omitted lines.
pub(super) fn placeholder_warning<'a>(
    mut old: impl Iterator<Item = &'a str>,
    mut new: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let line = new.find(|line| is_placeholder_line(line)).map(str::trim)?;
    (!old.any(|old| old.trim() == line)).then(|| {
        let shown: String = line.chars().take(80).collect();
        format!(
            "The new text has the placeholder line '{shown}', which was written literally: it \
                was not expanded to other lines."
        )
    })
}

/// Warns if a replacement starts after the indentation of a line and adds its
/// own.
fn indent_warning(
    text: &str,
    found: &[Range<usize>],
    new: &str,
    rows: &LineTable<'_>,
) -> Option<String> {
    if !new.starts_with([' ', '\t']) {
        return None;
    }
    let place = found.iter().find(|place| {
        let line = rows.get(rows.row_at(place.start)).map_or(place.start, |row| row.start);
        let before = text.get(line..place.start).unwrap_or_default();
        let inside = text.get((*place).clone()).unwrap_or_default();
        !before.is_empty() && before.trim().is_empty() && !inside.starts_with([' ', '\t'])
    })?;
    Some(format!(
        "The new text starts with whitespace after the indentation of line {}; the line is \
            indented by both.",
        rows.row_at(place.start) + 1
    ))
}

/// Warns if the old text ends with a line ending and the new text does not,
/// which joins the next line to it.
fn join_warning(
    text: &str,
    found: &[Range<usize>],
    (old, new): (&str, &str),
    rows: &LineTable<'_>,
) -> Option<String> {
    let joins = old.ends_with('\n') && !new.ends_with('\n') && !new.is_empty();
    let place = found.iter().find(|place| joins && place.end < text.len())?;
    Some(format!(
        "The old text ends with a line break and the new text does not: line {} is joined to \
            the new text.",
        rows.row_at(place.end) + 1
    ))
}
