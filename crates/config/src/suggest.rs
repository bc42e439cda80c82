//! Finding what somebody probably meant to write.

use hermes_core::similar;

/// How alike a key must be to be taken for a slip of the pen.
const MIN_SIMILARITY: f64 = 0.8;

/// The candidate nearest to `word`, if it is near enough to be a slip of the pen.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A short word is near to too many others.
    if word.chars().count() < 4 {
        return None;
    }
    let folded = normalize(word);
    let candidates: Vec<&str> = candidates.into_iter().filter(|c| *c != word).collect();
    let same = candidates.iter().copied().find(|candidate| normalize(candidate) == folded);
    same.or_else(|| similar::nearest(word, candidates.into_iter(), MIN_SIMILARITY))
}

/// `toolOutput`, `tool-output` and `tool_output` are the same word.
fn normalize(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
