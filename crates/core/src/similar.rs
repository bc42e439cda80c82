//! Name similarity for "did you mean" suggestions.
//!
//! The measure is Ratcliff and Obershelp's, as in Python's `difflib`: twice the
//! number of characters in matching blocks, divided by the number of characters
//! in both texts. It ranges from 0 (nothing in common) to 1 (equal).

/// Maximum number of characters compared per name; the rest is ignored.
const MAX_COMPARED_CHARS: usize = 256;

/// Returns the similarity of two texts, from 0 to 1. Not quite symmetric, as in
/// `difflib`.
pub fn ratio(a: &str, b: &str) -> f64 {
    let (a, b) = (compared_chars(a), compared_chars(b));
    similarity_ratio(count_matching(&a, &b), a.len() + b.len())
}

/// Returns the candidate nearest to `name` among those with a ratio of at least
/// `cutoff`.
///
/// Ties go to the alphabetically first candidate, so the result does not depend
/// on their order.
pub fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
    cutoff: f64,
) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    let name = compared_chars(name);
    for candidate in candidates {
        let floor = best.map_or(cutoff, |(score, _)| score.max(cutoff));
        if let Some(score) = score_at_least(&name, candidate, floor)
            && best.is_none_or(|(top, text)| score > top || (score == top && candidate < text))
        {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns up to `limit` candidates with a ratio of at least `cutoff`, nearest
/// first.
pub fn ranked<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
    cutoff: f64,
    limit: usize,
) -> Vec<(&'a str, f64)> {
    let name = compared_chars(name);
    let mut found: Vec<(&str, f64)> = candidates
        .filter_map(|text| score_at_least(&name, text, cutoff).map(|score| (text, score)))
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    found.truncate(limit);
    found
}

/// Returns the ratio if it reaches `floor`. The lengths alone rule out most
/// candidates.
fn score_at_least(name: &[char], candidate: &str, floor: f64) -> Option<f64> {
    let candidate = compared_chars(candidate);
    let total = name.len() + candidate.len();
    if similarity_ratio(name.len().min(candidate.len()), total) < floor {
        return None;
    }
    let score = similarity_ratio(count_matching(&candidate, name), total);
    (score >= floor).then_some(score)
}

fn compared_chars(text: &str) -> Vec<char> {
    text.chars().take(MAX_COMPARED_CHARS).collect()
}

#[allow(clippy::cast_precision_loss)]
fn similarity_ratio(matched: usize, total: usize) -> f64 {
    if total == 0 {
        return 1.0;
    }
    2.0 * matched as f64 / total as f64
}

/// Counts the characters in matching blocks: the longest common block, then
/// recursively on both sides of it.
fn count_matching(a: &[char], b: &[char]) -> usize {
    let mut total = 0;
    let mut open = vec![(a, b)];
    while let Some((a, b)) = open.pop() {
        let (start_a, start_b, length) = longest_block(a, b);
        if length == 0 {
            continue;
        }
        total += length;
        open.push((&a[..start_a], &b[..start_b]));
        open.push((&a[start_a + length..], &b[start_b + length..]));
    }
    total
}

/// Returns the longest common block; ties go to the earliest in `a`, then in
/// `b`.
fn longest_block(a: &[char], b: &[char]) -> (usize, usize, usize) {
    let mut best = (0, 0, 0);
    // `run[j]` is the length of the common block that ends at the previous `a` and at `b[j - 1]`.
    let mut run = vec![0_usize; b.len() + 1];
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = 0;
        for (j, right) in b.iter().enumerate() {
            let length = if left == right { diagonal + 1 } else { 0 };
            diagonal = run[j + 1];
            run[j + 1] = length;
            if length > best.2 {
                best = (i + 1 - length, j + 1 - length, length);
            }
        }
    }
    best
}

#[cfg(test)]
#[path = "similar_tests.rs"]
mod tests;
