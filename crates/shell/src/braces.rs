//! Brace expansion: `{a,b}` and `{1..3}`.

use crate::syntax::{RawWord, WordPart};

/// Maximum number of results.
const MAX_RESULTS: usize = 64;
/// Maximum number of pieces in a word that is expanded.
const MAX_TOKENS: usize = 512;

/// A piece of a word after brace expansion.
#[derive(Debug, Clone)]
pub(crate) enum BracePiece<'a> {
    Unquoted(char),
    Part(&'a WordPart),
}

/// Whether the word contains braces to expand.
pub(crate) fn has_braces(raw: &RawWord) -> bool {
    let braced = |part: &WordPart| matches!(part, WordPart::Text { text, quoted: false } if text.bytes().any(|b| b == b'{'));
    if !raw.parts.iter().any(braced) {
        return false;
    }
    let mut open = false;
    let mut separated = false;
    for part in raw.parts.iter() {
        if let WordPart::Text { text, quoted: false } = part {
            open |= text.contains('{');
            separated |= text.contains(',') || text.contains("..");
            if open && separated && text.contains('}') {
                return true;
            }
        }
    }
    false
}

/// All words that this one expands to; `None` if there are too many.
pub(crate) fn expand(raw: &RawWord) -> Option<Vec<Vec<BracePiece<'_>>>> {
    let mut start = Vec::new();
    for part in raw.parts.iter() {
        match part {
            WordPart::Text { text, quoted: false } => {
                start.extend(text.chars().map(BracePiece::Unquoted))
            }
            part => start.push(BracePiece::Part(part)),
        }
        if start.len() > MAX_TOKENS {
            return None;
        }
    }
    let mut done = Vec::new();
    let mut waiting = vec![start];
    let mut steps = 0;
    while let Some(word) = waiting.pop() {
        steps += 1;
        if steps > 4 * MAX_RESULTS || waiting.len() + done.len() > MAX_RESULTS {
            return None;
        }
        match alternatives(&word) {
            None => done.push(word),
            Some((from, to, choices)) => {
                if choices.len() > MAX_RESULTS {
                    return None;
                }
                for choice in choices.into_iter().rev() {
                    let mut next = word.get(..from).unwrap_or(&[]).to_vec();
                    next.extend(choice);
                    next.extend_from_slice(word.get(to + 1..).unwrap_or(&[]));
                    if next.len() > MAX_TOKENS {
                        return None;
                    }
                    waiting.push(next);
                }
            }
        }
    }
    Some(done)
}

type BraceChoices<'a> = (usize, usize, Vec<Vec<BracePiece<'a>>>);

/// The first braces that expand: their start and end, and the alternatives.
fn alternatives<'a>(word: &[BracePiece<'a>]) -> Option<BraceChoices<'a>> {
    for (from, piece) in word.iter().enumerate() {
        if !matches!(piece, BracePiece::Unquoted('{')) {
            continue;
        }
        let mut open = 0usize;
        let mut choices: Vec<Vec<BracePiece<'a>>> = vec![Vec::new()];
        for (to, piece) in word.iter().enumerate().skip(from + 1) {
            match piece {
                BracePiece::Unquoted(',') if open == 0 => {
                    choices.push(Vec::new());
                    continue;
                }
                BracePiece::Unquoted('{') => open += 1,
                BracePiece::Unquoted('}') if open == 0 => {
                    if choices.len() > 1 {
                        return Some((from, to, choices));
                    }
                    if let Some(range) = choices.first().and_then(|inside| range(inside)) {
                        return Some((from, to, range));
                    }
                    break;
                }
                BracePiece::Unquoted('}') => open -= 1,
                _ => {}
            }
            if let Some(last) = choices.last_mut() {
                last.push(piece.clone());
            }
        }
    }
    None
}

/// `1..5` or `a..e`.
fn range<'a>(inside: &[BracePiece<'a>]) -> Option<Vec<Vec<BracePiece<'a>>>> {
    let mut text = String::new();
    for piece in inside {
        match piece {
            BracePiece::Unquoted(c) => text.push(*c),
            BracePiece::Part(_) => return None,
        }
    }
    let (low, high) = text.split_once("..")?;
    let high = high.split("..").next().unwrap_or(high);
    let letters = |text: String| text.chars().map(BracePiece::Unquoted).collect::<Vec<_>>();
    if let (Ok(low), Ok(high)) = (low.parse::<i64>(), high.parse::<i64>()) {
        let (first, last) = (low.min(high), low.max(high));
        if last.checked_sub(first)? > MAX_RESULTS as i64 {
            // The bounds represent the whole range.
            return Some(vec![letters(first.to_string()), letters(last.to_string())]);
        }
        return Some((first..=last).map(|n| letters(n.to_string())).collect());
    }
    let (mut low, mut high) = (low.chars(), high.chars());
    match (low.next(), low.next(), high.next(), high.next()) {
        (Some(a), None, Some(b), None) if a.is_ascii() && b.is_ascii() => {
            Some((a.min(b)..=a.max(b)).map(|c| letters(c.to_string())).collect())
        }
        _ => None,
    }
}
