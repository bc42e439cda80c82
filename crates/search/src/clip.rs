//! Clips long lines around their first match.

use std::borrow::Cow;

use hermes_text::codec::{TextFormat, detect_format};

use crate::lines::FileLine;

/// Characters shown of a line.
pub(crate) const MAX_LINE_CHARS: usize = 500;
/// Characters shown before the match of a longer line.
const LEAD_CHARS: usize = 100;
/// Maximum number of bytes in a character.
const MAX_CHAR_BYTES: usize = 4;
/// Marks an omitted part.
const GAP_MARK: char = '…';

/// Clips a line without its terminator. `matches` are byte ranges in order; one
/// may extend past the terminator.
pub(crate) fn clip(number: u64, bytes: &[u8], matches: &[(usize, usize)]) -> FileLine {
    let format = LineEncoding::detect(bytes);
    let first = matches.first().map_or(0, |&(start, _)| start.min(bytes.len()));
    let (head, tail) = bytes.split_at(first);
    let column = if matches.is_empty() { 0 } else { format.count(head) as u64 + 1 };
    let (mut text, starts_inside) =
        format.last_chars(head, if is_short(bytes) { MAX_LINE_CHARS } else { LEAD_CHARS });
    let before = text.chars().count() + usize::from(starts_inside);
    if starts_inside {
        text.insert(0, GAP_MARK);
    }
    let (rest, ends_inside) = format.first_chars(tail, MAX_LINE_CHARS.saturating_sub(before));
    let shown = before + rest.chars().count();
    text.push_str(&rest);
    if ends_inside {
        text.push(GAP_MARK);
    }
    let place = |at: usize| {
        let matched = bytes.get(first..at.min(bytes.len()));
        before + format.count(matched.unwrap_or_default())
    };
    let ranges = matches
        .iter()
        .map(|&(start, end)| (place(start), place(end).min(shown)))
        .filter(|&(start, end)| start <= end && start <= shown)
        .collect();
    FileLine { number, text, ranges, column, is_clipped: starts_inside || ends_inside }
}

/// Nothing is shown past this many bytes after the first match.
pub(crate) const MAX_SHOWN_BYTES: usize = MAX_LINE_CHARS * MAX_CHAR_BYTES;

fn is_short(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_LINE_CHARS
}

/// How the bytes of a line are decoded.
#[derive(Clone, Copy)]
enum LineEncoding {
    Plain,
    Other(TextFormat),
}

impl LineEncoding {
    fn detect(bytes: &[u8]) -> Self {
        let sample = bytes.get(..MAX_LINE_CHARS * MAX_CHAR_BYTES * 2).unwrap_or(bytes);
        match std::str::from_utf8(sample) {
            Ok(_) => Self::Plain,
            // The sample ends inside a character.
            Err(error) if error.error_len().is_none() && sample.len() < bytes.len() => Self::Plain,
            Err(_) => {
                let format = detect_format(sample, sample.len() == bytes.len());
                if format == TextFormat::PLAIN_UTF8 { Self::Plain } else { Self::Other(format) }
            }
        }
    }

    fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Plain => String::from_utf8_lossy(bytes),
            Self::Other(format) => format.decode(bytes).text,
        }
    }

    fn count(self, bytes: &[u8]) -> usize {
        match std::str::from_utf8(bytes) {
            Ok(text) => text.chars().count(),
            Err(_) => self.decode(bytes).chars().count(),
        }
    }

    /// Returns the last characters, and whether more precede them.
    fn last_chars(self, bytes: &[u8], most: usize) -> (String, bool) {
        let from = bytes.len().saturating_sub(most * MAX_CHAR_BYTES);
        let from = (from..bytes.len()).find(|&at| is_char_start(bytes, at)).unwrap_or(from);
        let text = self.decode(bytes.get(from..).unwrap_or_default());
        let over = text.chars().count().saturating_sub(most);
        let text: String = text.chars().skip(over).collect();
        (text, from > 0 || over > 0)
    }

    /// Returns the first characters, and whether more follow.
    fn first_chars(self, bytes: &[u8], most: usize) -> (String, bool) {
        let mut to = bytes.len().min(most * MAX_CHAR_BYTES);
        for _ in 1..MAX_CHAR_BYTES {
            to -= usize::from(to > 0 && to < bytes.len() && !is_char_start(bytes, to));
        }
        let text = self.decode(bytes.get(..to).unwrap_or_default());
        let over = text.chars().count() > most;
        let text: String = text.chars().take(most).collect();
        (text, to < bytes.len() || over)
    }
}

/// Whether a UTF-8 character can begin at `at`.
fn is_char_start(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

#[cfg(test)]
#[path = "clip_tests.rs"]
mod tests;
