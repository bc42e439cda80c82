//! Suggestions for misspelled names.

use hermes_core::similar;

/// Minimum similarity of a misspelled key to a known one.
const MIN_SIMILARITY: f64 = 0.8;

/// Returns the candidate most similar to `word`, if it is similar enough to be
/// a misspelling.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Short words resemble too many others.
    if word.chars().count() < 4 {
        return None;
    }
    let folded = normalize(word);
    let candidates: Vec<&str> = candidates.into_iter().filter(|c| *c != word).collect();
    let same = candidates.iter().copied().find(|candidate| normalize(candidate) == folded);
    same.or_else(|| similar::nearest(word, candidates.into_iter(), MIN_SIMILARITY))
}

/// Makes `toolOutput`, `tool-output` and `tool_output` equal.
fn normalize(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
