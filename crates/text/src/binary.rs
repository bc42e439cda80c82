//! Whether bytes are text at all, judged by what they decode to.

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};

use crate::codec::TextFormat;

/// How much is looked at for signs of binary data.
pub(crate) const SAMPLE_BYTES: usize = 8 * 1024;

/// Characters of a text that hardly ever have no blank between them.
const LONG_TEXT_CHARS: usize = 256;
/// Fewer say little of what is usual in them.
const MIN_JUDGED_CHARS: usize = 16;

const NOISE_REASON: &str = "it is full of control characters and invalid bytes";

/// Why bytes that would be text of this format are none. The format is a guess,
/// or what the file says of itself.
pub fn binary_reason(bytes: &[u8], format: TextFormat) -> Option<&'static str> {
    if !is_wide(format) && is_plain_ascii(bytes.get(..SAMPLE_BYTES).unwrap_or(bytes)) {
        return None;
    }
    let signs = match TextStatistics::collect(bytes, format) {
        Ok(signs) => signs,
        Err(reason) => return Some(reason),
    };
    // Well-formed UTF-8 hardly ever happens by chance, a single-byte encoding
    // accepts anything, and half of what UTF-16 does is not in use: so a guess
    // is held to a stricter measure.
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
    (is_byte_by_byte && signs.is_unbroken()).then_some("it has neither blanks nor ends of lines")
}

/// The same where somebody has said which encoding it is: only what is noise in
/// it is no text.
pub fn binary_reason_in_encoding(bytes: &[u8], format: TextFormat) -> Option<&'static str> {
    match TextStatistics::collect(bytes, format) {
        Ok(signs) => (signs.junk_chars * 100 > signs.total * 30).then_some(NOISE_REASON),
        Err(reason) => Some(reason),
    }
}

/// What speaks for and against text.
#[derive(Debug, Default)]
struct TextStatistics {
    total: usize,
    junk_chars: usize,
    /// Characters that nobody has given a meaning.
    private_chars: usize,
    /// Those beyond ASCII that are no letters.
    symbols: usize,
    whitespace: usize,
}

impl TextStatistics {
    /// The reason if the first look is enough.
    fn collect(bytes: &[u8], format: TextFormat) -> Result<Self, &'static str> {
        if bytes.starts_with(b"\xFF\xFE\0\0") || bytes.starts_with(b"\0\0\xFE\xFF") {
            return Err("it is UTF-32 text, which has to be converted first");
        }
        let head = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
        if !is_wide(format) && memchr::memchr(0, head).is_some() {
            return Err("it has zero bytes");
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

    /// Whether it goes on and on without a blank, as no writing of letters does
    /// for long, and none that is half signs.
    fn is_unbroken(&self) -> bool {
        let is_odd = self.total >= MIN_JUDGED_CHARS && self.symbols * 5 > self.total;
        self.whitespace == 0 && (self.total >= LONG_TEXT_CHARS && self.symbols > 0 || is_odd)
    }
}

/// Whether it is the plainest text there is, in which nothing is to be weighed.
fn is_plain_ascii(bytes: &[u8]) -> bool {
    let is_usual = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    // Without a way out in the middle, many are looked at in one step.
    bytes.iter().fold(true, |all, byte| all & is_usual(byte))
}

fn is_wide(format: TextFormat) -> bool {
    [UTF_16LE, UTF_16BE].contains(&format.encoding())
}

/// What text does not hold: controls beyond layout and terminal escapes.
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
