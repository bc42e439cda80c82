//! A range of bytes: as text for a text file, otherwise as a hex dump.

use std::fmt::Write as _;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};
use hermes_text::codec::TextFormat;

use super::answer::BytesAnswer;
use crate::content::DetectedContent;
use crate::path_text;
use crate::source::SeekableFile;

/// Bytes of text shown, by default and at most.
const DEFAULT_TEXT_BYTES: u64 = 20_000;
const MAX_TEXT_BYTES: u64 = 100_000;
/// Room for any single character and the escape sequences that some encodings
/// put before it.
const MIN_TEXT_BYTES: u64 = 8;
/// Bytes of a hex dump; each takes about five characters.
const DEFAULT_HEX_BYTES: u64 = 256;
const MAX_HEX_BYTES: u64 = 16_384;
/// Longest encoding of a character, in bytes.
const MAX_CHAR_BYTES: usize = 4;
/// Bytes per line of a dump.
const HEX_ROW_BYTES: usize = 16;

pub(super) fn read(
    source: &mut SeekableFile,
    content: DetectedContent,
    path: &Path,
    from: u64,
    limit: Option<u64>,
) -> io::Result<BytesAnswer> {
    let file_size = source.len();
    let format = match content {
        DetectedContent::Text(format) => Some(format),
        DetectedContent::Binary(_) => None,
    };
    let (usual, least, most) = match format {
        Some(_) => (DEFAULT_TEXT_BYTES, MIN_TEXT_BYTES, MAX_TEXT_BYTES),
        None => (DEFAULT_HEX_BYTES, 1, MAX_HEX_BYTES),
    };
    let limit = limit.unwrap_or(usual).clamp(least, most);
    let mut bytes = Vec::new();
    // Past the end there is nothing to read, and the seek may fail.
    if from < file_size {
        source.seek(SeekFrom::Start(from))?;
        source.take(limit).read_to_end(&mut bytes)?;
    }
    let is_last = from.saturating_add(bytes.len() as u64) >= file_size;
    let (skipped, taken, content, damaged) = match format {
        Some(format) => decode_text(format, &bytes, from, is_last),
        None => (0, bytes.len(), hex_dump(&bytes, from), false),
    };
    let start = from.saturating_add(skipped as u64);
    let end = from.saturating_add((skipped + taken) as u64);
    let next = (end < file_size).then_some(end);
    let hint = if from >= file_size && file_size > 0 {
        Some(format!("The file has {file_size} bytes; byte_offset={from} is past the end."))
    } else {
        next.map(|next| {
            let last = end.saturating_sub(1).max(start);
            format!("Bytes {start}-{last} of {file_size}; continue with byte_offset={next}.")
        })
    };
    let bad = format.filter(|_| damaged).map(|format| format.encoding().name());
    Ok(BytesAnswer {
        content,
        path: path_text::display_path(path),
        file_size,
        format: if format.is_some() { "text" } else { "hex" },
        is_binary: format.is_none(),
        byte_offset: start,
        bytes: taken as u64,
        truncated: next.is_some(),
        next_byte_offset: next,
        encoding: format.and_then(TextFormat::label),
        note: bad.map(|name| format!("Bytes that are not valid {name} are shown as U+FFFD.")),
        hint,
    })
}

/// Decodes the whole characters in `bytes`: returns the number of bytes skipped
/// and taken, the text, and whether some of it is invalid.
fn decode_text(
    format: TextFormat,
    bytes: &[u8],
    from: u64,
    is_last: bool,
) -> (usize, usize, String, bool) {
    let mut skipped = 0;
    if from < format.bom().len() as u64 {
        skipped = format.bom().len() - from as usize;
    } else if format.encoding() == UTF_8 {
        skipped = bytes.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
    } else if [UTF_16LE, UTF_16BE].contains(&format.encoding()) {
        skipped = usize::from((from - format.bom().len() as u64) % 2 == 1);
    }
    let skipped = skipped.min(bytes.len());
    let rest = bytes.get(skipped..).unwrap_or_default();
    let taken = match if is_last { rest.len() } else { whole_chars_len(format, rest) } {
        // Always make progress.
        0 if skipped == 0 => rest.len(),
        taken => taken,
    };
    let rest = rest.get(..taken).unwrap_or_default();
    let (text, damaged) = format.encoding().decode_without_bom_handling(rest);
    (skipped, taken, text.into_owned(), damaged)
}

/// Number of bytes that form whole characters, possibly 0.
fn whole_chars_len(format: TextFormat, bytes: &[u8]) -> usize {
    let encoding = format.encoding();
    if encoding == UTF_8 {
        let cut = (1..=3.min(bytes.len()))
            .find(|back| bytes.get(bytes.len() - back).is_some_and(|&byte| byte >= 0xC0));
        let Some(back) = cut else { return bytes.len() };
        let tail = bytes.get(bytes.len() - back..).unwrap_or_default();
        let is_open = std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none());
        return if is_open { bytes.len() - back } else { bytes.len() };
    }
    if [UTF_16LE, UTF_16BE].contains(&encoding) {
        let even = bytes.len() & !1;
        let high = if encoding == UTF_16LE { even.checked_sub(1) } else { even.checked_sub(2) };
        let is_open = high.and_then(|at| bytes.get(at)).is_some_and(|byte| byte & 0xFC == 0xD8);
        return if is_open { even.saturating_sub(2) } else { even };
    }
    if encoding.is_single_byte() {
        return bytes.len();
    }
    // No trailing byte of a character is a control character or a space.
    if let Some(at) = bytes.iter().rposition(|&byte| byte <= b' ' && byte != 0x1B) {
        return at + 1;
    }
    let is_whole = |len: &usize| {
        let some = bytes.get(..*len).unwrap_or_default();
        encoding.decode_without_bom_handling_and_without_replacement(some).is_some()
    };
    let mut lengths = (1..=bytes.len()).rev().take(MAX_CHAR_BYTES);
    lengths.find(is_whole).unwrap_or(bytes.len())
}

fn hex_dump(bytes: &[u8], from: u64) -> String {
    let mut lines = Vec::new();
    for (at, row) in bytes.chunks(HEX_ROW_BYTES).enumerate() {
        let mut line = format!("{:08x} ", from + (at * HEX_ROW_BYTES) as u64);
        for byte in row {
            let _ = write!(line, " {byte:02x}");
        }
        line.push_str("  |");
        line.extend(row.iter().map(|&byte| match byte {
            b' '..=b'~' => char::from(byte),
            _ => '.',
        }));
        line.push('|');
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;
