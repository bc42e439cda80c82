//! Suggestions for mistyped names.

use std::cmp::Reverse;

/// Returns the names most similar to `wanted`, best first.
pub(crate) fn nearest(
    wanted: &str,
    names: impl IntoIterator<Item = String>,
    most: usize,
) -> Vec<String> {
    let wanted = FoldedName::new(wanted.to_owned());
    let mut scored: Vec<(Reverse<u32>, String)> = names
        .into_iter()
        .filter_map(|name| {
            let name = FoldedName::new(name);
            let score = wanted.score(&name);
            (score > 0).then_some((Reverse(score), name.written))
        })
        .collect();
    scored.sort();
    scored.truncate(most);
    scored.into_iter().map(|(_, name)| name).collect()
}

struct FoldedName {
    written: String,
    folded: String,
    chars: Vec<char>,
}

impl FoldedName {
    fn new(written: String) -> Self {
        let folded = written.to_lowercase();
        let chars = folded.chars().collect();
        Self { written, folded, chars }
    }

    /// Splits into stem and extension; a leading dot does not start an
    /// extension.
    fn parts(&self) -> (&str, &str) {
        match self.folded.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, extension),
            _ => (&self.folded, ""),
        }
    }

    /// Similarity from 0 (nothing in common) to 100 (only the case differs).
    fn score(&self, other: &FoldedName) -> u32 {
        let (a, b) = (self.folded.as_str(), other.folded.as_str());
        if a.is_empty() || b.is_empty() {
            return 0;
        }
        if a == b {
            return 100;
        }
        let (stem, extension) = self.parts();
        let (other_stem, other_extension) = other.parts();
        if stem == other_stem {
            return 90;
        }
        let typo = self.typo_score(other);
        let rough = if a.starts_with(b) || b.starts_with(a) {
            70
        } else if b.contains(a) {
            60
        } else if a.contains(b) && other.chars.len() > 2 {
            40
        } else if !extension.is_empty() && extension == other_extension {
            if shares_letters(stem, other_stem) { 30 } else { 0 }
        } else {
            0
        };
        typo.max(rough)
    }

    /// Score from 61 to 89 by the share of correct characters; 0 if that is
    /// below 60 %.
    fn typo_score(&self, other: &FoldedName) -> u32 {
        let (a, b) = (&self.chars, &other.chars);
        let longest = a.len().max(b.len());
        let allowed = longest * 4 / 10;
        if longest > 255 || a.len().abs_diff(b.len()) > allowed {
            return 0;
        }
        let distance = edit_distance(a, b);
        if distance > allowed {
            return 0;
        }
        (89 - distance * 70 / longest) as u32
    }
}

/// Whether at least 40 % of the letters of `a` occur in `b`.
fn shares_letters(a: &str, b: &str) -> bool {
    let all = a.chars().count();
    let shared = a.chars().filter(|&c| b.contains(c)).count();
    shared * 10 >= all * 4
}

/// Edit distance: insertions, deletions, substitutions and transpositions.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut older: Vec<usize> = Vec::new();
    let mut old: Vec<usize> = (0..=b.len()).collect();
    for (i, &left) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(old.len());
        row.push(i + 1);
        for (j, &right) in b.iter().enumerate() {
            let mut cost =
                (old[j] + usize::from(left != right)).min(old[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && left == b[j - 1] && a[i - 1] == right {
                cost = cost.min(older[j - 1] + 1);
            }
            row.push(cost);
        }
        older = std::mem::replace(&mut old, row);
    }
    old.last().copied().unwrap_or(0)
}

#[cfg(test)]
#[path = "similar_tests.rs"]
mod tests;
