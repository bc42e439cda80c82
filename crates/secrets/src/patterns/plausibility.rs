//! Distinguishes secrets from placeholders.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Words used as passwords in documents.
const PLACEHOLDER_WORDS: &[&str] = &[
    "changeme",
    "pass",
    "passwd",
    "password",
    "pw",
    "pwd",
    "secret",
    "token",
    "your-password",
    "your_password",
    "yourpassword",
];

/// Whether a text is neither filler nor made of words of at most `longest_word`
/// letters: `YOUR_API_KEY`, `process.env.KEY`, `apiKey2`.
pub(super) fn is_random(text: &str, longest_word: usize) -> bool {
    !is_filler(text)
        && !text.split(|c: char| !c.is_ascii_alphanumeric()).all(|word| {
            let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
            let digits = word.len() - letters.len();
            let length = if digits == 0 { longest_word } else { longest_word.min(14) };
            letters.chars().all(|c| c.is_ascii_alphabetic()) && digits <= 2 && word.len() <= length
        })
}

/// Matches `xxxxxxxx`, `****`, `0000`, `abc...`.
pub(super) fn is_filler(text: &str) -> bool {
    if ["xxxx", "XXXX", "****", "..."].iter().any(|filler| text.contains(filler)) {
        return true;
    }
    let mut seen: Vec<u8> = Vec::with_capacity(4);
    for byte in text.bytes() {
        if !seen.contains(&byte) {
            seen.push(byte);
        }
        if seen.len() > 3 {
            return false;
        }
    }
    // A run of one letter may be a test token; a run of `x` never is a token.
    text.len() < 8
        || seen.len() > 1
        || matches!(seen.first(), Some(b'x' | b'X' | b'0' | b'_' | b'-'))
}

/// Whether this is a placeholder for a password: a variable, a template, a
/// known word, or a redaction label.
pub(crate) fn is_placeholder(password: &str) -> bool {
    password.is_empty()
        || password.starts_with(['$', '{', '<', '[', '*', '('])
        || password.contains("...")
        || password.contains("${")
        || is_format_string(password)
        || password.bytes().all(|b| matches!(b, b'x' | b'X'))
        || PLACEHOLDER_WORDS.iter().any(|word| word.eq_ignore_ascii_case(password))
}

/// `%s`.
fn is_format_string(text: &str) -> bool {
    matches!(text.as_bytes(), [b'%', letter] if letter.is_ascii_alphabetic())
}

/// Whether a text decodes to `user:password`.
pub(super) fn is_basic_credential(text: &str) -> bool {
    if text.len() < 8 {
        return false;
    }
    let bare = text.trim_end_matches('=');
    let padded = format!("{bare}{}", "=".repeat((4 - bare.len() % 4) % 4));
    STANDARD
        .decode(padded)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .is_some_and(|pair| pair.contains(':') && !pair.contains(char::is_control))
}

/// Whether there is a run of at least `least` base64 characters.
pub(super) fn has_run(text: &str, least: usize) -> bool {
    let in_run = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    text.split(|c: char| !in_run(c)).any(|run| run.len() >= least)
}
