//! Normalizes a text to plain lower case, so all spellings of a word become
//! one.

use unicode_normalization::char::{compose, decompose_compatible};

use crate::traced::TracedText;
use crate::{escapes, hidden, respell};

/// Maximum length of a skipped terminal sequence.
const MAX_SEQUENCE_BYTES: usize = 32;

/// Tags that change the appearance of a word, not its text.
const INLINE_TAGS: [&str; 15] = [
    "b>", "i>", "u>", "s>", "em>", "strong>", "span>", "wbr>", "font>", "mark>", "small>", "sub>",
    "sup>", "code>", "wbr/>",
];

/// Folds a text: decodes escapes, resolves compatibility forms and accents,
/// drops invisible characters, collapses whitespace, lower-cases letters,
/// replaces Latin look-alikes, and respells disguised words.
pub(crate) fn fold(text: &str) -> TracedText {
    let folded = normalize(text);
    let latin = if folded.text().is_ascii() { folded } else { respell::replace_lookalikes(folded) };
    respell::join_spaced_letters(respell::replace_leet(latin))
}

fn normalize(text: &str) -> TracedText {
    let mut speller =
        NormalizedWriter { out: TracedText::with_capacity(text.len()), pending_space: None };
    let bytes = text.as_bytes();
    let (mut at, mut source) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = plain_run_length(&bytes[at..], speller.pending_space.is_some());
        if plain > 0 {
            speller.flush();
            speller.out.push_lowercase(&rest[..plain], source);
            at += plain;
            source += plain;
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        let (used, spelled) = match c {
            '&' | '\\' => match escapes::decode_escape(rest) {
                Some((decoded, used)) => (used, Some(decoded)),
                None => (1, Some(c)),
            },
            '<' => match inline_tag_length(rest) {
                0 => (1, Some(c)),
                used => (used, None),
            },
            '\u{1b}' => (terminal_sequence_length(rest), None),
            _ => (c.len_utf8(), Some(c)),
        };
        if let Some(spelled) = spelled {
            speller.add(spelled, source);
        }
        let passed = rest.get(..used).unwrap_or(rest);
        source +=
            if used == passed.len() && passed.is_ascii() { used } else { passed.chars().count() };
        at += passed.len().max(1);
    }
    speller.out
}

/// Returns how many bytes need only lower-casing. A space is allowed after a
/// character that is not whitespace.
fn plain_run_length(bytes: &[u8], after_gap: bool) -> usize {
    let mut spaced = after_gap;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b' ' if spaced || !matches!(bytes.get(at + 1), Some(b'!'..=b'~')) => return at,
            b' ' => spaced = true,
            b'&' | b'<' | b'\\' => return at,
            b'!'..=b'~' => spaced = false,
            _ => return at,
        }
    }
    bytes.len()
}

fn inline_tag_length(text: &str) -> usize {
    let Some(inner) = text.get(1..) else { return 0 };
    let name = inner.strip_prefix('/').unwrap_or(inner).as_bytes();
    let tag = INLINE_TAGS.iter().find(|tag| {
        name.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
    });
    tag.map_or(0, |tag| text.len() - name.len() + tag.len())
}

fn terminal_sequence_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.get(1) != Some(&b'[') {
        return 1;
    }
    let tail = bytes.iter().skip(2).take(MAX_SEQUENCE_BYTES);
    match tail.clone().position(|&b| !(b' '..=b'?').contains(&b)) {
        Some(end) if bytes.get(end + 2).is_some_and(|&b| (b'@'..=b'~').contains(&b)) => end + 3,
        _ => 1,
    }
}

struct NormalizedWriter {
    out: TracedText,
    /// Pending whitespace and its source position.
    pending_space: Option<(char, usize)>,
}

impl NormalizedWriter {
    fn flush(&mut self) {
        if let Some((space, source)) = self.pending_space.take() {
            self.out.push(space, source);
        }
    }

    fn add(&mut self, c: char, source: usize) {
        if c.is_ascii_graphic() {
            self.put(c.to_ascii_lowercase(), source);
        } else if c == '\n' || matches!(c, '\u{2028}' | '\u{2029}' | '\u{85}' | '\u{b}' | '\u{c}') {
            self.pending_space =
                Some(('\n', self.pending_space.map_or(source, |(_, first)| first)));
        } else if c.is_whitespace() || c == '\u{2800}' {
            self.pending_space.get_or_insert((' ', source));
        } else if c.is_control() || hidden::is_invisible(c) || hidden::is_bidi(c) {
        } else if let Some(plain) = ascii_punctuation(c).or_else(|| enclosed_letter(c)) {
            self.put(plain, source);
        } else if ('\u{ac00}'..='\u{d7a3}').contains(&c) {
            self.put(c, source);
        } else {
            decompose_compatible(c, |part| self.add_part(part, source));
        }
    }

    fn add_part(&mut self, part: char, source: usize) {
        if is_accent(part) {
            return;
        }
        if part.is_whitespace() {
            self.pending_space.get_or_insert((' ', source));
            return;
        }
        // Recompose Kana and Hangul, whose marks are part of the letter.
        let joins = matches!(u32::from(part), 0x3099 | 0x309a | 0x1161..=0x1175 | 0x11a8..=0x11c2);
        let last =
            self.out.text().chars().next_back().filter(|_| joins && self.pending_space.is_none());
        if let Some(whole) = last.and_then(|last| compose(last, part)) {
            self.out.pop();
            self.put(whole, source);
        } else {
            self.put(part, source);
        }
    }

    fn put(&mut self, c: char, source: usize) {
        self.flush();
        self.out.push(if c.is_ascii() { c.to_ascii_lowercase() } else { c }, source);
    }
}

fn is_accent(c: char) -> bool {
    matches!(
        u32::from(c),
        0x300..=0x36f | 0x483..=0x489 | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff
            | 0xfe20..=0xfe2f
            // Arabic vowel signs and tatweel.
            | 0x64b..=0x65f | 0x670 | 0x640
    )
}

fn ascii_punctuation(c: char) -> Option<char> {
    Some(match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2bc}' | '\u{b4}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}' | '\u{2033}' | '\u{300c}' | '\u{300d}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{b7}' | '\u{2022}' | '\u{2219}' | '\u{2024}' | '\u{3002}' | '\u{30fb}' => '.',
        '\u{3001}' | '\u{60c}' => ',',
        '\u{2044}' | '\u{2215}' => '/',
        _ => return None,
    })
}

/// Returns the letter of a boxed letter or a regional indicator.
fn enclosed_letter(c: char) -> Option<char> {
    let letter = match u32::from(c) {
        code @ 0x1f150..=0x1f169 => code - 0x1f150,
        code @ 0x1f170..=0x1f189 => code - 0x1f170,
        code @ 0x1f1e6..=0x1f1ff => code - 0x1f1e6,
        _ => return None,
    };
    char::from_u32(u32::from(b'a') + letter)
}
