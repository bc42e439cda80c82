//! Bytes that are shown as digits: the dumps of `xxd`, `od` and `hexdump`, and
//! lists such as `76:61`.

/// A shorter value is not looked for in them.
pub(crate) const SHORTEST: usize = 8;

/// So much is looked at at a time. The least that such a value takes up holds
/// one look wherever it begins.
const GLANCE: usize = 12;
const STEP: usize = 8;

/// More signs than these between two bytes are something else.
const MOST_BETWEEN: usize = 4;

/// So many digits in a row tell where in a file a line is.
const SHORTEST_PLACE: usize = 6;
/// The bytes of a line that begins with its place. What follows are letters.
const BYTES_OF_LINE: usize = 16;

/// Bytes in a row, each with where it is written.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl Row {
    /// Adds the bytes that these digits stand for.
    fn read(&mut self, line: &[u8], at: usize, digits: usize, start: usize) {
        let pairs = line.get(at..at + digits).unwrap_or_default().chunks(2);
        for (number, pair) in pairs.enumerate() {
            let byte = std::str::from_utf8(pair).ok().map(|pair| u8::from_str_radix(pair, 16));
            let place = start + at + number * 2;
            self.bytes.push(byte.and_then(Result::ok).unwrap_or_default());
            self.places.push((place, place + 2));
        }
    }

    /// Where these bytes of it are written.
    pub(crate) fn range(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        let (start, _) = self.places.get(from)?;
        let (_, end) = self.places.get(to.checked_sub(1)?)?;
        Some((*start, *end))
    }
}

/// Whether there may be a dump in a text. It is asked of all that is read, so
/// that it has to be quick: among eight signs of other text there is nearly
/// always one beyond those of digits.
pub(crate) fn is_suspected(text: &str) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const BEYOND: u64 = 0x1919_1919_1919_1919; // From `g` on, the sum is high.
    let bytes = text.as_bytes();
    let (eights, _) = bytes.as_chunks::<STEP>();
    eights.iter().enumerate().any(|(number, eight)| {
        let eight = u64::from_ne_bytes(*eight);
        if (((eight & !HIGH) + BEYOND) | eight) & HIGH != 0 {
            return false;
        }
        let glance = bytes.get(number * STEP..number * STEP + GLANCE).unwrap_or_default();
        !glance.is_empty()
            && glance.iter().all(|byte| OF_DUMP[usize::from(*byte)])
            && is_regular(glance)
    })
}

/// The signs of dumps.
const OF_DUMP: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = (byte as u8).is_ascii_hexdigit() || is_between(byte as u8);
        byte += 1;
    }
    table
};

const fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b',' | b':' | b'-' | b'\t' | b';' | b'\\' | b'\n' | b'|')
}

/// Whether digits come in twos or fours, always with the same sign between.
fn is_regular(glance: &[u8]) -> bool {
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
    each(3) || each(5)
}

/// The bytes that are shown in a text.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let mut rows = vec![Row::default()];
    let mut start = 0;
    for line in text.split_inclusive('\n').flat_map(|line| line.split_inclusive("\\n")) {
        read_line(line.as_bytes(), start, &mut rows);
        start += line.len();
    }
    rows.retain(|row| row.bytes.len() >= SHORTEST);
    rows
}

/// Adds the bytes of a line. They may go on in the next one.
fn read_line(line: &[u8], start: usize, rows: &mut Vec<Row>) {
    let end = line.strip_suffix(b"\\n").unwrap_or(line).trim_ascii_end().len();
    let line = line.get(..end).unwrap_or_default();
    let mut at = line.iter().take_while(|byte| !byte.is_ascii_alphanumeric()).count();
    let digits = digits_at(line, at);
    let is_placed = digits >= SHORTEST_PLACE && matches!(line.get(at + digits), Some(b':' | b' '));
    if is_placed {
        at += digits + 1;
    }
    let mut count = 0;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let between = between(rest);
        let digits = digits_at(line, at + between);
        let fits = between <= MOST_BETWEEN && digits > 0 && digits.is_multiple_of(2);
        let is_full = is_placed && count + digits / 2 > BYTES_OF_LINE;
        let Some(row) = rows.last_mut() else { return };
        if fits && !is_full {
            row.read(line, at + between, digits, start);
            at += between + digits;
            count += digits / 2;
            continue;
        }
        if is_placed && count > 0 {
            // What is left of the line shows the same bytes as letters.
            row.places.iter_mut().rev().take(count).for_each(|(_, to)| *to = start + end);
            return;
        }
        if between == rest.len() {
            return;
        }
        if !row.bytes.is_empty() {
            rows.push(Row::default());
        }
        let other = rest.iter().skip(between).take_while(|byte| byte.is_ascii_alphanumeric());
        at += between + other.count().max(1);
        count = 0;
    }
}

/// How many signs stand before the next digits.
fn between(rest: &[u8]) -> usize {
    rest.iter().take_while(|byte| is_between(**byte)).count()
}

/// How many digits there are from here to something else than a letter.
fn digits_at(line: &[u8], at: usize) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let ends = rest.get(digits).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    if ends { digits } else { 0 }
}

#[cfg(test)]
#[path = "dumps_tests.rs"]
mod tests;
