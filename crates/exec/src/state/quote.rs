//! Quoting of bytes as bash words, and unquoting.

use std::fmt::Write as _;

/// Quotes bytes as one bash word. The word contains no line break, so what
/// follows stays on the same line.
pub(super) fn quote(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.chars().any(|letter| letter == '\'' || letter.is_control())
    {
        return format!("'{text}'");
    }
    let mut word = String::with_capacity(bytes.len() + 8);
    word.push_str("$'");
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\'' => word.push_str("\\'"),
                '\\' => word.push_str("\\\\"),
                '\n' => word.push_str("\\n"),
                '\t' => word.push_str("\\t"),
                _ if letter.is_ascii_control() => push_octal(&mut word, letter as u8),
                _ => word.push(letter),
            }
        }
        for byte in chunk.invalid() {
            push_octal(&mut word, *byte);
        }
    }
    word.push('\'');
    word
}

/// Puts the text in single quotes and keeps its line breaks.
pub(super) fn quote_lines(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn push_octal(word: &mut String, byte: u8) {
    let _ = write!(word, "\\{byte:03o}");
}

/// Parses a word in any bash quoting style, up to the first unquoted byte of
/// `ends`. Returns its value and the rest.
pub(super) fn unquote<'a>(mut text: &'a [u8], ends: &[u8]) -> Option<(Vec<u8>, &'a [u8])> {
    let mut word = Vec::new();
    loop {
        match text {
            [] => return Some((word, text)),
            [first, ..] if ends.contains(first) => return Some((word, text)),
            [b'\'', rest @ ..] => {
                let end = memchr::memchr(b'\'', rest)?;
                word.extend_from_slice(rest.get(..end)?);
                text = rest.get(end + 1..)?;
            }
            [b'"', rest @ ..] => text = read_double_quoted(rest, &mut word)?,
            [b'$', b'\'', rest @ ..] => text = read_ansi_quoted(rest, &mut word)?,
            [b'\\', letter, rest @ ..] => {
                word.push(*letter);
                text = rest;
            }
            [letter, rest @ ..] => {
                word.push(*letter);
                text = rest;
            }
        }
    }
}

/// Parses the text after `"` and returns what follows the closing quote.
fn read_double_quoted<'a>(mut text: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match text {
            [] => return None,
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', letter @ (b'"' | b'\\' | b'$' | b'`'), rest @ ..] => {
                word.push(*letter);
                text = rest;
            }
            [letter, rest @ ..] => {
                word.push(*letter);
                text = rest;
            }
        }
    }
}

/// Parses the text after `$'` and returns what follows the closing quote.
fn read_ansi_quoted<'a>(mut text: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match text {
            [] => return None,
            [b'\'', rest @ ..] => return Some(rest),
            [b'\\', b'0'..=b'7', ..] => {
                let mut value = 0_u32;
                let mut digits = 0;
                let mut rest = text.get(1..)?;
                while let [digit @ b'0'..=b'7', after @ ..] = rest
                    && digits < 3
                {
                    value = value * 8 + u32::from(*digit - b'0');
                    digits += 1;
                    rest = after;
                }
                word.push((value & 0xff) as u8);
                text = rest;
            }
            [b'\\', letter, rest @ ..] => {
                word.push(match letter {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'e' | b'E' => 27,
                    other => *other,
                });
                text = rest;
            }
            [letter, rest @ ..] => {
                word.push(*letter);
                text = rest;
            }
        }
    }
}
