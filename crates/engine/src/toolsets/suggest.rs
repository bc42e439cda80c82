//! The existing names that a misspelt one was probably meant to be.

use std::cmp::Reverse;

/// Longer input is no typing mistake, and comparing it would be costly.
const LONGEST: usize = 64;
const MOST: usize = 3;
/// Least similarity worth showing, in thousandths.
const CUTOFF: usize = 600;
/// A shorter part is found inside too many names to mean anything.
const SHORTEST_PART: usize = 3;

/// Up to three of `candidates` that resemble `name`, nearest first.
pub(crate) fn nearest<I, S>(name: &str, candidates: I) -> Vec<String>
where
    I: IntoIterator<Item = S>,
    S: AsRef<str>,
{
    let wanted = fold(name);
    if wanted.is_empty() || wanted.len() > LONGEST {
        return Vec::new();
    }
    let mut scored: Vec<(Reverse<usize>, String)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let score = similarity(&wanted, &fold(candidate.as_ref()));
            (score >= CUTOFF).then(|| (Reverse(score), candidate.as_ref().to_owned()))
        })
        .collect();
    scored.sort();
    scored.dedup();
    scored.truncate(MOST);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Case and the choice of separator are the commonest slips, so they count for nothing.
fn fold(name: &str) -> Vec<char> {
    name.chars()
        .take(LONGEST + 1)
        .map(|c| {
            if c == '-' || c == ' ' {
                '_'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

fn similarity(wanted: &[char], candidate: &[char]) -> usize {
    let longer = wanted.len().max(candidate.len());
    if longer > LONGEST {
        return 0;
    }
    let part = contains(candidate, wanted) || contains(wanted, candidate);
    let by_edits = 1000 - 1000 * edits(wanted, candidate) / longer.max(1);
    if part { by_edits.max(CUTOFF) } else { by_edits }
}

fn contains(whole: &[char], part: &[char]) -> bool {
    part.len() >= SHORTEST_PART && whole.windows(part.len()).any(|window| window == part)
}

/// Insertions, deletions, replacements and swaps of neighbours between two names.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
