//! Maps positions in a decoded text to bytes of its file.

use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Approximate distance between known positions.
const MARK_INTERVAL_BYTES: usize = 16 * 1024;

/// A text decoded in pieces, with the start of each piece.
#[derive(Debug)]
pub(crate) struct DecodeMap {
    pub(crate) text: String,
    marks: Vec<TextBytePosition>,
}

/// A position in the text and in the body, which is the file without its byte
/// order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextBytePosition {
    pub(crate) text: usize,
    pub(crate) byte: usize,
}

/// One decoded character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecodeStep {
    /// Its length in the file.
    pub(crate) bytes: usize,
    /// Its length in the text.
    pub(crate) text: usize,
    /// Whether the bytes are invalid.
    pub(crate) is_damaged: bool,
}

impl DecodeMap {
    /// Decodes a body in an encoding without shift states.
    pub(crate) fn decode(body: &[u8], encoding: &'static Encoding) -> Self {
        let mut decoding = Self { text: String::new(), marks: Vec::new() };
        let mut byte = 0;
        while let Some(rest) = body.get(byte..).filter(|rest| !rest.is_empty()) {
            decoding.marks.push(TextBytePosition { text: decoding.text.len(), byte });
            let (piece, _) = rest.split_at(piece_length(rest, encoding));
            decoding.text.push_str(&encoding.decode_without_bom_handling(piece).0);
            byte += piece.len();
        }
        decoding
    }

    /// Creates a map without known positions, for text that is mapped in
    /// another way.
    pub(crate) fn without_marks(text: String) -> Self {
        Self { text, marks: Vec::new() }
    }

    /// Returns the byte offsets of sorted text offsets. None for an offset
    /// inside a unit of the encoding.
    pub(crate) fn byte_offsets(
        &self,
        body: &[u8],
        encoding: &'static Encoding,
        offsets: &[usize],
    ) -> Vec<Option<usize>> {
        let mut at = TextBytePosition { text: 0, byte: 0 };
        let mut found = Vec::new();
        for &offset in offsets {
            let behind = self.marks.partition_point(|mark| mark.text <= offset);
            if let Some(mark) = behind.checked_sub(1).and_then(|before| self.marks.get(before)) {
                at = if mark.text > at.text { *mark } else { at };
            }
            // Stops before a character that extends beyond the offset.
            while at.text < offset {
                let step = next_char(body.get(at.byte..).unwrap_or_default(), encoding);
                if step.bytes == 0 || at.text + step.text > offset {
                    break;
                }
                at = TextBytePosition { text: at.text + step.text, byte: at.byte + step.bytes };
            }
            found.push((at.text == offset).then_some(at.byte));
        }
        found
    }
}

/// Returns the length of the next piece, which ends at a character boundary:
/// except in UTF-16, bytes below 0x30 are never part of a longer character.
fn piece_length(rest: &[u8], encoding: &'static Encoding) -> usize {
    if rest.len() <= MARK_INTERVAL_BYTES {
        return rest.len();
    }
    let (head, tail) = rest.split_at(MARK_INTERVAL_BYTES);
    let wide = |unit: &[u8]| match unit {
        [a, b] if encoding == UTF_16LE => u16::from_le_bytes([*a, *b]),
        [a, b] => u16::from_be_bytes([*a, *b]),
        _ => 0,
    };
    let more = if encoding == UTF_16LE || encoding == UTF_16BE {
        // The first half of a surrogate pair needs the second.
        let last = head.last_chunk::<2>().map_or(0, |unit| wide(unit));
        let units = std::iter::once(last).chain(tail.chunks(2).map(wide));
        units.take_while(|unit| (0xD800..0xDC00).contains(unit)).count() * 2
    } else if encoding.is_single_byte() {
        0
    } else {
        tail.iter().position(|byte| *byte < 0x30).map_or(tail.len(), |at| at + 1)
    };
    (MARK_INTERVAL_BYTES + more).min(rest.len())
}

/// Decodes the first character of bytes that start at a character boundary.
pub(crate) fn next_char(rest: &[u8], encoding: &'static Encoding) -> DecodeStep {
    let wide = encoding == UTF_16LE || encoding == UTF_16BE;
    match rest.first() {
        None => return DecodeStep { bytes: 0, text: 0, is_damaged: false },
        Some(byte) if byte.is_ascii() && !wide => {
            return DecodeStep { bytes: 1, text: 1, is_damaged: false };
        }
        Some(_) => {}
    }
    if encoding == UTF_8
        && let Some(chunk) =
            rest.get(..4.min(rest.len())).and_then(|head| head.utf8_chunks().next())
    {
        let first = chunk.valid().chars().next().map_or(0, char::len_utf8);
        let damaged = first == 0;
        return match damaged {
            true => DecodeStep {
                bytes: chunk.invalid().len(),
                text: '\u{FFFD}'.len_utf8(),
                is_damaged: damaged,
            },
            false => DecodeStep { bytes: first, text: first, is_damaged: damaged },
        };
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut out = [0; 16];
    for end in 1..=rest.len() {
        let piece = rest.get(end - 1..end).unwrap_or_default();
        let last = end == rest.len();
        let (result, _, text) = decoder.decode_to_utf8_without_replacement(piece, &mut out, last);
        if let DecoderResult::Malformed(bad, _) = result {
            let bytes = usize::from(bad).clamp(1, end);
            return DecodeStep { bytes, text: '\u{FFFD}'.len_utf8(), is_damaged: true };
        }
        if text > 0 {
            return DecodeStep { bytes: end, text, is_damaged: false };
        }
    }
    DecodeStep { bytes: rest.len(), text: 0, is_damaged: false }
}
