//! Redaction inside JSON text. Each string is decoded, redacted and encoded
//! again, so neither an escape nor the structure is broken.

use crate::Redactor;
use crate::patterns::{SecretKind, ValueStyle, header_credential, is_named_secret, secret_header};

/// The longest key that is judged.
const MAX_KEY_CHARS: usize = 64;

/// A shorter number or word cannot be a secret.
const MIN_TOKEN_CHARS: usize = 6;

/// Returns the redacted text; `None` if it has no secrets. If `named`, a value
/// is also judged by its name.
pub(crate) fn redact_json(text: &str, redactor: &Redactor, named: bool) -> Option<String> {
    let mut clean = String::with_capacity(text.len());
    let mut changed = false;
    // The last string, in case that is a key.
    let mut last_key: Option<String> = None;
    // The name of an entry, or an option of a list, that the next value is of.
    let mut subject: Option<String> = None;
    let mut rest = text;
    while let Some(open) = rest.find('"') {
        let (structure, string) = rest.split_at(open);
        changed |= redact_structure(structure, redactor, &mut clean);
        let Some(length) = string_length(string) else {
            rest = string;
            break;
        };
        let (literal, after) = string.split_at(length);
        let raw = literal.get(1..length - 1).unwrap_or_default();
        let unescaped = raw.contains('\\').then(|| unescape(raw));
        let content = unescaped.as_deref().unwrap_or(raw);
        let is_value = structure.trim() == ":";
        let key = last_key.take().filter(|_| is_value);
        let is_of_subject = match key.as_deref() {
            Some(key) => key.eq_ignore_ascii_case("value"),
            None => structure.trim() == "," && !after.trim_start().starts_with(':'),
        };
        let owner = subject.as_deref().filter(|_| is_of_subject).or(key.as_deref());
        let replaced = redact_string(content, owner, redactor, named);
        if let Some(name) = subject_name(content, key.as_deref()) {
            subject = Some(name.to_owned());
        } else if is_of_subject || structure.contains(['}', ']']) {
            subject = None;
        }
        match replaced {
            Some(replaced) => {
                push_literal(&mut clean, &replaced);
                changed = true;
            }
            None => clean.push_str(literal),
        }
        let may_be_key = content.len() <= MAX_KEY_CHARS && after.trim_start().starts_with(':');
        last_key = may_be_key.then(|| content.to_owned());
        rest = after;
    }
    changed |= redact_structure(rest, redactor, &mut clean);
    changed.then_some(clean)
}

/// Returns what the next value is of: `{"name": "TOKEN", "value": …}`,
/// `["--token", …]`.
fn subject_name<'a>(content: &'a str, key: Option<&str>) -> Option<&'a str> {
    let name = match key {
        Some("name" | "Name" | "key" | "Key") => content,
        Some(_) => return None,
        None => content.strip_prefix('-')?.trim_start_matches('-'),
    };
    (name.len() <= MAX_KEY_CHARS).then_some(name)
}

/// Returns the redacted content of a string; `None` if it has no secrets.
fn redact_string(
    content: &str,
    key: Option<&str>,
    redactor: &Redactor,
    named: bool,
) -> Option<String> {
    let redacted = redactor.redact_string(content, named);
    if let Some(header) = key.and_then(secret_header)
        && let (Some((start, end, kind)), _) = header_credential(&redacted, header)
    {
        let before = redacted.get(..start).unwrap_or_default();
        let after = redacted.get(end..).unwrap_or_default();
        return Some(format!("{before}{}{after}", redactor.label_of(kind)));
    }
    // `token` is also the name of our own tickets.
    let is_named = named
        && key.is_some_and(|key| {
            key != "token" && is_named_secret(key, &redacted, ValueStyle::Quoted)
        });
    if is_named {
        return Some(redactor.label_of(SecretKind::Named).to_owned());
    }
    matches!(redacted, std::borrow::Cow::Owned(_)).then(|| redacted.into_owned())
}

/// Redacts the text between strings: punctuation, numbers, words. Returns
/// whether it changed.
fn redact_structure(structure: &str, redactor: &Redactor, clean: &mut String) -> bool {
    if structure.len() < MIN_TOKEN_CHARS || !redactor.contains_secret(structure) {
        clean.push_str(structure);
        return false;
    }
    if !structure.split(is_punctuation).all(is_bare_token) {
        // Not JSON, so there is no structure to preserve.
        clean.push_str(&redactor.redact(structure));
        return true;
    }
    let mut changed = false;
    for piece in structure.split_inclusive(is_punctuation) {
        let token = piece.trim_end_matches(is_punctuation);
        let after = piece.get(token.len()..).unwrap_or_default();
        if redactor.contains_secret(token) {
            push_literal(clean, &redactor.redact(token));
            changed = true;
        } else {
            clean.push_str(token);
        }
        clean.push_str(after);
    }
    changed
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_whitespace() || matches!(c, ',' | ':' | '[' | ']' | '{' | '}')
}

fn is_bare_token(token: &str) -> bool {
    let in_number = |b: u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
    matches!(token, "true" | "false" | "null") || token.bytes().all(in_number)
}

/// Returns the length in bytes of the string literal at the start of the text,
/// with quotes; `None` if it is unterminated.
fn string_length(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn push_literal(text: &mut String, content: &str) {
    match serde_json::to_string(content) {
        Ok(literal) => text.push_str(&literal),
        // Cannot fail for a string; if it did, nothing must leak.
        Err(_) => text.push_str("\"\""),
    }
}

/// Decodes escapes. A lone surrogate becomes the replacement character; invalid
/// escapes stay unchanged.
fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        text.push_str(before);
        let (c, length) = read_escape(escape);
        match c {
            Some(c) => text.push(c),
            None => text.push_str(escape.get(..length).unwrap_or(escape)),
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// Returns the character of the escape at the start of the text, and the length
/// of the escape.
fn read_escape(text: &str) -> (Option<char>, usize) {
    let plain = |c| (Some(c), 2);
    match text.as_bytes().get(1) {
        Some(b'n') => plain('\n'),
        Some(b'r') => plain('\r'),
        Some(b't') => plain('\t'),
        Some(b'b') => plain('\u{8}'),
        Some(b'f') => plain('\u{c}'),
        Some(b'"') => plain('"'),
        Some(b'\\') => plain('\\'),
        Some(b'/') => plain('/'),
        Some(b'u') => {
            let Some(first) = unicode_escape(text) else { return (None, 1) };
            let second = text.get(6..).and_then(unicode_escape);
            let pair = second.map_or(vec![first], |second| vec![first, second]);
            match char::decode_utf16(pair).next() {
                Some(Ok(c)) => (Some(c), if c.len_utf16() == 2 { 12 } else { 6 }),
                _ => (Some(char::REPLACEMENT_CHARACTER), 6),
            }
        }
        _ => (None, 1),
    }
}

/// Returns the code unit of a `\uXXXX` at the start of the text.
fn unicode_escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let all_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    if all_hex { u16::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
