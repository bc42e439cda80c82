//! A text file as bytes and decoded text: edits apply to the text, and bytes
//! that no edit touches stay unchanged.

use std::ops::Range;

use encoding_rs::{Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};

use crate::binary;
use crate::codec::{TextFormat, detect_format_with, is_plain_utf8};
use crate::decode_map::{DecodeMap, next_char};
use crate::error::{NotTextError, NotTextReason, SpliceError};
use crate::iso2022jp::{self, ShiftPosition};
use crate::line_endings::LineEndings;

/// Maximum number of text bytes that decode from one unit.
const MAX_CLUSTER_BYTES: usize = 8;

/// An edit that replaces a byte range of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The replaced range; empty for an insertion.
    pub range: Range<usize>,
    /// The replacement.
    pub text: String,
}

/// A decoded text file.
#[derive(Debug)]
pub struct TextDocument {
    format: TextFormat,
    content: DocumentContent,
}

#[derive(Debug)]
enum DocumentContent {
    /// The whole file, including its byte order mark.
    Utf8(String),
    Other {
        bytes: Vec<u8>,
        decoding: DecodeMap,
    },
}

impl TextDocument {
    /// Decodes a file. The encoding comes from a byte order mark (UTF-16 marks
    /// are ignored if `charset` is not a Unicode encoding), else from
    /// `charset`, else from the bytes: strict UTF-8, UTF-16 without a mark,
    /// then a guess.
    pub fn read(bytes: Vec<u8>, charset: Option<&'static Encoding>) -> Result<Self, NotTextError> {
        let Some(encoding) = charset else { return Self::read_with(bytes, || None) };
        if encoding == REPLACEMENT {
            let reason = NotTextReason::Unsupported { encoding: REPLACEMENT.name() };
            return Err(NotTextError { reason, bytes });
        }
        // The two bytes of a UTF-16 mark may be letters in the given encoding.
        let is_unicode = [UTF_8, UTF_16LE, UTF_16BE].contains(&encoding);
        let is_mark = |marked: &&'static Encoding| is_unicode || *marked == UTF_8;
        let mark = Encoding::for_bom(&bytes).map(|(marked, _)| marked).filter(is_mark);
        let marked = mark.map(|marked| TextFormat::new(marked, true));
        let format = marked.unwrap_or(TextFormat::new(encoding, false));
        if let Some(reason) = binary::binary_reason_in_encoding(&bytes, format) {
            return Err(NotTextError { reason: NotTextReason::Binary { reason }, bytes });
        }
        Ok(Self::decode_with(bytes, format))
    }

    /// Decodes a file; `hint` may suggest the encoding, see
    /// [`detect_format_with`].
    pub fn read_with(
        bytes: Vec<u8>,
        hint: impl FnOnce() -> Option<&'static Encoding>,
    ) -> Result<Self, NotTextError> {
        if let Some((marked, _)) = Encoding::for_bom(&bytes) {
            let format = TextFormat::new(marked, true);
            return Ok(Self::decode_with(require_text(bytes, format)?, format));
        }
        let bytes = match String::from_utf8(bytes) {
            Ok(text) if is_plain_utf8(text.as_bytes()) => {
                let format = TextFormat::PLAIN_UTF8;
                return match binary::binary_reason(text.as_bytes(), format) {
                    Some(reason) => {
                        let (reason, bytes) = (NotTextReason::Binary { reason }, text.into_bytes());
                        Err(NotTextError { reason, bytes })
                    }
                    None => Ok(Self { format, content: DocumentContent::Utf8(text) }),
                };
            }
            Ok(text) => text.into_bytes(),
            Err(error) => error.into_bytes(),
        };
        let format = detect_format_with(&bytes, true, hint);
        Ok(Self::decode_with(require_text(bytes, format)?, format))
    }

    fn decode_with(bytes: Vec<u8>, format: TextFormat) -> Self {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) if format.encoding() == UTF_8 => {
                return Self { format, content: DocumentContent::Utf8(text) };
            }
            Ok(text) => text.into_bytes(),
            Err(error) => error.into_bytes(),
        };
        let decoding = decoding(body_bytes(&bytes, format), format.encoding());
        Self { format, content: DocumentContent::Other { bytes, decoding } }
    }

    /// Returns the text without the byte order mark, with the file's line
    /// endings.
    pub fn text(&self) -> &str {
        match &self.content {
            DocumentContent::Utf8(all) => all.get(self.format.bom().len()..).unwrap_or_default(),
            DocumentContent::Other { decoding, .. } => &decoding.text,
        }
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        match &self.content {
            DocumentContent::Utf8(all) => all.as_bytes(),
            DocumentContent::Other { bytes, .. } => bytes,
        }
    }

    /// Returns the encoding and whether the file has a byte order mark.
    pub fn format(&self) -> TextFormat {
        self.format
    }

    /// Returns the line endings.
    pub fn endings(&self) -> LineEndings {
        LineEndings::detect(self.text())
    }

    /// Whether some bytes are invalid in the encoding. They decode to U+FFFD.
    pub fn is_damaged(&self) -> bool {
        match &self.content {
            DocumentContent::Utf8(_) => false,
            DocumentContent::Other { bytes, .. } => {
                let body = body_bytes(bytes, self.format);
                let encoding = self.format.encoding();
                encoding.decode_without_bom_handling_and_without_replacement(body).is_none()
            }
        }
    }

    /// Returns the byte range of the file that holds a range of the text. An
    /// end inside a character moves to the character's start; one beyond the
    /// text moves to the end.
    pub fn byte_span(&self, range: Range<usize>) -> Range<usize> {
        let text = self.text();
        let start = text.floor_char_boundary(range.start);
        let end = text.floor_char_boundary(range.end).max(start);
        let mark = self.format.bom().len();
        match &self.content {
            DocumentContent::Utf8(_) => start + mark..end + mark,
            DocumentContent::Other { bytes, decoding } => {
                let body = body_bytes(bytes, self.format);
                let place = |offset: usize| {
                    // Two characters may decode from one byte sequence.
                    let mut near = (0..=offset).rev().take(MAX_CLUSTER_BYTES);
                    let stop =
                        near.find_map(|offset| self.find_stops(body, decoding, &[offset]).pop()?);
                    stop.unwrap_or_default().byte + mark
                };
                let start = place(start);
                start..place(end).max(start)
            }
        }
    }

    /// Returns the file's bytes with the edits applied. Edits must be sorted
    /// and must not overlap. Bytes outside their spans stay unchanged; only new
    /// text is encoded. The result is decoded again to verify that it is the
    /// edited text.
    pub fn splice(&self, edits: &[TextEdit]) -> Result<Vec<u8>, SpliceError> {
        let text = self.text();
        let mut end = 0;
        for (edit, TextEdit { range, .. }) in edits.iter().enumerate() {
            if text.get(range.clone()).is_none() {
                return Err(SpliceError::OutOfBounds { edit });
            }
            if range.start < end {
                return Err(SpliceError::OutOfOrder { edit });
            }
            end = range.end;
        }
        let new = match &self.content {
            DocumentContent::Utf8(all) => {
                let mark = self.format.bom().len();
                let spans = edits.iter().map(|edit| edit.range.start + mark..edit.range.end + mark);
                let news = edits.iter().map(|edit| edit.text.as_bytes());
                join_bytes(all.as_bytes(), spans.zip(news))
            }
            DocumentContent::Other { bytes, decoding } => self.encode(bytes, decoding, edits)?,
        };
        self.verify(new, edits)
    }

    /// Maps sorted text offsets to positions in the body.
    fn find_stops(
        &self,
        body: &[u8],
        decoding: &DecodeMap,
        offsets: &[usize],
    ) -> Vec<Option<ShiftPosition>> {
        let encoding = self.format.encoding();
        if encoding == ISO_2022_JP {
            return iso2022jp::find_positions(body, offsets);
        }
        let places = decoding.byte_offsets(body, encoding, offsets);
        let stop = |byte| ShiftPosition { byte, ..ShiftPosition::default() };
        places.into_iter().map(|place| place.map(stop)).collect()
    }

    fn encode(
        &self,
        bytes: &[u8],
        decoding: &DecodeMap,
        edits: &[TextEdit],
    ) -> Result<Vec<u8>, SpliceError> {
        let body = body_bytes(bytes, self.format);
        let offsets: Vec<usize> =
            edits.iter().flat_map(|edit| [edit.range.start, edit.range.end]).collect();
        let stops = self.find_stops(body, decoding, &offsets);
        let mark = self.format.bom().len();
        let mut pieces = Vec::with_capacity(edits.len());
        let mut held = None;
        for ((edit, TextEdit { text, .. }), ends) in edits.iter().enumerate().zip(stops.chunks(2)) {
            let [Some(start), Some(end)] = ends else {
                return Err(SpliceError::OutOfBounds { edit });
            };
            if let Some(damage) = self.first_damage(body, start, end) {
                let (offset, encoding) = (damage + mark, self.format.encoding().name());
                return Err(SpliceError::Damaged { edit, offset, encoding });
            }
            let unencodable = |what| SpliceError::Unencodable { edit, what };
            let mut new = self.format.encode_strict(text).map_err(unencodable)?;
            if self.format.encoding() == ISO_2022_JP {
                // An edit adjacent to the previous one continues in its shift
                // state.
                let before = held.filter(|_| touches_previous(edits, edit)).unwrap_or(start.state);
                let (mut fitted, state) = iso2022jp::fit_after(&new, before);
                let is_idle =
                    new.is_empty() && start.byte == end.byte && !touches_previous(edits, edit);
                if !is_idle && !touches_previous(edits, edit + 1) {
                    let rest = body.get(end.byte..).unwrap_or_default();
                    fitted.extend_from_slice(iso2022jp::bridge_states(state, end.state, rest));
                }
                (new, held) = (fitted, Some(state));
            }
            pieces.push((start.byte + mark..end.byte + mark, new));
        }
        let pieces = pieces.iter().map(|(span, new)| (span.clone(), new.as_slice()));
        Ok(join_bytes(bytes, pieces))
    }

    /// Returns the offset of the first invalid bytes between two positions.
    fn first_damage(
        &self,
        body: &[u8],
        start: &ShiftPosition,
        end: &ShiftPosition,
    ) -> Option<usize> {
        let encoding = self.format.encoding();
        if encoding == ISO_2022_JP {
            return (start.damage_count < end.damage_count).then_some(end.last_damage);
        }
        let covered = body.get(start.byte..end.byte)?;
        if encoding.decode_without_bom_handling_and_without_replacement(covered).is_some() {
            return None;
        }
        let mut at = start.byte;
        loop {
            let step = next_char(body.get(at..)?, encoding);
            if step.is_damaged || step.bytes == 0 {
                return Some(at);
            }
            at += step.bytes;
        }
    }

    /// Returns the bytes if they decode to the edited text.
    fn verify(&self, new: Vec<u8>, edits: &[TextEdit]) -> Result<Vec<u8>, SpliceError> {
        let encoding = self.format.encoding();
        let inexact = |offset| SpliceError::Inexact { offset, encoding: encoding.name() };
        // A byte order mark created by the edit would be read as the file's
        // own.
        if self.format.bom().is_empty() && Encoding::for_bom(&new).is_some() {
            return Err(inexact(0));
        }
        if let DocumentContent::Utf8(_) = &self.content {
            // UTF-8 spliced at character boundaries is always exact.
            return Ok(new);
        }
        let read = decoding(body_bytes(&new, self.format), encoding).text;
        let wanted = apply_edits(self.text(), edits);
        if read == wanted {
            return Ok(new);
        }
        let pairs = read.bytes().zip(wanted.bytes());
        Err(inexact(pairs.take_while(|(read, wanted)| read == wanted).count()))
    }
}

/// Whether an edit begins where the previous one ends.
fn touches_previous(edits: &[TextEdit], edit: usize) -> bool {
    let before = edit.checked_sub(1).and_then(|before| edits.get(before));
    let here = edits.get(edit);
    before.zip(here).is_some_and(|(before, here)| before.range.end == here.range.start)
}

/// Applies edits that are known to be valid.
fn apply_edits(text: &str, edits: &[TextEdit]) -> String {
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for TextEdit { range, text: replacement } in edits {
        new.push_str(text.get(done..range.start).unwrap_or_default());
        new.push_str(replacement);
        done = range.end;
    }
    new.push_str(text.get(done..).unwrap_or_default());
    new
}

fn join_bytes<'a>(
    old: &[u8],
    pieces: impl Iterator<Item = (Range<usize>, &'a [u8])> + Clone,
) -> Vec<u8> {
    let added: usize = pieces.clone().map(|(_, new)| new.len()).sum();
    let mut joined = Vec::with_capacity(old.len() + added);
    let mut done = 0;
    for (span, new) in pieces {
        joined.extend_from_slice(old.get(done..span.start).unwrap_or_default());
        joined.extend_from_slice(new);
        done = span.end;
    }
    joined.extend_from_slice(old.get(done..).unwrap_or_default());
    joined
}

/// Returns the bytes without the byte order mark.
fn body_bytes(bytes: &[u8], format: TextFormat) -> &[u8] {
    bytes.strip_prefix(format.bom()).unwrap_or(bytes)
}

fn decoding(body: &[u8], encoding: &'static Encoding) -> DecodeMap {
    if encoding == ISO_2022_JP {
        return DecodeMap::without_marks(encoding.decode_without_bom_handling(body).0.into_owned());
    }
    DecodeMap::decode(body, encoding)
}

/// Returns the bytes if they are text in this format.
fn require_text(bytes: Vec<u8>, format: TextFormat) -> Result<Vec<u8>, NotTextError> {
    match binary::binary_reason(&bytes, format) {
        Some(reason) => Err(NotTextError { reason: NotTextReason::Binary { reason }, bytes }),
        None => Ok(bytes),
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
