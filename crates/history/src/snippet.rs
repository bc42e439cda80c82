//! Excerpts around search matches.

use std::ops::Range;

use crate::query::ParsedQuery;
use crate::words::{IndexedWord, fold_text, words};

/// Number of words shown before the first match.
const WORDS_BEFORE_HIT: usize = 12;
/// Maximum number of words shown.
const MAX_SHOWN_WORDS: usize = 40;
/// Maximum number of bytes shown.
const MAX_SNIPPET_BYTES: usize = 400;

/// Returns the text around the first match, with all matches between `>>>` and
/// `<<<`.
pub(crate) fn snippet(text: &str, question: &ParsedQuery) -> String {
    let all = words(text);
    let mut marked: Vec<Range<usize>> = question
        .match_ranges(&all)
        .into_iter()
        .filter_map(|place| byte_range(&all, &place))
        .collect();
    if marked.is_empty() {
        marked = question
            .substrings()
            .iter()
            .filter_map(|piece| find_piece(text, &all, piece))
            .collect();
    }
    marked.sort_by_key(|range| range.start);
    let first = marked.first().map_or(0, |range| range.start);
    let begin =
        all.partition_point(|word| word.range.end <= first).saturating_sub(WORDS_BEFORE_HIT);
    let from = if begin == 0 { 0 } else { all.get(begin).map_or(0, |word| word.range.start) };
    let from = from.max(text.floor_char_boundary(first.saturating_sub(MAX_SNIPPET_BYTES / 2)));
    let to = all.get(begin + MAX_SHOWN_WORDS).map_or(text.len(), |word| word.range.start);
    let to = to.min(text.floor_char_boundary(from + MAX_SNIPPET_BYTES)).max(from);
    let mut shown = String::new();
    if from > 0 {
        shown.push_str("...");
    }
    let mut at = from;
    for range in marked {
        // Overlapping matches are marked once.
        if range.start < at || range.end > to {
            continue;
        }
        shown.push_str(text.get(at..range.start).unwrap_or_default());
        shown.push_str(">>>");
        shown.push_str(text.get(range.clone()).unwrap_or_default());
        shown.push_str("<<<");
        at = range.end;
    }
    shown.push_str(text.get(at..to).unwrap_or_default());
    if to < text.len() {
        shown.truncate(shown.trim_end().len());
        shown.push_str("...");
    }
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn byte_range(words: &[IndexedWord], place: &Range<usize>) -> Option<Range<usize>> {
    let last = words.get(place.end.checked_sub(1)?)?;
    Some(words.get(place.start)?.range.start..last.range.end)
}

/// Finds a substring: the word that contains it, or its range in the text.
fn find_piece(text: &str, words: &[IndexedWord], piece: &str) -> Option<Range<usize>> {
    if let Some(word) = words.iter().find(|word| word.folded.contains(piece)) {
        return Some(word.range.clone());
    }
    if let Some(at) = text.find(piece) {
        return Some(at..at + piece.len());
    }
    // Folding may change lengths; if it does not, offsets are the same.
    let same = fold_text(text);
    let at = (same.len() == text.len()).then(|| same.find(piece)).flatten()?;
    let range = at..at + piece.len();
    text.get(range.clone()).map(|_| range)
}

#[cfg(test)]
#[path = "snippet_tests.rs"]
mod tests;
