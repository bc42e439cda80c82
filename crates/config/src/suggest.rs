//! Finding what somebody probably meant to write.

/// Longer words are not compared: nobody misspells a 65-character key by two letters and wants to hear of it.
const MAX_CHARS: usize = 64;

/// The candidate nearest to `word`, if it is near enough to be a slip of the pen.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = match word.chars().count() {
        0..=3 => return None,
        4..=5 => 1,
        6..=MAX_CHARS => 2,
        _ => return None,
    };
    candidates
        .into_iter()
        .filter(|candidate| *candidate != word)
        .filter_map(|candidate| {
            if fold(candidate) == fold(word) {
                return Some((0, candidate));
            }
            let distance = distance(word, candidate);
            (distance <= allowed).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `toolOutput`, `tool-output` and `tool_output` are the same word.
fn fold(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut last_left = None;
    for (row, left_char) in left.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, right_char) in right.iter().enumerate() {
            let substitute = above[column] + usize::from(left_char != *right_char);
            let mut best = substitute.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped = column > 0
                && last_left == Some(*right_char)
                && right[column - 1] == left_char
                && !before.is_empty();
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            current.push(best);
        }
        last_left = Some(left_char);
        before = std::mem::replace(&mut above, current);
    }
    above[right.len()]
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
