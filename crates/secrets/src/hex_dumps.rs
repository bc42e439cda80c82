//! Bytes shown as hex digits: the dumps of `xxd`, `od` and `hexdump`, and lists
//! such as `76:61`.

use std::ops::Range;

/// Shorter values are not searched for in dumps.
pub(crate) const MIN_VALUE_BYTES: usize = 8;

/// Bytes inspected at a time. Even the shortest dumped value contains one whole
/// window, wherever it begins.
const WINDOW_BYTES: usize = 12;
const WINDOW_STEP: usize = 8;

/// Longer runs of separators do not belong to a dump.
const MAX_SEPARATOR_CHARS: usize = 4;

/// A line that begins with this many digits begins with an offset.
const MIN_OFFSET_DIGITS: usize = 6;
/// Bytes per line of a dump with offsets. A text column follows.
const LINE_BYTES: usize = 16;

/// Consecutive bytes of a dump, with their positions in the text.
#[derive(Debug, Default)]
pub(crate) struct DumpedBytes {
    pub(crate) bytes: Vec<u8>,
    positions: Vec<(usize, usize)>,
}

impl DumpedBytes {
    /// Adds the bytes that these digits encode.
    fn push_hex(&mut self, line: &[u8], at: usize, digits: usize, start: usize) {
        let pairs = line.get(at..at + digits).unwrap_or_default().chunks(2);
        for (number, pair) in pairs.enumerate() {
            let byte = std::str::from_utf8(pair).ok().map(|pair| u8::from_str_radix(pair, 16));
            let place = start + at + number * 2;
            self.bytes.push(byte.and_then(Result::ok).unwrap_or_default());
            self.positions.push((place, place + 2));
        }
    }

    /// Adds a byte that this range of the text shows.
    pub(crate) fn push(&mut self, byte: u8, start: usize, end: usize) {
        self.bytes.push(byte);
        self.positions.push((start, end));
    }

    /// Extends the ranges of the last `count` bytes, whose line shows them
    /// again.
    pub(crate) fn extend_last(&mut self, count: usize, end: usize) {
        self.positions.iter_mut().rev().take(count).for_each(|(_, to)| *to = end);
    }

    /// Returns the range of the text that shows these bytes.
    pub(crate) fn range(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        let (start, _) = self.positions.get(from)?;
        let (_, end) = self.positions.get(to.checked_sub(1)?)?;
        Some((*start, *end))
    }
}

/// Whether a text may contain a dump.
pub(crate) fn may_contain_dump(text: &str) -> bool {
    find_window(text.as_bytes()).is_some()
}

/// Returns the position of what may be part of a dump. This runs on every text,
/// so it has to be fast: nearly every eight characters of other text include
/// one beyond the hex digits.
pub(crate) fn find_window(bytes: &[u8]) -> Option<usize> {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    const PAST_HEX_DIGITS: u64 = 0x1919_1919_1919_1919; // From `g` on, the sum sets the high bit.
    let (eights, _) = bytes.as_chunks::<WINDOW_STEP>();
    let number = eights.iter().enumerate().position(|(number, eight)| {
        let eight = u64::from_ne_bytes(*eight);
        if (((eight & !HIGH_BITS) + PAST_HEX_DIGITS) | eight) & HIGH_BITS != 0 {
            return false;
        }
        let glance = bytes
            .get(number * WINDOW_STEP..number * WINDOW_STEP + WINDOW_BYTES)
            .unwrap_or_default();
        !glance.is_empty()
            && glance.iter().all(|byte| IS_DUMP_CHAR[usize::from(*byte)])
            && (is_regular_hex(glance) || is_regular_number(glance))
    })?;
    Some(number * WINDOW_STEP)
}

/// Returns the lines around what `find` finds, each with the line after it,
/// which may be too short to be recognized.
pub(crate) fn dump_regions(text: &str, find: fn(&[u8]) -> Option<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let rest_at = |at: usize| bytes.get(at..).unwrap_or_default();
    let line_end =
        |at: usize| memchr::memchr(b'\n', rest_at(at)).map_or(bytes.len(), |n| at + n + 1);
    let mut regions: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(found) = find(rest_at(at)) {
        let found = at + found;
        let before = bytes.get(at..found).unwrap_or_default();
        let start = memchr::memrchr(b'\n', before).map_or(at, |n| at + n + 1);
        at = line_end(found);
        let end = line_end(at);
        match regions.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => regions.push(start..end),
        }
    }
    regions
}

/// The characters of dumps.
const IS_DUMP_CHAR: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = (byte as u8).is_ascii_hexdigit() || is_separator(byte as u8);
        byte += 1;
    }
    table
};

const fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b',' | b':' | b'-' | b'\t' | b';' | b'\\' | b'\n' | b'|')
}

/// Whether digits come in twos or fours (hexadecimal), in threes (octal) or in
/// eights (binary), always with the same separator.
fn is_regular_hex(glance: &[u8]) -> bool {
    let each = |period: usize| {
        (0..period).any(|phase| {
            let mut between = glance.iter().skip(phase).step_by(period);
            let Some(first) = between.next().filter(|byte| !byte.is_ascii_hexdigit()) else {
                return false;
            };
            let is_digit = |(at, byte): (usize, &u8)| {
                at % period == phase % period || byte.is_ascii_hexdigit()
            };
            between.all(|byte| byte == first) && glance.iter().enumerate().all(is_digit)
        })
    };
    each(3) || each(4) || each(5) || each(9)
}

/// Whether these are decimal numbers of up to three digits, as in `[86, 45]`.
fn is_regular_number(glance: &[u8]) -> bool {
    let mut groups = glance.split(|byte| matches!(byte, b' ' | b','));
    glance.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b','))
        && groups.all(|group| group.len() <= 3)
        && glance.iter().filter(|byte| byte.is_ascii_digit()).count() >= 6
}

/// Returns the bytes that a part of a text shows, which begins at `start`.
pub(crate) fn dumped_bytes(text: &str, start: usize) -> Vec<DumpedBytes> {
    let mut rows = vec![DumpedBytes::default()];
    let mut start = start;
    for line in text.split_inclusive('\n').flat_map(|line| line.split_inclusive("\\n")) {
        read_line(line.as_bytes(), start, &mut rows);
        start += line.len();
    }
    rows.retain(|row| row.bytes.len() >= MIN_VALUE_BYTES);
    rows
}

/// Adds the bytes of a line. They may continue on the next one.
fn read_line(line: &[u8], start: usize, rows: &mut Vec<DumpedBytes>) {
    let end = line.strip_suffix(b"\\n").unwrap_or(line).trim_ascii_end().len();
    let line = line.get(..end).unwrap_or_default();
    let mut at = line.iter().take_while(|byte| !byte.is_ascii_alphanumeric()).count();
    let digits = digits_at(line, at);
    let is_placed =
        digits >= MIN_OFFSET_DIGITS && matches!(line.get(at + digits), Some(b':' | b' '));
    if is_placed {
        at += digits + 1;
    }
    let mut count = 0;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let between = separator_length(rest);
        let digits = digits_at(line, at + between);
        let fits = between <= MAX_SEPARATOR_CHARS && digits > 0 && digits.is_multiple_of(2);
        let is_full = is_placed && count + digits / 2 > LINE_BYTES;
        let Some(row) = rows.last_mut() else { return };
        if fits && !is_full {
            row.push_hex(line, at + between, digits, start);
            at += between + digits;
            count += digits / 2;
            continue;
        }
        if is_placed && count > 0 {
            // The rest of the line shows the same bytes as text.
            row.extend_last(count, start + end);
            return;
        }
        if between == rest.len() {
            return;
        }
        if !row.bytes.is_empty() {
            rows.push(DumpedBytes::default());
        }
        let other = rest.iter().skip(between).take_while(|byte| byte.is_ascii_alphanumeric());
        at += between + other.count().max(1);
        count = 0;
    }
}

/// Counts the separators before the next digits.
fn separator_length(rest: &[u8]) -> usize {
    rest.iter().take_while(|byte| is_separator(**byte)).count()
}

/// Counts the hex digits from here to the end of the word; 0 if other letters
/// follow.
fn digits_at(line: &[u8], at: usize) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let ends = rest.get(digits).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    if ends { digits } else { 0 }
}

#[cfg(test)]
#[path = "hex_dumps_tests.rs"]
mod tests;
