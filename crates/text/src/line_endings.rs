//! Line endings of a text.

use std::fmt;

/// A line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineEnding {
    /// A line feed.
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// A lone carriage return, as in classic Mac OS.
    Cr,
}

/// The line endings of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineEndings {
    /// The most frequent one; none if no line is terminated.
    pub dominant: Option<LineEnding>,
    /// Whether several kinds occur.
    pub is_mixed: bool,
    /// Whether the last line has an ending.
    pub final_newline: bool,
}

impl LineEnding {
    /// Returns the characters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }

    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lf => "lf",
            Self::CrLf => "crlf",
            Self::Cr => "cr",
        }
    }
}

impl LineEndings {
    /// Detects the line endings of a text. A lone carriage return is a line
    /// ending only in a text without line feeds; elsewhere it is an ordinary
    /// character.
    pub fn detect(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (mut lf, mut crlf) = (0_usize, 0_usize);
        if memchr::memchr(b'\r', bytes).is_none() {
            let dominant = memchr::memchr(b'\n', bytes).map(|_| LineEnding::Lf);
            return Self { dominant, is_mixed: false, final_newline: bytes.last() == Some(&b'\n') };
        }
        for at in memchr::memchr_iter(b'\n', bytes) {
            match at.checked_sub(1).and_then(|before| bytes.get(before)) {
                Some(b'\r') => crlf += 1,
                _ => lf += 1,
            }
        }
        let dominant = match (lf, crlf) {
            (0, 0) => memchr::memchr(b'\r', bytes).map(|_| LineEnding::Cr),
            _ if crlf > lf => Some(LineEnding::CrLf),
            _ => Some(LineEnding::Lf),
        };
        let last = if dominant == Some(LineEnding::Cr) { b'\r' } else { b'\n' };
        Self { dominant, is_mixed: lf > 0 && crlf > 0, final_newline: bytes.last() == Some(&last) }
    }

    /// Returns the display name; none for plain line feeds, which need no
    /// mention.
    pub fn label(self) -> Option<&'static str> {
        match self.dominant {
            _ if self.is_mixed => Some("mixed"),
            Some(LineEnding::Lf) | None => None,
            Some(other) => Some(other.name()),
        }
    }
}

/// Whether carriage returns end the lines of a text, which has no line feeds.
pub(crate) fn has_only_returns(text: &str) -> bool {
    let has = |byte| memchr::memchr(byte, text.as_bytes()).is_some();
    !has(b'\n') && has(b'\r')
}

fn terminator(text: &str) -> char {
    if has_only_returns(text) { '\r' } else { '\n' }
}

/// Returns the lines of a text without their endings. A line feed ends a line,
/// with or without a preceding carriage return; in a text without line feeds a
/// carriage return does.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mark = terminator(text);
    text.split_inclusive(mark).map(move |line| match line.strip_suffix(mark) {
        Some(words) => words.strip_suffix('\r').filter(|_| mark == '\n').unwrap_or(words),
        None => line,
    })
}

/// Returns the number of lines, including an unterminated last one.
pub fn count_lines(text: &str) -> usize {
    let mark = terminator(text);
    line_ends(text, mark) + usize::from(!text.is_empty() && !text.ends_with(mark))
}

/// Returns the line number, starting at 1, that contains a byte offset.
pub fn line_at(text: &str, offset: usize) -> usize {
    let before = text.get(..text.floor_char_boundary(offset)).unwrap_or_default();
    line_ends(before, terminator(text)) + 1
}

fn line_ends(text: &str, mark: char) -> usize {
    let mark = if mark == '\r' { b'\r' } else { b'\n' };
    memchr::memchr_iter(mark, text.as_bytes()).count()
}

impl fmt::Display for LineEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
#[path = "line_endings_tests.rs"]
mod tests;
