//! Detects the encoding of a file, decodes and encodes it.

use std::borrow::Cow;
use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    DecoderResult, Encoder, EncoderResult, Encoding, GB18030, GBK, REPLACEMENT, UTF_8, UTF_16BE,
    UTF_16LE,
};

use crate::{binary, utf16};

pub use crate::utf16::may_be_utf16;

/// The escape sequence by which ISO-2022-JP leaves ASCII.
const KANJI_ESCAPE: &[u8] = b"\x1B$";

/// The encoding of a file, and whether it has a byte order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFormat {
    encoding: &'static Encoding,
    bom: bool,
}

/// Decoded text, and whether invalid bytes became U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedText<'a> {
    /// The text, without a byte order mark.
    pub text: Cow<'a, str>,
    /// Whether anything was replaced.
    pub is_damaged: bool,
}

/// A character that the encoding cannot represent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnencodableChar {
    /// The character.
    pub character: char,
    /// Its byte offset in the text.
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

    /// Creates a format, with or without a byte order mark.
    pub fn new(encoding: &'static Encoding, bom: bool) -> Self {
        Self { encoding, bom }
    }

    /// Returns the encoding.
    pub fn encoding(self) -> &'static Encoding {
        self.encoding
    }

    /// Returns the byte order mark; empty if there is none.
    pub fn bom(self) -> &'static [u8] {
        match self.encoding {
            _ if !self.bom => b"",
            e if e == UTF_8 => b"\xEF\xBB\xBF",
            e if e == UTF_16LE => b"\xFF\xFE",
            e if e == UTF_16BE => b"\xFE\xFF",
            _ => b"",
        }
    }

    /// Returns the name for users and models; None for plain UTF-8, which needs
    /// no mention.
    pub fn label(self) -> Option<String> {
        match (self == Self::PLAIN_UTF8, self.encoding == UTF_8) {
            (true, _) => None,
            (false, true) => Some("utf-8-bom".to_owned()),
            (false, false) => Some(self.encoding.name().to_ascii_lowercase()),
        }
    }

    /// Decodes a whole file, without its byte order mark.
    pub fn decode(self, bytes: &[u8]) -> DecodedText<'_> {
        let body = bytes.strip_prefix(self.bom()).unwrap_or(bytes);
        let (text, damaged) = self.encoding.decode_without_bom_handling(body);
        DecodedText { text, is_damaged: damaged }
    }

    /// Whether all bytes are valid text in this format. If not `complete`, they
    /// may end inside a character.
    fn is_valid_text(self, bytes: &[u8], complete: bool) -> bool {
        if self.encoding == REPLACEMENT || binary::binary_reason(bytes, self).is_some() {
            return false;
        }
        // Two letters of another encoding read as UTF-16 make a private-use
        // character.
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

    /// Encodes text, without a byte order mark.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, UnencodableChar> {
        match self.encoding {
            e if e == UTF_8 => Ok(text.as_bytes().to_vec()),
            e if e == UTF_16LE => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            e if e == UTF_16BE => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            e => encode_legacy(e.new_encoder(), text, e.name()),
        }
    }

    /// Like [`Self::encode`], but rejects characters that decode to a
    /// lookalike.
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

/// Detects the format of text that starts with `sample`; `complete` means that
/// the sample is the whole text. The result for binary data is meaningless.
pub fn detect_format(sample: &[u8], complete: bool) -> TextFormat {
    detect_format_with(sample, complete, || None)
}

/// Like [`detect_format`], with a hint from the context of the file. A byte
/// order mark takes precedence, then plain UTF-8. Otherwise `hint` is used if
/// all bytes are valid text in that encoding; the last resort is a guess.
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

/// Whether valid UTF-8 shows no sign of another encoding: most UTF-16 contains
/// NUL bytes, and ISO-2022-JP escape sequences.
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
    // Legacy text forms UTF-8 sequences only by accident, so a clear majority
    // of well-formed sequences decides.
    if is_utf8(sample, complete) && !escapes || good > bad.saturating_mul(4) {
        return TextFormat::PLAIN_UTF8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, complete);
    let allow_utf8 = if escapes { Utf8Detection::Allow } else { Utf8Detection::Deny };
    let guess = detector.guess(None, allow_utf8);
    // An ASCII file with terminal colors is still UTF-8.
    if sample.is_ascii() && guess != encoding_rs::ISO_2022_JP {
        return TextFormat::PLAIN_UTF8;
    }
    // In single-byte encodings even one such accident is rare.
    if good > 0 && good >= bad && guess.is_single_byte() {
        return TextFormat::PLAIN_UTF8;
    }
    if guess == GBK && is_gb18030(sample) {
        return TextFormat::new(GB18030, false);
    }
    TextFormat::new(guess, false)
}

/// Whether apparent GBK contains something that only GB18030 has: four-byte
/// characters, or the euro sign as two bytes. GBK has a one-byte euro sign that
/// GB18030 lacks, so an edit must use the right encoding.
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

/// Whether the sample is UTF-8; a truncated one may end inside a character.
fn is_utf8(sample: &[u8], complete: bool) -> bool {
    match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => !complete && error.error_len().is_none(),
    }
}

/// Counts the well-formed non-ASCII characters, and the invalid sequences.
fn utf8_sequences(sample: &[u8]) -> (usize, usize) {
    sample.utf8_chunks().fold((0, 0), |(good, bad), chunk| {
        let more = chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        (good + more, bad + usize::from(!chunk.invalid().is_empty()))
    })
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
