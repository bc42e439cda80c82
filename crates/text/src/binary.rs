//! Whether bytes are text at all, judged by what they decode to.

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};

use crate::codec::TextFormat;

/// How much is looked at for signs of binary data.
pub(crate) const HEAD: usize = 8 * 1024;

/// Why bytes that would be text of this format are none.
pub fn reason(bytes: &[u8], format: TextFormat) -> Option<&'static str> {
    if bytes.starts_with(b"\xFF\xFE\0\0") || bytes.starts_with(b"\0\0\xFE\xFF") {
        return Some("it is UTF-32 text, which has to be converted first");
    }
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let wide = [UTF_16LE, UTF_16BE].contains(&format.encoding());
    if !wide && memchr::memchr(0, head).is_some() {
        return Some("it has zero bytes");
    }
    let (mut all, mut junk) = (0_usize, 0_usize);
    for c in format.decode(head).text.chars() {
        all += 1;
        junk += usize::from(is_junk(c));
    }
    // Well-formed UTF-8 hardly ever happens by chance, a single-byte encoding
    // accepts anything: so a guess is held to a stricter measure.
    let percent = if wide || format.encoding() == UTF_8 { 30 } else { 5 };
    (junk * 100 > all * percent).then_some("it is full of control characters and invalid bytes")
}

/// What text does not hold: controls beyond layout and terminal escapes.
fn is_junk(c: char) -> bool {
    c == '\u{FFFD}' || c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0C' | '\x08' | '\x1B')
}
