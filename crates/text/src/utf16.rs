//! Detects UTF-16 without a byte order mark by whitespace, line endings and the
//! scripts of the decoded text.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use crate::binary;

/// Minimum length of UTF-16 text without whitespace: in a shorter text, one or
/// two zero bytes can form the pattern by chance.
const MIN_CHARS_WITHOUT_GAP: usize = 8;
/// Minimum length of a text that must contain whitespace.
const LONG_TEXT_CHARS: usize = 64;

/// Maximum number of scripts in one text besides Latin. Binary numbers decode
/// to characters of many scripts.
const MAX_SCRIPTS: usize = 2;

/// Whether a text that begins with this sample may be UTF-16 without a mark.
/// Checks only the beginning; the result is not final.
pub fn may_be_utf16(sample: &[u8]) -> bool {
    let head = sample.get(..binary::SAMPLE_BYTES).unwrap_or(sample);
    // Text has no NUL characters.
    memchr::memchr(0, head).is_some() && !head.chunks_exact(2).any(|pair| *pair == [0, 0])
}

/// Returns the byte order of UTF-16 without a mark. All decoded text must be
/// printable, and either mostly Latin or words of few scripts. Without any zero
/// byte the encoding is ambiguous.
pub(crate) fn detect_without_bom(sample: &[u8], complete: bool) -> Option<&'static Encoding> {
    let is_odd = complete && !sample.len().is_multiple_of(2);
    if is_odd || !may_be_utf16(sample) {
        return None;
    }
    let body = sample.get(..sample.len() / 2 * 2)?;
    let read = [UTF_16LE, UTF_16BE]
        .map(|encoding| Some((encoding, Utf16Statistics::collect(body, encoding, complete)?)));
    let likely = read.into_iter().flatten().filter(|(_, text)| text.is_likely());
    likely.max_by_key(|(_, text)| text.ascii).map(|(encoding, _)| encoding)
}

/// Character statistics of decoded bytes.
#[derive(Debug, Default)]
struct Utf16Statistics {
    /// All characters.
    total: usize,
    /// ASCII characters.
    ascii: usize,
    /// Latin characters.
    latin: usize,
    /// Whitespace, line endings and CJK punctuation.
    whitespace: usize,
    /// Characters that are rare in any text.
    rare_chars: usize,
    /// Characters whose two bytes are both printable ASCII.
    ascii_pairs: usize,
    /// Other scripts, without duplicates.
    scripts: Vec<u32>,
}

impl Utf16Statistics {
    /// Collects the statistics. None if the bytes cannot be text.
    fn collect(body: &[u8], encoding: &'static Encoding, complete: bool) -> Option<Self> {
        let text = encoding.decode_without_bom_handling(body).0;
        // A sample may end inside a surrogate pair, so ignore one invalid
        // character at the end.
        let cut = if complete { None } else { text.strip_suffix('\u{FFFD}') };
        let mut found = Self::default();
        for c in cut.unwrap_or(&text).chars() {
            found.count_char(c)?;
        }
        Some(found)
    }

    fn count_char(&mut self, c: char) -> Option<()> {
        // Word separators, including those of scripts without spaces.
        let is_gap = matches!(
            c,
            '\t' | '\n' | '\r' | ' ' | '\u{3000}'..='\u{3002}' | '\u{FF01}' | '\u{FF0C}'
        );
        let is_layout = is_gap || matches!(c, '\x0B' | '\x0C');
        if c == '\u{FFFD}' || c.is_control() && !is_layout {
            return None;
        }
        self.total += 1;
        self.ascii += usize::from(c.is_ascii());
        self.whitespace += usize::from(is_gap);
        self.ascii_pairs += usize::from(is_ascii_pair(c));
        match char_script(c) {
            CharScript::None => {}
            CharScript::Latin => self.latin += 1,
            CharScript::Rare => self.rare_chars += 1,
            CharScript::Other(script) => {
                if !self.scripts.contains(&script) {
                    self.scripts.push(script);
                }
            }
        }
        Some(())
    }

    fn is_likely(&self) -> bool {
        // Small numbers decode to Latin letters that no language uses alone.
        let is_latin = (self.latin + self.whitespace) * 10 >= self.total * 7
            && self.ascii * 10 >= self.total * 3;
        let is_prose = self.whitespace > 0 && self.scripts.len() <= MAX_SCRIPTS;
        let is_long = self.total >= LONG_TEXT_CHARS && self.ascii * 10 < self.total * 9;
        let is_short = self.total < MIN_CHARS_WITHOUT_GAP;
        let is_broken = self.whitespace > 0 && (!is_long || self.whitespace * 200 >= self.total);
        // A few letters and a zero byte are a line with a stray terminator.
        let is_ascii = self.ascii_pairs * if is_short { 3 } else { 2 } > self.total;
        let is_plausible = is_latin || is_prose;
        let is_even = is_broken || !is_long && !is_short;
        self.rare_chars * 50 <= self.total && !is_ascii && is_plausible && is_even
    }
}

/// Whether both bytes of a character are printable ASCII. Kana are excluded:
/// their high byte is `0`, and no ASCII text has a `0` in every other position.
fn is_ascii_pair(c: char) -> bool {
    let [_, plane, high, low] = u32::from(c).to_be_bytes();
    let is_printable = |byte: u8| matches!(byte, b' '..=b'~');
    plane == 0 && high != b'0' && is_printable(high) && is_printable(low)
}

enum CharScript {
    /// Whitespace, marks and symbols, which occur in every script.
    None,
    Latin,
    Other(u32),
    /// Unassigned, or a common character with its bytes swapped.
    Rare,
}

fn char_script(c: char) -> CharScript {
    let code = u32::from(c);
    match code {
        0..=0x20 | 0xA0 | 0x300..=0x36F => CharScript::None,
        // Line endings, tabs and spaces with swapped bytes.
        0x0900 | 0x0A00 | 0x0D00 | 0x2000..=0x2008 => CharScript::Rare,
        0x21..=0x2FF | 0x1E00..=0x1EFF => CharScript::Latin,
        0x370..=0x3FF | 0x1F00..=0x1FFF => CharScript::Other(0x370),
        0x400..=0x52F => CharScript::Other(0x400),
        0x600..=0x6FF | 0x750..=0x77F | 0x8A0..=0x8FF | 0xFB50..=0xFDFF | 0xFE70..=0xFEFC => {
            CharScript::Other(0x600)
        }
        0x530..=0x5FF => CharScript::Other(if code < 0x590 { 0x530 } else { 0x590 }),
        // Each of these scripts has 128 or 256 code points.
        0x700..=0x74F | 0x780..=0xEFF | 0x1780..=0x18AF => CharScript::Other(code / 0x80 * 0x80),
        0xF00..=0x10FF | 0x1200..=0x139F => CharScript::Other(code / 0x100 * 0x100),
        // Chinese, Japanese and Korean count as one script, since texts mix
        // them.
        0x1100..=0x11FF | 0x3040..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF => {
            CharScript::Other(0x3040)
        }
        0x2009..=0x2BFF | 0x3000..=0x303F | 0xFE00..=0xFE4F | 0xFF00..=0xFFEF => CharScript::None,
        0x1F000..=0x1FAFF | 0x1D400..=0x1D7FF | 0xE0020..=0xE01EF => CharScript::None,
        0x2_0000..=0x3_FFFF => CharScript::Other(0x3040),
        _ => CharScript::Rare,
    }
}

#[cfg(test)]
#[path = "utf16_tests.rs"]
mod tests;
