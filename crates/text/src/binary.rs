//! Detects binary data by what the bytes decode to.

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};

use crate::codec::TextFormat;

/// Number of bytes examined for signs of binary data.
pub(crate) const SAMPLE_BYTES: usize = 8 * 1024;

/// Text of this length almost always contains whitespace.
const LONG_TEXT_CHARS: usize = 256;
/// Shorter texts are too short for statistics.
const MIN_JUDGED_CHARS: usize = 16;

const NOISE_REASON: &str = "it consists largely of control characters and invalid bytes";

/// Returns why bytes in this format are binary; None if they are text. The
/// format is a guess, or declared by the file.
pub fn binary_reason(bytes: &[u8], format: TextFormat) -> Option<&'static str> {
    if !is_wide(format) && is_plain_ascii(bytes.get(..SAMPLE_BYTES).unwrap_or(bytes)) {
        return None;
    }
    let signs = match TextStatistics::collect(bytes, format) {
        Ok(signs) => signs,
        Err(reason) => return Some(reason),
    };
    // Well-formed UTF-8 is rare by chance, a single-byte encoding accepts
    // anything, and half of the UTF-16 code space is unused: so a guess needs a
    // stricter limit.
    let percent = match is_wide(format) {
        true if signs.total >= LONG_TEXT_CHARS => 8,
        true => 30,
        false if format.encoding() == UTF_8 => 30,
        false => 5,
    };
    let junk = signs.junk_chars + if is_wide(format) { signs.private_chars } else { 0 };
    if junk * 100 > signs.total * percent {
        return Some(NOISE_REASON);
    }
    let is_byte_by_byte = format.encoding().is_single_byte();
    (is_byte_by_byte && signs.is_unbroken()).then_some("it has neither blanks nor line breaks")
}

/// Like [`binary_reason`] for an encoding given by the caller: only noise
/// counts as binary.
pub fn binary_reason_in_encoding(bytes: &[u8], format: TextFormat) -> Option<&'static str> {
    match TextStatistics::collect(bytes, format) {
        Ok(signs) => (signs.junk_chars * 100 > signs.total * 30).then_some(NOISE_REASON),
        Err(reason) => Some(reason),
    }
}

/// Character counts that distinguish text from binary data.
#[derive(Debug, Default)]
struct TextStatistics {
    total: usize,
    junk_chars: usize,
    /// Private-use characters and noncharacters.
    private_chars: usize,
    /// Non-ASCII characters that are not alphanumeric.
    symbols: usize,
    whitespace: usize,
}

impl TextStatistics {
    /// Counts characters; returns the reason at once if the bytes are clearly
    /// binary.
    fn collect(bytes: &[u8], format: TextFormat) -> Result<Self, &'static str> {
        if bytes.starts_with(b"\xFF\xFE\0\0") || bytes.starts_with(b"\0\0\xFE\xFF") {
            return Err("it is UTF-32 text, which must be converted first");
        }
        let head = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
        if !is_wide(format) && memchr::memchr(0, head).is_some() {
            return Err("it contains NUL bytes");
        }
        let mut signs = Self::default();
        for c in format.decode(head).text.chars() {
            signs.total += 1;
            signs.junk_chars += usize::from(is_junk(c));
            signs.private_chars += usize::from(is_private(c));
            signs.symbols += usize::from(!c.is_ascii() && !c.is_alphanumeric());
            signs.whitespace += usize::from(c.is_ascii_whitespace());
        }
        Ok(signs)
    }

    /// Whether the text is too long without whitespace for any script, or has
    /// too many symbols for that.
    fn is_unbroken(&self) -> bool {
        let is_odd = self.total >= MIN_JUDGED_CHARS && self.symbols * 5 > self.total;
        self.whitespace == 0 && (self.total >= LONG_TEXT_CHARS && self.symbols > 0 || is_odd)
    }
}

/// Whether the bytes are printable ASCII, which needs no statistics.
fn is_plain_ascii(bytes: &[u8]) -> bool {
    let is_usual = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    // Without an early exit the loop vectorizes.
    bytes.iter().fold(true, |all, byte| all & is_usual(byte))
}

fn is_wide(format: TextFormat) -> bool {
    [UTF_16LE, UTF_16BE].contains(&format.encoding())
}

/// Whether text does not contain this character: control characters other than
/// layout and terminal escapes.
fn is_junk(c: char) -> bool {
    let is_layout = matches!(c, '\t' | '\n' | '\x0B' | '\x0C' | '\r' | '\x08' | '\x1B');
    c == '\u{FFFD}' || c.is_control() && !is_layout
}

fn is_private(c: char) -> bool {
    let is_none = u32::from(c) & 0xFFFE == 0xFFFE || matches!(c, '\u{FDD0}'..='\u{FDEF}');
    is_none || matches!(c, '\u{E000}'..='\u{F8FF}')
}

#[cfg(test)]
#[path = "binary_tests.rs"]
mod tests;
