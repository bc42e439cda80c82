//! Detects the ordinary characters of a value: those of words, of sequences
//! such as `abcdef`, of repeated characters, and of the prefix that all tokens
//! of a service share.

/// Shorter runs of letters are words only by chance.
const MIN_WORD_CHARS: usize = 4;

/// Shorter sequences or repetitions are not significant.
const MIN_SEQUENCE_CHARS: usize = 4;

/// The longest part of a prefix: `github` in `github_pat_`.
const MAX_NAME_CHARS: usize = 6;

/// Maximum length of a token prefix.
const MAX_PREFIX_CHARS: usize = 16;

/// For each letter, the letters that often follow it in a word.
const COMMON_FOLLOWERS: [&[u8]; 26] = [
    b"bcdilmnprst",
    b"aeilou",
    b"aehiklot",
    b"aeio",
    b"acdelmnrstvx",
    b"aeior",
    b"aehior",
    b"aeio",
    b"cdelmnorstv",
    b"ou",
    b"ei",
    b"adeiloty",
    b"aeimop",
    b"acdegiost",
    b"cdlmnprstuw",
    b"aehilor",
    b"u",
    b"adeimnosty",
    b"aehiopstu",
    b"aehiorsty",
    b"clnprst",
    b"aei",
    b"aehio",
    b"pt",
    b"s",
    b"e",
];

/// For each byte of an ASCII text, whether it is ordinary.
pub(crate) fn ordinary_letters(text: &[u8]) -> Vec<bool> {
    let mut ordinary = vec![false; text.len()];
    mark(&mut ordinary, 0, prefix_length(text));
    let mut at = 0;
    while at < text.len() {
        let end = word_end(text, at);
        if text.get(at..end).is_some_and(is_word) {
            mark(&mut ordinary, at, end);
        }
        at = end.max(at + 1);
    }
    for step in [0, 1] {
        mark_sequences(text, step, &mut ordinary);
    }
    ordinary
}

fn mark(ordinary: &mut [bool], from: usize, to: usize) {
    for flag in ordinary.iter_mut().take(to).skip(from) {
        *flag = true;
    }
}

/// Returns the length of a prefix made of short names: `sk-ant-api03-`. A
/// prefix takes at most half of the value.
fn prefix_length(text: &[u8]) -> usize {
    let mut length = 0;
    for part in text.split_inclusive(|byte| b"-_.".contains(byte)) {
        let Some((last, name)) = part.split_last() else { break };
        let longer = length + part.len();
        let fits = longer <= MAX_PREFIX_CHARS.min(text.len() / 2);
        if last.is_ascii_alphanumeric() || !is_short_name(name) || !fits {
            break;
        }
        length = longer;
    }
    length
}

/// Whether it is lower-case letters followed by at most two digits.
fn is_short_name(name: &[u8]) -> bool {
    let letters = name.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    let number = name.get(letters..).unwrap_or_default();
    name.len() <= MAX_NAME_CHARS && number.len() <= 2 && number.iter().all(u8::is_ascii_digit)
}

/// Returns the end of the run of letters at `at`: lower-case ones, optionally
/// after one capital, or only capitals.
fn word_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let capitals = rest.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let small = rest.iter().skip(capitals).take_while(|byte| byte.is_ascii_lowercase()).count();
    match (capitals, small) {
        (0 | 1, _) => at + capitals + small,
        (_, 0) => at + capitals,
        // The last capital begins the next word: `HTTPServer`.
        _ => at + capitals - 1,
    }
}

/// Whether at least two thirds of the letter pairs are common in words.
fn is_word(letters: &[u8]) -> bool {
    if letters.len() < MIN_WORD_CHARS {
        return false;
    }
    let pairs = letters.windows(2);
    let count = pairs.len();
    let usual = pairs.filter(|pair| matches!(pair, [first, next] if often_follows(*first, *next)));
    usual.count() * 3 >= count * 2
}

fn often_follows(first: u8, next: u8) -> bool {
    let row = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
    COMMON_FOLLOWERS
        .get(row)
        .is_some_and(|followers| followers.contains(&next.to_ascii_lowercase()))
}

/// Marks runs in which each byte is the previous one plus `step`.
fn mark_sequences(text: &[u8], step: u8, ordinary: &mut [bool]) {
    let mut start = 0;
    for at in 1..=text.len() {
        let goes_on = match (text.get(at - 1), text.get(at)) {
            (Some(last), Some(next)) => last.checked_add(step) == Some(*next),
            _ => false,
        };
        if !goes_on {
            if at - start >= MIN_SEQUENCE_CHARS {
                mark(ordinary, start, at);
            }
            start = at;
        }
    }
}

#[cfg(test)]
#[path = "ordinary_text_tests.rs"]
mod tests;
