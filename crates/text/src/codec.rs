//! Bytes and text: which encoding a file is in, and the way there and back.

use std::borrow::Cow;
use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    DecoderResult, Encoder, EncoderResult, Encoding, GB18030, GBK, REPLACEMENT, UTF_8, UTF_16BE,
    UTF_16LE,
};

use crate::{binary, utf16};

pub use crate::utf16::may_be_utf16;

/// How ISO-2022-JP leaves ASCII.
const KANJI_ESCAPE: &[u8] = b"\x1B$";

/// How a file spells its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFormat {
    encoding: &'static Encoding,
    bom: bool,
}

/// Text and whether some bytes had no meaning and became U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedText<'a> {
    /// The text, without a byte order mark.
    pub text: Cow<'a, str>,
    /// Whether anything was replaced.
    pub is_damaged: bool,
}

/// A character that the encoding has no bytes for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnencodableChar {
    /// The character.
    pub character: char,
    /// Where it begins, in bytes of the text.
    pub offset: usize,
    /// The encoding that lacks it.
    pub encoding: &'static str,
}

impl fmt::Display for UnencodableChar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { character, offset, encoding } = self;
        write!(f, "{character:?} at byte {offset} cannot be written in {encoding}")
    }
}

impl std::error::Error for UnencodableChar {}

impl TextFormat {
    /// UTF-8 without a byte order mark.
    pub const PLAIN_UTF8: TextFormat = TextFormat { encoding: UTF_8, bom: false };

    /// That encoding, with or without a byte order mark.
    pub fn new(encoding: &'static Encoding, bom: bool) -> Self {
        Self { encoding, bom }
    }

    /// The encoding.
    pub fn encoding(self) -> &'static Encoding {
        self.encoding
    }

    /// The byte order mark: empty when there is none.
    pub fn bom(self) -> &'static [u8] {
        match self.encoding {
            _ if !self.bom => b"",
            e if e == UTF_8 => b"\xEF\xBB\xBF",
            e if e == UTF_16LE => b"\xFF\xFE",
            e if e == UTF_16BE => b"\xFE\xFF",
            _ => b"",
        }
    }

    /// The name for people and models; none for plain UTF-8, which needs no
    /// mention.
    pub fn label(self) -> Option<String> {
        match (self == Self::PLAIN_UTF8, self.encoding == UTF_8) {
            (true, _) => None,
            (false, true) => Some("utf-8-bom".to_owned()),
            (false, false) => Some(self.encoding.name().to_ascii_lowercase()),
        }
    }

    /// The text of a whole file; its byte order mark is left out.
    pub fn decode(self, bytes: &[u8]) -> DecodedText<'_> {
        let body = bytes.strip_prefix(self.bom()).unwrap_or(bytes);
        let (text, damaged) = self.encoding.decode_without_bom_handling(body);
        DecodedText { text, is_damaged: damaged }
    }

    /// Whether the bytes are text in this format, all of them. Those that are
    /// not `complete` may end inside a character.
    fn is_valid_text(self, bytes: &[u8], complete: bool) -> bool {
        if self.encoding == REPLACEMENT || binary::binary_reason(bytes, self).is_some() {
            return false;
        }
        // Two letters of another encoding make one that nobody uses.
        let head = bytes.get(..binary::SAMPLE_BYTES).unwrap_or(bytes);
        let is_private = |c: char| matches!(c, '\u{E000}'..='\u{F8FF}');
        if [UTF_16LE, UTF_16BE].contains(&self.encoding)
            && self.decode(head).text.contains(is_private)
        {
            return false;
        }
        let mut decoder = self.encoding.new_decoder_without_bom_handling();
        let mut text = vec![0; 64 * 1024];
        let mut done = 0;
        loop {
            let rest = bytes.get(done..).unwrap_or_default();
            let (result, read, _) =
                decoder.decode_to_utf8_without_replacement(rest, &mut text, complete);
            done += read;
            match result {
                DecoderResult::InputEmpty => return true,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => return false,
            }
        }
    }

    /// The bytes of a piece of text, without a byte order mark.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, UnencodableChar> {
        match self.encoding {
            e if e == UTF_8 => Ok(text.as_bytes().to_vec()),
            e if e == UTF_16LE => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            e if e == UTF_16BE => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            e => encode_legacy(e.new_encoder(), text, e.name()),
        }
    }

    /// The same, but a character that comes back as a look-alike counts as one
    /// that cannot be written.
    pub fn encode_strict(self, text: &str) -> Result<Vec<u8>, UnencodableChar> {
        let bytes = self.encode(text)?;
        if [UTF_8, UTF_16LE, UTF_16BE].contains(&self.encoding) {
            return Ok(bytes);
        }
        let back = self.encoding.decode_without_bom_handling(&bytes).0;
        if back == text {
            return Ok(bytes);
        }
        let differs = |((_, wanted), read): &((usize, char), char)| wanted != read;
        let ends = back.chars().chain(std::iter::repeat('\0'));
        match text.char_indices().zip(ends).find(differs) {
            Some(((offset, character), _)) => {
                Err(UnencodableChar { character, offset, encoding: self.encoding.name() })
            }
            None => Ok(bytes),
        }
    }
}

fn encode_legacy(
    mut encoder: Encoder,
    text: &str,
    encoding: &'static str,
) -> Result<Vec<u8>, UnencodableChar> {
    let mut bytes = Vec::new();
    let mut done = 0;
    loop {
        let rest = text.get(done..).unwrap_or_default();
        let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        bytes.reserve(room.unwrap_or(rest.len()).max(16));
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        done += read;
        match result {
            EncoderResult::InputEmpty => return Ok(bytes),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(character) => {
                let offset = done.saturating_sub(character.len_utf8());
                return Err(UnencodableChar { character, offset, encoding });
            }
        }
    }
}

/// The format of the text that begins with `sample`; `complete` says that the
/// sample is all there is. Binary data gets an answer too, a wrong one.
pub fn detect_format(sample: &[u8], complete: bool) -> TextFormat {
    detect_format_with(sample, complete, || None)
}

/// The same, where the surroundings of a file may have a word on its encoding.
/// A byte order mark says most, then plain UTF-8. Only if there is neither is
/// `hint` asked, and believed if all the bytes are text in that encoding. Then
/// it is a guess.
pub fn detect_format_with(
    sample: &[u8],
    complete: bool,
    hint: impl FnOnce() -> Option<&'static Encoding>,
) -> TextFormat {
    if let Some((encoding, _)) = Encoding::for_bom(sample) {
        return TextFormat::new(encoding, true);
    }
    if is_utf8(sample, complete) && is_plain_utf8(sample) {
        return TextFormat::PLAIN_UTF8;
    }
    let hinted = hint().map(|encoding| TextFormat::new(encoding, false));
    match hinted.filter(|format| format.is_valid_text(sample, complete)) {
        Some(format) => format,
        None => guess_encoding(sample, complete),
    }
}

/// Whether nothing speaks for another encoding in what is UTF-8: zero bytes
/// are in most UTF-16, and escapes in ISO-2022-JP.
pub(crate) fn is_plain_utf8(utf8: &[u8]) -> bool {
    let head = utf8.get(..binary::SAMPLE_BYTES).unwrap_or(utf8);
    memchr::memchr(0, head).is_none() && memchr::memmem::find(utf8, KANJI_ESCAPE).is_none()
}

fn guess_encoding(sample: &[u8], complete: bool) -> TextFormat {
    if let Some(encoding) = utf16::detect_without_bom(sample, complete) {
        return TextFormat::new(encoding, false);
    }
    let escapes = memchr::memmem::find(sample, KANJI_ESCAPE).is_some();
    let (good, bad) = utf8_sequences(sample);
    // In a legacy encoding the bytes form a UTF-8 sequence only by accident, so
    // a clear majority of well-formed ones decides.
    if is_utf8(sample, complete) && !escapes || good > bad.saturating_mul(4) {
        return TextFormat::PLAIN_UTF8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, complete);
    let allow_utf8 = if escapes { Utf8Detection::Allow } else { Utf8Detection::Deny };
    let guess = detector.guess(None, allow_utf8);
    // An ASCII file with terminal colours in it is still UTF-8.
    if sample.is_ascii() && guess != encoding_rs::ISO_2022_JP {
        return TextFormat::PLAIN_UTF8;
    }
    // Where each byte is a letter, hardly any text has even one such accident.
    if good > 0 && good >= bad && guess.is_single_byte() {
        return TextFormat::PLAIN_UTF8;
    }
    if guess == GBK && is_gb18030(sample) {
        return TextFormat::new(GB18030, false);
    }
    TextFormat::new(guess, false)
}

/// Whether what could be GBK holds something that only its successor has:
/// characters of four bytes, or the euro sign as two. GBK has that as one byte,
/// which the successor does not know, so an edit must go by the right one.
fn is_gb18030(sample: &[u8]) -> bool {
    let mut rest = sample;
    loop {
        rest = match rest {
            [0x81..=0xFE, 0x30..=0x39, ..] | [0xA2, 0xE3, ..] => return true,
            [0x81..=0xFE, _, rest @ ..] | [_, rest @ ..] => rest,
            [] => return false,
        };
    }
}

/// UTF-8, where a sample that is cut off may end inside a character.
fn is_utf8(sample: &[u8], complete: bool) -> bool {
    match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => !complete && error.error_len().is_none(),
    }
}

/// How many characters beyond ASCII are well-formed UTF-8, and how often
/// there is something else.
fn utf8_sequences(sample: &[u8]) -> (usize, usize) {
    sample.utf8_chunks().fold((0, 0), |(good, bad), chunk| {
        let more = chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        (good + more, bad + usize::from(!chunk.invalid().is_empty()))
    })
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
