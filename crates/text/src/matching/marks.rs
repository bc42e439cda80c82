//! Character-level differences, marked in the text.

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Maximum number of characters compared one by one, old and new together.
const MAX_COMPARED_CHARS: usize = 4_000;

/// Marks the changes of a line: `[-removed-]{+added+}`. Invisible characters
/// are escaped inside the marks.
pub fn mark_changes(old: &str, new: &str) -> String {
    if old == new {
        return old.to_owned();
    }
    let (from, to): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    if from.len() + to.len() > MAX_COMPARED_CHARS {
        return mark_whole(&from, &to);
    }
    let ops = capture_diff_slices(Algorithm::Myers, &from, &to);
    let tuples: Vec<_> = ops.iter().map(similar::DiffOp::as_tag_tuple).collect();
    let kept: usize =
        tuples.iter().filter(|(tag, ..)| *tag == DiffTag::Equal).map(|(_, old, _)| old.len()).sum();
    // Lines that share only stray letters are easier to read as a whole.
    if kept * 5 < from.len().max(to.len()) * 2 {
        return mark_whole(&from, &to);
    }
    let mut marked = String::new();
    for (tag, old, new) in tuples {
        let (old, new) = (from.get(old).unwrap_or_default(), to.get(new).unwrap_or_default());
        if tag == DiffTag::Equal {
            marked.extend(old);
        } else {
            push_marked(&mut marked, old, new);
        }
    }
    marked
}

fn mark_whole(old: &[char], new: &[char]) -> String {
    let mut marked = String::new();
    push_marked(&mut marked, old, new);
    marked
}

fn push_marked(marked: &mut String, old: &[char], new: &[char]) {
    let is_disguised = may_look_alike(old, new);
    for (chars, open, close) in [(old, "[-", "-]"), (new, "{+", "+}")] {
        if chars.is_empty() {
            continue;
        }
        marked.push_str(open);
        for c in chars {
            let is_unseen = *c != ' ' && (c.is_whitespace() || c.is_control() || is_hidden(*c));
            match c {
                '\t' => marked.push_str("\\t"),
                '\n' => marked.push_str("\\n"),
                '\r' => marked.push_str("\\r"),
                c if is_unseen || is_disguised && !c.is_ascii() => {
                    marked.extend(c.escape_unicode());
                }
                c => marked.push(*c),
            }
        }
        marked.push_str(close);
    }
}

/// Whether the two may look alike on a screen: one has combining accents, or
/// letters of another script in place of Latin ones.
fn may_look_alike(old: &[char], new: &[char]) -> bool {
    let has = |chars: &[char], of: fn(char) -> bool| chars.iter().any(|c| of(*c));
    let swapped = |ours: &[char], theirs: &[char]| {
        has(ours, |c| c.is_ascii_alphanumeric()) && has(theirs, is_look_alike_letter)
    };
    has(old, is_accent) || has(new, is_accent) || swapped(old, new) || swapped(new, old)
}

/// Whether a character combines with the one before it.
fn is_accent(c: char) -> bool {
    let ranges = ['\u{300}'..='\u{36F}', '\u{1AB0}'..='\u{1AFF}', '\u{1DC0}'..='\u{1DFF}'];
    let more = ['\u{20D0}'..='\u{20FF}', '\u{FE00}'..='\u{FE0F}', '\u{3099}'..='\u{309A}'];
    ranges.iter().chain(&more).any(|range| range.contains(&c))
}

/// Whether a letter is Greek, Cyrillic or fullwidth, many of which look like
/// Latin ones.
fn is_look_alike_letter(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{52F}' | '\u{FF01}'..='\u{FF5E}')
}

fn is_hidden(c: char) -> bool {
    let ranges = ['\u{200B}'..='\u{200F}', '\u{202A}'..='\u{202E}', '\u{2060}'..='\u{2064}'];
    matches!(c, '\u{AD}' | '\u{FEFF}') || ranges.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
#[path = "marks_tests.rs"]
mod tests;
