//! UTF-16 that begins with no mark, in whatever script: told by the blanks and
//! line ends that every text has, and by what it would be a text of.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use crate::binary;

/// Characters that pass for UTF-16 without a blank or an end of a line among
/// them: in less, a zero byte or two make the pattern by chance.
const FEWEST: usize = 8;
/// Characters of which some are blanks.
const LONG: usize = 64;

/// Scripts that one text is written in at most, beside the Latin one. Numbers
/// that look like characters are of many.
const SCRIPTS: usize = 2;

/// Whether text that begins so may be UTF-16 without a mark. It takes a look at
/// the beginning only, and no decision.
pub fn may_be_wide(sample: &[u8]) -> bool {
    let head = sample.get(..binary::HEAD).unwrap_or(sample);
    // Text has no character that is nothing.
    memchr::memchr(0, head).is_some() && !head.chunks_exact(2).any(|pair| *pair == [0, 0])
}

/// The byte order of UTF-16 without a mark, if it is that. All that it decodes
/// to must be printable, and either most of it Latin or the words of few
/// scripts. Without a single zero byte it may as well be in another encoding.
pub(crate) fn without_mark(sample: &[u8], complete: bool) -> Option<&'static Encoding> {
    let is_odd = complete && !sample.len().is_multiple_of(2);
    if is_odd || !may_be_wide(sample) {
        return None;
    }
    let body = sample.get(..sample.len() / 2 * 2)?;
    let read =
        [UTF_16LE, UTF_16BE].map(|encoding| Some((encoding, Text::of(body, encoding, complete)?)));
    let likely = read.into_iter().flatten().filter(|(_, text)| text.is_likely());
    likely.max_by_key(|(_, text)| text.plain).map(|(encoding, _)| encoding)
}

/// What bytes decode to.
#[derive(Debug, Default)]
struct Text {
    /// Characters.
    all: usize,
    /// Those of ASCII.
    plain: usize,
    /// Those of Latin writing.
    latin: usize,
    /// Blanks and ends of lines.
    gaps: usize,
    /// What hardly any text holds.
    rare: usize,
    /// Those that are two letters of ASCII, read as one.
    pairs: usize,
    /// The other scripts, each once.
    scripts: Vec<u32>,
}

impl Text {
    /// None if it cannot be text.
    fn of(body: &[u8], encoding: &'static Encoding, complete: bool) -> Option<Self> {
        let text = encoding.decode_without_bom_handling(body).0;
        // A sample may be cut between the halves of a pair: then one bad end is no sign.
        let cut = if complete { None } else { text.strip_suffix('\u{FFFD}') };
        let mut found = Self::default();
        for c in cut.unwrap_or(&text).chars() {
            found.take(c)?;
        }
        Some(found)
    }

    fn take(&mut self, c: char) -> Option<()> {
        // What stands between the words, also of those who write no blanks.
        let is_gap = matches!(
            c,
            '\t' | '\n' | '\r' | ' ' | '\u{3000}'..='\u{3002}' | '\u{FF01}' | '\u{FF0C}'
        );
        let is_layout = is_gap || matches!(c, '\x0B' | '\x0C');
        if c == '\u{FFFD}' || c.is_control() && !is_layout {
            return None;
        }
        self.all += 1;
        self.plain += usize::from(c.is_ascii());
        self.gaps += usize::from(is_gap);
        self.pairs += usize::from(is_pair(c));
        match script(c) {
            Script::None => {}
            Script::Latin => self.latin += 1,
            Script::Rare => self.rare += 1,
            Script::Other(script) => {
                if !self.scripts.contains(&script) {
                    self.scripts.push(script);
                }
            }
        }
        Some(())
    }

    fn is_likely(&self) -> bool {
        // Small numbers are letters that no language has by themselves.
        let is_latin =
            (self.latin + self.gaps) * 10 >= self.all * 7 && self.plain * 10 >= self.all * 3;
        let is_prose = self.gaps > 0 && self.scripts.len() <= SCRIPTS;
        let is_long = self.all >= LONG && self.plain * 10 < self.all * 9;
        let is_short = self.all < FEWEST;
        let is_broken = self.gaps > 0 && (!is_long || self.gaps * 200 >= self.all);
        // A few letters and a zero are a line that somebody has ended twice.
        let is_ascii = self.pairs * if is_short { 3 } else { 2 } > self.all;
        let is_plausible = is_latin || is_prose;
        let is_even = is_broken || !is_long && !is_short;
        self.rare * 50 <= self.all && !is_ascii && is_plausible && is_even
    }
}

/// Whether both bytes of a character are printable ASCII. Kana are, too, and
/// nobody writes two letters of which one is always a zero.
fn is_pair(c: char) -> bool {
    let [_, plane, high, low] = u32::from(c).to_be_bytes();
    let is_printable = |byte: u8| matches!(byte, b' '..=b'~');
    plane == 0 && high != b'0' && is_printable(high) && is_printable(low)
}

enum Script {
    /// Blanks, marks and pictures, which are in texts of every script.
    None,
    Latin,
    Other(u32),
    /// No character, or one that is the other half of a common one.
    Rare,
}

fn script(c: char) -> Script {
    let code = u32::from(c);
    match code {
        0..=0x20 | 0xA0 | 0x300..=0x36F => Script::None,
        // Ends of lines, tabs and blanks, read the wrong way round.
        0x0900 | 0x0A00 | 0x0D00 | 0x2000..=0x2008 => Script::Rare,
        0x21..=0x2FF | 0x1E00..=0x1EFF => Script::Latin,
        0x370..=0x3FF | 0x1F00..=0x1FFF => Script::Other(0x370),
        0x400..=0x52F => Script::Other(0x400),
        0x600..=0x6FF | 0x750..=0x77F | 0x8A0..=0x8FF | 0xFB50..=0xFDFF | 0xFE70..=0xFEFC => {
            Script::Other(0x600)
        }
        0x530..=0x5FF => Script::Other(if code < 0x590 { 0x530 } else { 0x590 }),
        // Each of these has half a page, or a whole one.
        0x700..=0x74F | 0x780..=0xEFF | 0x1780..=0x18AF => Script::Other(code / 0x80 * 0x80),
        0xF00..=0x10FF | 0x1200..=0x139F => Script::Other(code / 0x100 * 0x100),
        // Chinese, Japanese and Korean are mixed in one text.
        0x1100..=0x11FF | 0x3040..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF => {
            Script::Other(0x3040)
        }
        0x2009..=0x2BFF | 0x3000..=0x303F | 0xFE00..=0xFE4F | 0xFF00..=0xFFEF => Script::None,
        0x1F000..=0x1FAFF | 0x1D400..=0x1D7FF | 0xE0020..=0xE01EF => Script::None,
        0x2_0000..=0x3_FFFF => Script::Other(0x3040),
        _ => Script::Rare,
    }
}

#[cfg(test)]
#[path = "wide_tests.rs"]
mod tests;
