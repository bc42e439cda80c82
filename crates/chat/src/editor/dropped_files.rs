//! Recognizes file paths that were pasted or dropped.

use std::path::{Path, PathBuf};

/// A longer paste is not a list of dropped files.
const MAX_PASTE_BYTES: usize = 16 * 1024;
const MAX_DROPPED_FILES: usize = 64;

/// Returns the files that a paste names, if it contains nothing else: absolute
/// or relative paths, paths in the home directory, or `file://` URLs; plain,
/// quoted, or with escaped spaces, as terminals and file managers write them.
pub(crate) fn dropped_paths(paste: &str, home: Option<&Path>) -> Option<Vec<PathBuf>> {
    let paste = paste.trim();
    if paste.is_empty() || paste.len() > MAX_PASTE_BYTES {
        return None;
    }
    if let Some(path) = parse_path(paste, home) {
        return Some(vec![path]);
    }
    let words = split_words(paste)?;
    if words.is_empty() || words.len() > MAX_DROPPED_FILES {
        return None;
    }
    words.iter().map(|word| parse_path(word, home)).collect()
}

pub(super) fn is_picture(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    let extension = extension.as_ref().and_then(|extension| extension.to_str());
    matches!(
        extension,
        Some("png" | "jpg" | "jpeg" | "gif" | "webp" | "bmp" | "tif" | "tiff" | "heic" | "avif")
    )
}

fn parse_path(word: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = if let Some(rest) = word.strip_prefix("file://") {
        // A host name, if present, is assumed to be this machine.
        let from = rest.find('/')?;
        PathBuf::from(percent_decode(rest.get(from..)?)?)
    } else if let Some(rest) = word.strip_prefix("~/") {
        home?.join(rest)
    } else if word.starts_with('/') || word.starts_with("./") || word.starts_with("../") {
        PathBuf::from(word)
    } else {
        return None;
    };
    path.is_file().then_some(path)
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let value = digit(rest.next())? * 16 + digit(rest.next())?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Splits a text into words with shell quotes and escapes; `None` if a quote is
/// unterminated.
fn split_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(chars.next()?),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
#[path = "dropped_files_tests.rs"]
mod tests;
