//! What a driver says among all that the code writes.
//!
//! A part begins with a word that is made anew for each interpreter, then a
//! letter for its kind and four digits for its length. It is short enough for
//! a pipe to take it whole, so that what others write can stand before it and
//! after it, but never in it.

/// Digits of a length.
const LENGTH_DIGITS: usize = 4;
/// The longest part; a pipe takes this much at once.
const MAX_PART_BYTES: usize = 4096;

/// A piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamPiece<'a> {
    /// What the code wrote.
    CodeOutput(&'a [u8]),
    /// A part of what the driver says.
    DriverPart(u8, &'a [u8]),
}

/// Takes a stream apart.
#[derive(Debug)]
pub(crate) struct FrameSplitter {
    marker: Vec<u8>,
    pending: Vec<u8>,
}

enum ScanResult {
    /// At this place, of this kind, with this content.
    Part { at: usize, kind: u8, content: std::ops::Range<usize> },
    /// There may be one from here on.
    Incomplete(usize),
    /// There is the word, and it means nothing.
    NotAPart(usize),
}

impl FrameSplitter {
    /// For parts behind this word.
    pub(crate) fn new(word: &str) -> Self {
        Self { marker: [b"\x1e", word.as_bytes()].concat(), pending: Vec::new() }
    }

    /// Goes through what has come.
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

    /// No more is coming: what was held back was nothing but output.
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

    /// The part whose word is there.
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
