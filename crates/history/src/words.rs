//! Word splitting, the same for stored text and queries: lowercase, no accents,
//! and one word per character in scripts written without spaces.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexedWord {
    /// Its byte range.
    pub(crate) range: Range<usize>,
    /// Its folded form, for comparison.
    pub(crate) folded: String,
}

/// Normalizes a text to NFC.
pub(crate) fn normalize_nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        _ => Cow::Owned(text.nfc().collect()),
    }
}

/// Splits a text into words; apply [`normalize_nfc`] first if needed.
pub(crate) fn words(text: &str) -> Vec<IndexedWord> {
    let mut words: Vec<IndexedWord> = Vec::new();
    let mut open: Option<IndexedWord> = None;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if is_unspaced(c) {
            words.extend(open.take());
            let mut form = String::new();
            fold_char(c, &mut form);
            words.push(IndexedWord { range: at..end, folded: form });
        } else if is_letter(c) {
            let word =
                open.get_or_insert_with(|| IndexedWord { range: at..end, folded: String::new() });
            word.range.end = end;
            fold_char(c, &mut word.folded);
        } else {
            words.extend(open.take());
        }
    }
    words.extend(open);
    words.retain(|word| !word.folded.is_empty());
    words
}

/// Folds a whole text for comparison.
pub(crate) fn fold_text(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut form = String::with_capacity(text.len());
    for c in normalize_nfc(text).chars() {
        fold_char(c, &mut form);
    }
    form
}

fn fold_char(c: char, form: &mut String) {
    if c.is_ascii() {
        form.push(c.to_ascii_lowercase());
        return;
    }
    for c in std::iter::once(c).nfkc() {
        if is_unspaced(c) {
            form.push(c);
        } else {
            let plain = std::iter::once(c).nfd().filter(|c| !is_accent(*c));
            form.extend(plain.flat_map(char::to_lowercase).filter(|c| !is_accent(*c)));
        }
    }
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || is_accent(c)
}

/// Whether the character belongs to a script written without spaces, or in
/// which spaces carry little meaning: Chinese, Japanese, Korean, Thai and
/// others.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF
        | 0x2E80..=0x2FDF | 0x3005..=0x3007 | 0x3040..=0x30FF | 0x3105..=0x318F
        | 0x31A0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xA960..=0xA97F
        | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFFDC | 0x20000..=0x3FFFD)
        && c.is_alphanumeric()
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
