//! Shortening and quoting of text, in one place.

use std::borrow::Cow;

/// The text, or its first `max_chars - 1` characters and an ellipsis.
pub fn excerpt(text: &str, max_chars: usize) -> Cow<'_, str> {
    if text.len() <= max_chars || text.char_indices().nth(max_chars).is_none() {
        return Cow::Borrowed(text);
    }
    let cut = text.char_indices().nth(max_chars.saturating_sub(1)).map_or(0, |(at, _)| at);
    Cow::Owned(format!("{}…", text.get(..cut).unwrap_or_default()))
}

/// The beginning of a text on one line: runs of whitespace become one space.
pub fn one_line_excerpt(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // Four bytes hold any character.
        if line.len() > max_chars.saturating_mul(4) {
            break;
        }
    }
    excerpt(&line, max_chars).into_owned()
}

/// The text without its middle, if it has more than `max_bytes` bytes: three
/// quarters of them are its head, the rest its tail.
pub fn omit_middle(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(max_bytes / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - max_bytes / 4);
    let omitted = tail - head;
    let (head, tail) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    Cow::Owned(format!("{head}\n[… {omitted} bytes omitted …]\n{tail}"))
}

/// Quotes a word for a POSIX shell.
pub fn shell_quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Quotes bytes as one word for a POSIX shell.
pub fn shell_quote_bytes(word: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(word.len() + 2);
    quoted.push(b'\'');
    for byte in word {
        match byte {
            b'\'' => quoted.extend_from_slice(br"'\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// Quotes a word for a POSIX shell if it needs quotes.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(shell_quote(word))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
