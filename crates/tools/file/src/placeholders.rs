//! Placeholders of secrets. What a caller reads has `[redacted]`,
//! `[redacted:KIND]`, `[secret]` or `[secret:NAME]` in place of a secret. Text
//! copied from there must not replace the secret with its placeholder.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use hermes_core::ToolError;

use crate::path_text::display_path;

/// Maximum length of the kind or name in a placeholder.
const MAX_NAME_BYTES: usize = 64;
/// Maximum number of places that are compared with a text with placeholders.
const MAX_COMPARED_PLACES: usize = 1_000;

const KEEP_SECRET_HINT: &str = "The file has a secret there that is not shown; leave the line as \
    it is: patch only other lines, or insert a vault secret by secret://NAME";

/// Whether the text has a placeholder.
pub(crate) fn has_placeholder(text: &str) -> bool {
    placeholders(text).next().is_some()
}

/// The places of the placeholders.
fn placeholders(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    memchr::memchr_iter(b'[', text.as_bytes()).filter_map(|start| {
        let rest = text.get(start + 1..)?;
        let rest = rest.strip_prefix("redacted").or_else(|| rest.strip_prefix("secret"))?;
        let name_end = rest.find(']')?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let is_name = match rest.get(..name_end)?.strip_prefix(':') {
            Some(name) => (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_plain),
            None => name_end == 0,
        };
        let end = text.len() - rest.len() + name_end + 1;
        is_name.then_some(start..end)
    })
}

/// Rejects a new text of a file in which a placeholder replaces what the file
/// has now.
pub(crate) fn refuse_overwritten_secret(
    path: &Path,
    old: &str,
    new: &str,
) -> Result<(), ToolError> {
    if !has_placeholder(new) {
        return Ok(());
    }
    // Positive for lines that the new text lacks, negative for those it adds.
    let mut surplus: HashMap<&str, isize> = HashMap::new();
    hermes_text::lines(old).for_each(|line| *surplus.entry(line.trim()).or_default() += 1);
    hermes_text::lines(new).for_each(|line| *surplus.entry(line.trim()).or_default() -= 1);
    let lost: Vec<&str> = surplus
        .iter()
        .filter(|(line, count)| **count > 0 && !line.is_empty())
        .map(|(line, _)| *line)
        .collect();
    for (index, line) in hermes_text::lines(new).map(str::trim).enumerate() {
        let is_added = surplus.get(line).is_some_and(|count| *count < 0);
        let Some(place) = placeholders(line).next().filter(|_| is_added) else { continue };
        if lost.iter().any(|lost| may_hide(line, lost)) {
            let (number, shown) = (index + 1, line.get(place).unwrap_or_default());
            return Err(ToolError::conflict(format!(
                "Line {number} of the new text would replace a value in {} with the placeholder \
                 `{shown}`; nothing was changed",
                display_path(path)
            ))
            .with_hint(KEEP_SECRET_HINT)
            .with("line", number)
            .with("placeholder", shown));
        }
    }
    Ok(())
}

/// Whether a line with placeholders may be what a caller was shown of another
/// line, or an edited form of it.
fn may_hide(line: &str, lost: &str) -> bool {
    let mut places = placeholders(line);
    let Some(first) = places.next() else { return false };
    let last = places.last().unwrap_or_else(|| first.clone());
    let head = line.get(..first.start).unwrap_or_default().trim();
    let tail = line.get(last.end..).unwrap_or_default().trim();
    if !head.contains(char::is_alphanumeric) {
        // A list item, a quoted string or nothing but the placeholder.
        return lost.starts_with(head) && lost.ends_with(tail);
    }
    lost.starts_with(head) || assigned_name(head).is_some_and(|name| assigns(lost, &name))
}

/// The name and operator at the end of a text, without blanks: `token=` of
/// `export token = `.
fn assigned_name(head: &str) -> Option<String> {
    let operator = head.trim_end_matches(|c| !is_name_char(c));
    let name = operator.trim_end_matches(is_name_char);
    let end = head.get(operator.len()..)?;
    (end.contains(['=', ':']) && operator.len() > name.len())
        .then(|| head.chars().skip(name.chars().count()).filter(|c| !c.is_whitespace()).collect())
}

/// Whether a line has the name and operator.
fn assigns(line: &str, name: &str) -> bool {
    let length = name.chars().count();
    line.char_indices().any(|(at, _)| {
        let (before, rest) = line.split_at(at);
        let is_start = !before.ends_with(is_name_char) && rest.starts_with(is_name_char);
        let compact = rest.chars().filter(|c| !c.is_whitespace()).take(length);
        is_start && compact.eq(name.chars())
    })
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The values that the placeholders of `old` stand for, in order, if `old` with
/// any value for each matches exactly one place in the text, and `new` has the
/// same placeholders in the same order.
pub(crate) fn hidden_values(text: &str, old: &str, new: &str) -> Option<Vec<String>> {
    let (hidden, kept) = (labels(old), labels(new));
    let is_same = match (hidden.as_slice(), kept.as_slice()) {
        ([(_, old)], [(_, new)]) => old == new,
        // Several values must not change places.
        _ => hidden == kept,
    };
    if hidden.is_empty() || !is_same {
        return None;
    }
    let old = if text.contains("\r\n") && !old.contains('\r') {
        old.replace('\n', "\r\n")
    } else {
        old.to_owned()
    };
    let (first, others) = segments(&old);
    let (_, middle) = others.split_last()?;
    if first.is_empty() || middle.iter().any(|segment| segment.is_empty()) {
        return None;
    }
    let mut found = None;
    let mut from = 0;
    for _ in 0..MAX_COMPARED_PLACES {
        let Some(at) = text.get(from..)?.find(first) else { return found };
        let start = from + at;
        match values_at(text.get(start + first.len()..)?, &others) {
            ValueMatch::None => {}
            ValueMatch::One(values) if found.is_none() => found = Some(values),
            ValueMatch::One(_) | ValueMatch::Ambiguous => return None,
        }
        from = start + first.chars().next().map_or(1, char::len_utf8);
    }
    None
}

/// Replaces the placeholders with values, in order.
pub(crate) fn fill_placeholders(text: &str, values: &[String]) -> String {
    let (first, others) = segments(text);
    let mut filled = first.to_owned();
    for (segment, value) in others.into_iter().zip(values) {
        filled.push_str(value);
        filled.push_str(segment);
    }
    filled
}

/// How many placeholders a text has.
pub(crate) fn count_placeholders(text: &str) -> usize {
    placeholders(text).count()
}

/// Each placeholder with the text before it on its line.
fn labels(text: &str) -> Vec<(&str, &str)> {
    let labels = placeholders(text).map(|place| {
        let before = text.get(..place.start).unwrap_or_default();
        let head = before.rsplit('\n').next().unwrap_or_default().trim();
        (head, text.get(place).unwrap_or_default())
    });
    labels.collect()
}

/// The text before the first placeholder, and that after each.
fn segments(text: &str) -> (&str, Vec<&str>) {
    let places: Vec<Range<usize>> = placeholders(text).collect();
    let starts = places.iter().map(|place| place.start);
    let mut ends = starts.chain([text.len()]);
    let first = ends.next().and_then(|end| text.get(..end)).unwrap_or_default();
    let others = places.iter().zip(ends).filter_map(|(place, end)| text.get(place.end..end));
    (first, others.collect())
}

/// Values between segments.
enum ValueMatch {
    None,
    One(Vec<String>),
    Ambiguous,
}

/// The values before each of the segments, none of which spans lines. A value
/// before an empty segment is the rest of the line.
fn values_at(text: &str, segments: &[&str]) -> ValueMatch {
    let mut rest = text;
    let mut values = Vec::with_capacity(segments.len());
    for segment in segments {
        let line_end = rest.find(['\r', '\n']).unwrap_or(rest.len());
        let (line, _) = rest.split_at(line_end);
        let offsets = line.char_indices().map(|(at, _)| at).chain([line_end]);
        let mut fits = offsets.filter(|at| {
            *at > 0
                && (*at == line_end || !segment.is_empty())
                && rest.get(*at..).is_some_and(|after| after.starts_with(segment))
        });
        let Some(end) = fits.next() else { return ValueMatch::None };
        if fits.next().is_some() {
            return ValueMatch::Ambiguous;
        }
        let (value, after) = rest.split_at(end);
        values.push(value.to_owned());
        rest = after.get(segment.len()..).unwrap_or_default();
    }
    ValueMatch::One(values)
}

#[cfg(test)]
#[path = "placeholders_tests.rs"]
mod tests;
