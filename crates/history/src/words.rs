//! The words of a text, the same way for what is kept and for what is looked
//! for: small letters, no accents, and one word for each character of a script
//! that is written without spaces.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexedWord {
    /// Where it stands, in bytes.
    pub(crate) range: Range<usize>,
    /// Its form for comparing.
    pub(crate) folded: String,
}

/// The text with letters and their accents put together.
pub(crate) fn normalize_nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        _ => Cow::Owned(text.nfc().collect()),
    }
}

/// The words of a text; [`composed`] first, if it may need to be.
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

/// The whole text in the form for comparing.
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

/// Whether the character belongs to a script that is written without spaces,
/// or with spaces that say little: Chinese, Japanese, Korean, Thai and others.
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
