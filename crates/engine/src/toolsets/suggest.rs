//! Suggests existing names for a misspelt one.

use hermes_core::similar;

/// Longer input is not a typo.
const MAX_INPUT_CHARS: usize = 64;
const MAX_SUGGESTIONS: usize = 3;
/// Minimum similarity of a suggestion.
const MIN_SIMILARITY: f64 = 0.6;
/// Maximum difference in similarity to the best suggestion.
const SIMILARITY_MARGIN: f64 = 0.21;
/// A shorter substring matches too many names.
const MIN_SUBSTRING_BYTES: usize = 3;

/// Up to three of `candidates` that resemble `name`, nearest first.
pub(crate) fn nearest<I, S>(name: &str, candidates: I) -> Vec<String>
where
    I: IntoIterator<Item = S>,
    S: AsRef<str>,
{
    let wanted = normalize_name(name);
    if wanted.is_empty() || wanted.chars().count() > MAX_INPUT_CHARS {
        return Vec::new();
    }
    let mut scored: Vec<(f64, String)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let score = similarity(&wanted, &normalize_name(candidate.as_ref()));
            (score >= MIN_SIMILARITY).then(|| (score, candidate.as_ref().to_owned()))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.dedup();
    // Next to a good match, a poor one only distracts.
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    scored.retain(|(score, _)| best - score < SIMILARITY_MARGIN);
    scored.truncate(MAX_SUGGESTIONS);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Ignores case and the choice of separator, which are the most common
/// mistakes.
fn normalize_name(name: &str) -> String {
    name.chars()
        .take(MAX_INPUT_CHARS + 1)
        .map(|c| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() })
        .collect()
}

/// The similarity of two names; a substring always counts as similar.
fn similarity(wanted: &str, candidate: &str) -> f64 {
    let part = |whole: &str, part: &str| part.len() >= MIN_SUBSTRING_BYTES && whole.contains(part);
    let score = similar::ratio(wanted, candidate);
    if part(candidate, wanted) || part(wanted, candidate) {
        score.max(MIN_SIMILARITY)
    } else {
        score
    }
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
