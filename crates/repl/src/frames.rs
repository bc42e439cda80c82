//! What a driver says among all that the code writes.
//!
//! A part begins with a word that is made anew for each interpreter, then a
//! letter for its kind and four digits for its length. It is short enough for
//! a pipe to take it whole, so that what others write can stand before it and
//! after it, but never in it.

/// Digits of a length.
const DIGITS: usize = 4;
/// The longest part; a pipe takes this much at once.
const LONGEST: usize = 4096;

/// A piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// What the code wrote.
    Raw(&'a [u8]),
    /// A part of what the driver says.
    Part(u8, &'a [u8]),
}

/// Takes a stream apart.
#[derive(Debug)]
pub(crate) struct Frames {
    word: Vec<u8>,
    held: Vec<u8>,
}

enum Found {
    /// At this place, of this kind, with this content.
    Part { at: usize, kind: u8, content: std::ops::Range<usize> },
    /// There may be one from here on.
    Perhaps(usize),
    /// There is the word, and it means nothing.
    Noise(usize),
}

impl Frames {
    /// For parts behind this word.
    pub(crate) fn new(word: &str) -> Self {
        Self { word: [b"\x1e", word.as_bytes()].concat(), held: Vec::new() }
    }

    /// Goes through what has come.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut visit: impl FnMut(Piece<'_>)) {
        self.held.extend_from_slice(bytes);
        let mut from = 0;
        loop {
            let raw = |to: usize| self.held.get(from..to).filter(|raw| !raw.is_empty());
            match self.find(from) {
                Found::Part { at, kind, content } => {
                    raw(at).into_iter().for_each(|raw| visit(Piece::Raw(raw)));
                    from = content.end;
                    visit(Piece::Part(kind, self.held.get(content).unwrap_or_default()));
                }
                Found::Noise(at) => {
                    raw(at + 1).into_iter().for_each(|raw| visit(Piece::Raw(raw)));
                    from = at + 1;
                }
                Found::Perhaps(at) => {
                    raw(at).into_iter().for_each(|raw| visit(Piece::Raw(raw)));
                    self.held.drain(..at);
                    return;
                }
            }
        }
    }

    /// No more is coming: what was held back was nothing but output.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    fn find(&self, from: usize) -> Found {
        let mut start = from;
        loop {
            let rest = self.held.get(start..).unwrap_or_default();
            let Some(skip) = rest.iter().position(|byte| *byte == 0x1e) else {
                return Found::Perhaps(self.held.len());
            };
            let at = start + skip;
            let rest = self.held.get(at..).unwrap_or_default();
            if rest.len() < self.word.len() {
                if self.word.starts_with(rest) {
                    return Found::Perhaps(at);
                }
            } else if rest.starts_with(&self.word) {
                return self.part(at);
            }
            start = at + 1;
        }
    }

    /// The part whose word is there.
    fn part(&self, at: usize) -> Found {
        let kind = at + self.word.len();
        let begin = kind + 1 + DIGITS;
        let (Some(letter), Some(digits)) = (self.held.get(kind), self.held.get(kind + 1..begin))
        else {
            return Found::Perhaps(at);
        };
        let length = std::str::from_utf8(digits).ok();
        let length = length.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        match length {
            Some(length) if length <= LONGEST => {
                let content = begin..begin + length;
                if self.held.len() < content.end {
                    return Found::Perhaps(at);
                }
                Found::Part { at, kind: *letter, content }
            }
            _ => Found::Noise(at),
        }
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
