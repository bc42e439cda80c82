//! Encoding and line endings of the new content: those of the replaced file
//! unless the caller sets them.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use hermes_core::{JsonSchema, ToolError};
use hermes_files::FileContent;
use hermes_text::codec::TextFormat;
use hermes_text::{LineEnding, TextDocument, line_at};
use serde::{Deserialize, Serialize};

use super::Args;
use crate::charset::{self, BYTE_ORDER_MARK};

/// Line endings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LineEndingArg {
    Lf,
    Crlf,
}

#[derive(Debug)]
pub(super) struct WriteFormat {
    format: TextFormat,
    ending: LineEndingRule,
}

/// Which line endings the content gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEndingRule {
    /// Those of the content.
    Given,
    /// Those of the file, if the line endings of the content are uniform. Mixed
    /// ones are taken as intended.
    Kept(LineEnding),
    /// These.
    Set(LineEnding),
}

/// The content, as text and as bytes.
#[derive(Debug)]
pub(super) struct EncodedContent {
    /// Without a byte order mark; `None` if the bytes are the text.
    pub(super) text: Option<String>,
    pub(super) bytes: FileContent,
}

/// The encoding of a file, and the one detected from its bytes.
pub(super) type MisreadEncoding = (&'static Encoding, &'static Encoding);

impl WriteFormat {
    /// Chooses the format from the arguments, the existing text, or the format
    /// of a new file.
    pub(super) fn choose(
        args: &Args,
        old: Option<&TextDocument>,
        new: impl FnOnce() -> TextFormat,
    ) -> Result<Self, ToolError> {
        // An empty file has no encoding yet.
        let old_format = match old.filter(|old| !old.bytes().is_empty()) {
            Some(old) => old.format(),
            None if args.encoding.is_none() => new(),
            None => TextFormat::PLAIN_UTF8,
        };
        let format = match args.encoding.as_deref() {
            Some(name) => parse_format(name, old_format)?,
            None => old_format,
        };
        // A byte order mark at the start of the content is intended.
        let format = match args.content.starts_with(BYTE_ORDER_MARK) {
            true => TextFormat::new(format.encoding(), true),
            false => format,
        };
        let ending = match (args.line_endings, old.and_then(|old| old.endings().dominant)) {
            (Some(LineEndingArg::Lf), _) => LineEndingRule::Set(LineEnding::Lf),
            (Some(LineEndingArg::Crlf), _) => LineEndingRule::Set(LineEnding::CrLf),
            (None, Some(ending)) => LineEndingRule::Kept(ending),
            (None, None) => LineEndingRule::Given,
        };
        Ok(Self { format, ending })
    }

    /// The encoding.
    pub(super) fn encoding(&self) -> &'static Encoding {
        self.format.encoding()
    }

    /// The name of the encoding; `None` for plain UTF-8.
    pub(super) fn label(&self) -> Option<String> {
        self.format.label()
    }

    /// The encoding, and the one detected from the bytes, if a reader that
    /// relies on detection would get a different text.
    pub(super) fn misread_encoding(
        &self,
        written: &EncodedContent,
        looks_like: impl FnOnce(&[u8]) -> TextFormat,
    ) -> Option<MisreadEncoding> {
        let encoding = self.format.encoding();
        if encoding == UTF_8 || !self.format.bom().is_empty() {
            return None;
        }
        let other = looks_like(&written.bytes);
        let differs = other.encoding() != encoding
            && written.text.as_deref() != Some(&*other.decode(&written.bytes).text);
        differs.then(|| (encoding, other.encoding()))
    }

    /// Encodes the content. Fails if the encoding cannot represent it.
    pub(super) fn write(&self, content: String) -> Result<EncodedContent, ToolError> {
        let text = match content.strip_prefix(BYTE_ORDER_MARK) {
            Some(unmarked) => unmarked.to_owned(),
            None => content,
        };
        let text = match self.ending {
            LineEndingRule::Set(ending) => with_ending(text.replace("\r\n", "\n"), ending),
            LineEndingRule::Kept(LineEnding::Lf) if is_all_crlf(&text) => {
                text.replace("\r\n", "\n")
            }
            LineEndingRule::Kept(LineEnding::Lf) => text,
            LineEndingRule::Kept(LineEnding::Cr) if is_all_crlf(&text) => {
                text.replace("\r\n", "\r")
            }
            LineEndingRule::Kept(ending) if memchr::memchr(b'\r', text.as_bytes()).is_none() => {
                with_ending(text, ending)
            }
            LineEndingRule::Kept(_) | LineEndingRule::Given => text,
        };
        if self.format == TextFormat::PLAIN_UTF8 {
            return Ok(EncodedContent { text: None, bytes: text.into() });
        }
        let name = self.format.encoding().name();
        let body = self.format.encode(&text).map_err(|error| {
            encode_error(&text, error.offset, name).with("character", error.character.to_string())
        })?;
        let bytes = match self.format.bom() {
            [] => body,
            mark => [mark, &body].concat(),
        };
        self.verify(&text, &bytes)?;
        Ok(EncodedContent { text: Some(text), bytes: bytes.into() })
    }

    /// Decodes the bytes and compares: some encodings write a character with
    /// the bytes of another.
    fn verify(&self, text: &str, bytes: &[u8]) -> Result<(), ToolError> {
        let encoding = self.format.encoding();
        if encoding == UTF_8 {
            return Ok(());
        }
        let read = self.format.decode(bytes);
        if !read.is_damaged && read.text == text {
            return Ok(());
        }
        let same = text.chars().zip(read.text.chars()).take_while(|(a, b)| a == b);
        let offset = same.map(|(a, _)| a.len_utf8()).sum();
        Err(encode_error(text, offset, encoding.name()))
    }
}

/// Whether every carriage return and line feed is part of a CRLF. The first
/// line usually decides.
fn is_all_crlf(text: &str) -> bool {
    if !text.split_once('\n').is_some_and(|(first, _)| first.ends_with('\r')) {
        return false;
    }
    let count = |byte| memchr::memchr_iter(byte, text.as_bytes()).count();
    let ends = memchr::memmem::find_iter(text.as_bytes(), b"\r\n").count();
    count(b'\r') == ends && count(b'\n') == ends
}

fn with_ending(text: String, ending: LineEnding) -> String {
    match ending {
        LineEnding::Lf => text,
        other => text.replace('\n', other.as_str()),
    }
}

fn encode_error(text: &str, offset: usize, encoding: &str) -> ToolError {
    let line = line_at(text, offset);
    let character =
        text.get(offset..).and_then(|rest| rest.chars().next()).unwrap_or(BYTE_ORDER_MARK);
    ToolError::invalid(format!(
        "{character:?} at byte {offset} of the content (line {line}) cannot be encoded in \
         {encoding}, the encoding of the file"
    ))
    .with_hint("Remove it, or set encoding=utf-8 to convert the file.")
    .with("offset", offset)
    .with("encoding", encoding.to_ascii_lowercase())
}

/// Parses an encoding name. The format has a byte order mark if the name asks
/// for one, if the file already has one, or if it is UTF-16, which is not
/// detectable without it.
fn parse_format(name: &str, old: TextFormat) -> Result<TextFormat, ToolError> {
    let (encoding, wants_mark) = charset::parse_encoding(name)?;
    let is_same = encoding == old.encoding();
    let is_wide = encoding == UTF_16LE || encoding == UTF_16BE;
    let has_mark = wants_mark
        || is_same && !old.bom().is_empty()
        || !is_same && is_wide && old.encoding() != UTF_16LE && old.encoding() != UTF_16BE;
    // No other encoding has a byte order mark.
    Ok(TextFormat::new(encoding, has_mark && (is_wide || encoding == UTF_8)))
}
