//! Bytes shown as octal, decimal or binary numbers, or character by character:
//! the dumps of `od -b`, `od -tu1`, `od -c` and `xxd -b`, and lists such as
//! `[86, 45]`.

use crate::hex_dumps::{DumpedBytes, MIN_VALUE_BYTES};

/// The width of a character in the output of `od -c`.
const CELL_CHARS: usize = 4;

/// A line that begins with this many digits begins with an offset.
const MIN_OFFSET_DIGITS: usize = 6;

/// Bytes per line of `xxd -b`. A text column follows.
const BINARY_LINE_BYTES: usize = 6;

/// The notations of numbers, each read on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteNotation {
    Octal,
    Decimal,
    Binary,
}

impl ByteNotation {
    /// Returns the byte that the digits stand for.
    fn parse(self, digits: &str) -> Option<u8> {
        let (radix, fits) = match self {
            Self::Octal => (8, digits.len() == 3),
            Self::Decimal => (10, digits.len() <= 3),
            Self::Binary => (2, digits.len() == 8),
        };
        fits.then(|| u8::from_str_radix(digits, radix).ok()).flatten()
    }
}

/// Returns the position of what may be the output of `od -c`: two characters
/// with three blanks before each. This runs on every text, so it has to be fast.
pub(crate) fn find_cells(bytes: &[u8]) -> Option<usize> {
    const BLANKS: u64 = 0x2020_2020_2020_2020;
    const CELL_MASKS: [u64; CELL_CHARS] = [
        0x0000_00ff_0000_00ff,
        0x0000_ff00_0000_ff00,
        0x00ff_0000_00ff_0000,
        0xff00_0000_ff00_0000,
    ];
    let (eights, _) = bytes.as_chunks::<8>();
    let number = eights.iter().position(|eight| {
        let signs = u64::from_ne_bytes(*eight) ^ BLANKS;
        let halves = (signs as u32, (signs >> 32) as u32);
        halves.0 != 0 && halves.1 != 0 && CELL_MASKS.iter().any(|mask| signs & !mask == 0)
    })?;
    Some(number * 8)
}

/// Returns the bytes shown as numbers in a part of a text, which begins at
/// `start`.
pub(crate) fn numbered_bytes(text: &str, start: usize) -> Vec<DumpedBytes> {
    let notations = [ByteNotation::Octal, ByteNotation::Decimal, ByteNotation::Binary];
    notations.into_iter().flat_map(|notation| read_numbers(text, start, notation)).collect()
}

fn read_numbers(text: &str, start: usize, notation: ByteNotation) -> Vec<DumpedBytes> {
    let mut rows = vec![DumpedBytes::default()];
    let mut start = start;
    for line in text.split_inclusive('\n') {
        let mut count = 0;
        let mut is_offset = true;
        let mut at = 0;
        for piece in line.split_inclusive(is_separator) {
            let word = piece.trim_end_matches(is_separator);
            let begin = start + at;
            at += piece.len();
            if word.is_empty() {
                continue;
            }
            let is_first = std::mem::take(&mut is_offset);
            let is_placed = piece.ends_with(':') || notation.parse(word).is_none();
            if is_first && is_placed && word.len() >= MIN_OFFSET_DIGITS {
                continue;
            }
            let is_full = notation == ByteNotation::Binary && count == BINARY_LINE_BYTES;
            match notation.parse(word).filter(|_| !is_full) {
                Some(byte) => {
                    count += 1;
                    if let Some(row) = rows.last_mut() {
                        row.push(byte, begin, begin + word.len());
                    }
                }
                None if notation == ByteNotation::Binary && count > 0 => {
                    // The rest of the line shows the same bytes as text.
                    if let Some(row) = rows.last_mut() {
                        row.extend_last(count, start + line.trim_ascii_end().len());
                    }
                    break;
                }
                None => begin_row(&mut rows),
            }
        }
        start += line.len();
    }
    rows.retain(|row| row.bytes.len() >= MIN_VALUE_BYTES);
    rows
}

/// Ends a row of bytes, if there are any.
fn begin_row(rows: &mut Vec<DumpedBytes>) {
    if rows.last().is_none_or(|row| !row.bytes.is_empty()) {
        rows.push(DumpedBytes::default());
    }
}

fn is_separator(c: char) -> bool {
    c.is_ascii_whitespace() || matches!(c, ',' | ';' | ':' | '[' | ']' | '(' | ')' | '{' | '}')
}

/// Returns the bytes shown as characters in a part of a text, which begins at
/// `start`.
pub(crate) fn character_bytes(text: &str, start: usize) -> Vec<DumpedBytes> {
    let mut rows = vec![DumpedBytes::default()];
    let mut start = start;
    for line in text.split_inclusive('\n') {
        let bytes = line.trim_end_matches(['\n', '\r']).as_bytes();
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let offset = if digits >= MIN_OFFSET_DIGITS { digits } else { 0 };
        let cells = bytes.get(offset..).unwrap_or_default().chunks(CELL_CHARS).enumerate();
        for (number, cell) in cells {
            let Some(row) = rows.last_mut() else { break };
            let begin = start + offset + number * CELL_CHARS;
            match shown_byte(cell) {
                Some(byte) => row.push(byte, begin, begin + CELL_CHARS),
                None => {
                    begin_row(&mut rows);
                    break;
                }
            }
        }
        start += line.len();
    }
    rows.retain(|row| row.bytes.len() >= MIN_VALUE_BYTES);
    rows
}

/// Returns the byte of a cell: `   a`, `  \n`, ` 303`.
fn shown_byte(cell: &[u8]) -> Option<u8> {
    match cell {
        [b' ', b' ', b' ', sign @ b' '..=b'~'] => Some(*sign),
        [b' ', b' ', b'\\', sign] => Some(match sign {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            _ => 0,
        }),
        [b' ', digits @ ..] => ByteNotation::Octal.parse(std::str::from_utf8(digits).ok()?),
        _ => None,
    }
}

#[cfg(test)]
#[path = "number_dumps_tests.rs"]
mod tests;
