//! Decodes a line and keeps only a window of its characters.

use std::io::{self, Read};

use encoding_rs::{Encoding, UTF_8};

use crate::lines::{LineReader, LineStop, NewlineEncoding};

/// Bytes scanned after the window to determine the length of the line.
const LENGTH_SCAN_BYTES: usize = 1024 * 1024;

/// Range of characters of a line to keep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineWindow {
    /// Number of characters to skip.
    pub(crate) skip: u64,
    /// Maximum number of characters to keep.
    pub(crate) take: u64,
}

/// The terminator of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineTerminator {
    /// None: the line ends with the file.
    None,
    Lf,
    CrLf,
    /// A carriage return, in a file without line feeds.
    Cr,
}

/// A line, clipped to a window.
#[derive(Debug)]
pub(crate) struct ClippedLine {
    /// The characters inside the window.
    pub(crate) text: String,
    /// Number of characters in the whole line, without its terminator.
    pub(crate) chars: u64,
    /// Whether the line continues beyond what was scanned.
    pub(crate) is_endless: bool,
    pub(crate) ending: LineTerminator,
    /// Whether invalid bytes became U+FFFD.
    pub(crate) damaged: bool,
}

impl LineWindow {
    /// Reads the next line.
    pub(crate) fn read<R: Read>(
        self,
        reader: &mut LineReader<'_, R>,
        encoding: &'static Encoding,
    ) -> io::Result<Option<ClippedLine>> {
        // Encodings with shift states return to the initial one at a line's
        // end, so each line can be decoded separately.
        let mut decoder = None;
        let mut line = WindowBuffer { clip: self, text: String::new(), seen: 0, last: None };
        let mut scratch = String::new();
        let mut damaged = false;
        let mut decode = |piece: &[u8], last: bool| {
            if decoder.is_none()
                && let Some(text) = as_plain_text(piece, encoding)
            {
                line.add(text);
                return line.seen;
            }
            let decoder =
                decoder.get_or_insert_with(|| encoding.new_decoder_without_bom_handling());
            scratch.clear();
            scratch.reserve(decoder.max_utf8_buffer_length(piece.len()).unwrap_or(piece.len()));
            let (_, _, replaced) = decoder.decode_to_string(piece, &mut scratch, last);
            damaged |= replaced;
            line.add(&scratch);
            line.seen
        };
        let mut spare = LENGTH_SCAN_BYTES;
        let stop = reader.next_line(|piece| {
            if decode(piece, false) > self.end() {
                spare = spare.saturating_sub(piece.len());
            }
            spare > 0
        })?;
        let Some(stop) = stop else {
            return Ok(None);
        };
        if stop != LineStop::Inside {
            decode(b"", true);
        }
        let ending = line.finish(stop, reader.newline());
        let is_endless = stop == LineStop::Inside;
        Ok(Some(ClippedLine { text: line.text, chars: line.seen, is_endless, ending, damaged }))
    }

    /// Returns the index of the first character after the window, from 0.
    fn end(self) -> u64 {
        self.skip.saturating_add(self.take)
    }
}

/// Returns bytes that are valid UTF-8 and leave no partial character behind.
fn as_plain_text<'b>(bytes: &'b [u8], encoding: &'static Encoding) -> Option<&'b str> {
    let is_text = encoding == UTF_8 || encoding.is_ascii_compatible() && bytes.is_ascii();
    is_text.then(|| std::str::from_utf8(bytes).ok())?
}

struct WindowBuffer {
    clip: LineWindow,
    text: String,
    seen: u64,
    last: Option<char>,
}

impl WindowBuffer {
    fn add(&mut self, piece: &str) {
        let count = piece.chars().count() as u64;
        let from = self.clip.skip.saturating_sub(self.seen).min(count);
        let to = self.clip.end().saturating_sub(self.seen).min(count);
        if from == 0 && to == count {
            self.text.push_str(piece);
        } else if from < to {
            self.text.extend(piece.chars().skip(from as usize).take((to - from) as usize));
        }
        self.seen += count;
        self.last = piece.chars().next_back().or(self.last);
    }

    /// Counts a carriage return before the line feed as part of the terminator.
    fn finish(&mut self, stop: LineStop, newline: NewlineEncoding) -> LineTerminator {
        match (stop, newline, self.last) {
            (LineStop::Inside | LineStop::FileEnded, ..) => LineTerminator::None,
            (LineStop::Ended, newline, _) if newline.is_return() => LineTerminator::Cr,
            (LineStop::Ended, _, Some('\r')) => {
                self.seen -= 1;
                if (self.clip.skip..self.clip.end()).contains(&self.seen) {
                    self.text.pop();
                }
                LineTerminator::CrLf
            }
            (LineStop::Ended, ..) => LineTerminator::Lf,
        }
    }
}

/// The line terminators seen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineTerminators {
    lf: bool,
    crlf: bool,
    cr: bool,
}

impl LineTerminators {
    /// Scans a text.
    pub(crate) fn from_text(text: &str) -> Self {
        let mut met = Self::default();
        let bytes = text.as_bytes();
        for at in memchr::memchr_iter(b'\n', bytes) {
            let before = at.checked_sub(1).and_then(|at| bytes.get(at));
            met.add(if before == Some(&b'\r') { LineTerminator::CrLf } else { LineTerminator::Lf });
        }
        met
    }

    pub(crate) fn add(&mut self, ending: LineTerminator) {
        self.lf |= ending == LineTerminator::Lf;
        self.crlf |= ending == LineTerminator::CrLf;
        self.cr |= ending == LineTerminator::Cr;
    }

    /// Returns their name; none for plain line feeds, which need no mention.
    pub(crate) fn name(self) -> Option<&'static str> {
        match (self.crlf, self.lf) {
            (true, true) => Some("mixed"),
            (true, false) => Some("crlf"),
            (false, false) if self.cr => Some("cr"),
            (false, _) => None,
        }
    }
}

#[cfg(test)]
#[path = "clip_tests.rs"]
mod tests;
