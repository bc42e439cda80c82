//! Separates driver messages from the output of the code.
//!
//! A part begins with a marker that is unique to each interpreter, then a
//! letter for its kind and four hexadecimal digits for its length. It is short
//! enough to be written to a pipe atomically, so other output can precede or
//! follow it but never split it.

/// Number of digits of a length.
const LENGTH_DIGITS: usize = 4;
/// Maximum size of a part; a pipe accepts this much atomically.
const MAX_PART_BYTES: usize = 4096;

/// A piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamPiece<'a> {
    /// Output of the code.
    CodeOutput(&'a [u8]),
    /// A part of a driver message, with its kind.
    DriverPart(u8, &'a [u8]),
}

/// Splits a stream into pieces.
#[derive(Debug)]
pub(crate) struct FrameSplitter {
    marker: Vec<u8>,
    pending: Vec<u8>,
}

enum ScanResult {
    /// A part at this offset, with its kind and content.
    Part { at: usize, kind: u8, content: std::ops::Range<usize> },
    /// A part may begin at this offset.
    Incomplete(usize),
    /// The marker at this offset does not begin a part.
    NotAPart(usize),
}

impl FrameSplitter {
    /// Creates a splitter for parts with this marker.
    pub(crate) fn new(word: &str) -> Self {
        Self { marker: [b"\x1e", word.as_bytes()].concat(), pending: Vec::new() }
    }

    /// Processes the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut visit: impl FnMut(StreamPiece<'_>)) {
        self.pending.extend_from_slice(bytes);
        let mut from = 0;
        loop {
            let raw = |to: usize| self.pending.get(from..to).filter(|raw| !raw.is_empty());
            match self.scan(from) {
                ScanResult::Part { at, kind, content } => {
                    raw(at).into_iter().for_each(|raw| visit(StreamPiece::CodeOutput(raw)));
                    from = content.end;
                    visit(StreamPiece::DriverPart(
                        kind,
                        self.pending.get(content).unwrap_or_default(),
                    ));
                }
                ScanResult::NotAPart(at) => {
                    raw(at + 1).into_iter().for_each(|raw| visit(StreamPiece::CodeOutput(raw)));
                    from = at + 1;
                }
                ScanResult::Incomplete(at) => {
                    raw(at).into_iter().for_each(|raw| visit(StreamPiece::CodeOutput(raw)));
                    self.pending.drain(..at);
                    return;
                }
            }
        }
    }

    /// Ends the stream and returns the bytes held back, which are plain output.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    fn scan(&self, from: usize) -> ScanResult {
        let mut start = from;
        loop {
            let rest = self.pending.get(start..).unwrap_or_default();
            let Some(skip) = rest.iter().position(|byte| *byte == 0x1e) else {
                return ScanResult::Incomplete(self.pending.len());
            };
            let at = start + skip;
            let rest = self.pending.get(at..).unwrap_or_default();
            if rest.len() < self.marker.len() {
                if self.marker.starts_with(rest) {
                    return ScanResult::Incomplete(at);
                }
            } else if rest.starts_with(&self.marker) {
                return self.parse_part(at);
            }
            start = at + 1;
        }
    }

    /// Parses the part whose marker is at this offset.
    fn parse_part(&self, at: usize) -> ScanResult {
        let kind = at + self.marker.len();
        let begin = kind + 1 + LENGTH_DIGITS;
        let (Some(letter), Some(digits)) =
            (self.pending.get(kind), self.pending.get(kind + 1..begin))
        else {
            return ScanResult::Incomplete(at);
        };
        let length = std::str::from_utf8(digits).ok();
        let length = length.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        match length {
            Some(length) if length <= MAX_PART_BYTES => {
                let content = begin..begin + length;
                if self.pending.len() < content.end {
                    return ScanResult::Incomplete(at);
                }
                ScanResult::Part { at, kind: *letter, content }
            }
            _ => ScanResult::NotAPart(at),
        }
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
