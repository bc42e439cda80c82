//! A text as lines: where each begins, where its words end, and where the next
//! begins.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter};

/// One line of a text, as offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) start: usize,
    /// Where its ending begins.
    pub(crate) end: usize,
    /// Where the next line begins.
    pub(crate) next: usize,
}

/// The lines of a text. Lines end with a line feed, with or without a carriage
/// return before it; in a text without any line feed a carriage return ends
/// them.
#[derive(Debug)]
pub(crate) struct Rows<'t> {
    text: &'t str,
    rows: Vec<Row>,
}

/// Whether lone carriage returns end the lines of this text.
pub(crate) fn ends_with_returns(text: &str) -> bool {
    memchr(b'\n', text.as_bytes()).is_none() && memchr(b'\r', text.as_bytes()).is_some()
}

/// A caller's text with line feeds for whatever ends its lines.
pub(crate) fn feeds(text: &str, returns: bool) -> Cow<'_, str> {
    if memchr(b'\r', text.as_bytes()).is_none() {
        return text.into();
    }
    let text = text.replace("\r\n", "\n");
    if returns { text.replace('\r', "\n").into() } else { text.into() }
}

impl<'t> Rows<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let returns = ends_with_returns(text);
        let mark = if returns { b'\r' } else { b'\n' };
        let mut rows = Vec::new();
        let mut start = 0;
        for at in memchr_iter(mark, bytes) {
            let crlf = !returns && at > start && bytes.get(at - 1) == Some(&b'\r');
            rows.push(Row { start, end: at - usize::from(crlf), next: at + 1 });
            start = at + 1;
        }
        if start < bytes.len() {
            rows.push(Row { start, end: bytes.len(), next: bytes.len() });
        }
        Self { text, rows }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    pub(crate) fn get(&self, index: usize) -> Option<Row> {
        self.rows.get(index).copied()
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> &[Row] {
        self.rows.get(range).unwrap_or_default()
    }

    /// The words of a line, without its ending; empty behind the last line.
    pub(crate) fn line(&self, index: usize) -> &'t str {
        self.get(index).and_then(|row| self.text.get(row.start..row.end)).unwrap_or_default()
    }

    /// The lines from the first on.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'t str> {
        (0..self.len()).map(|index| self.line(index))
    }

    /// The line that holds this offset: the last one for the end of the text.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.rows.partition_point(|row| row.start <= offset).saturating_sub(1)
    }

    /// The lines that a range of the text touches, counted from 1.
    pub(crate) fn span(&self, range: &Range<usize>) -> super::Lines {
        let first = self.at(range.start);
        let last = if range.end > range.start { self.at(range.end - 1) } else { first };
        super::Lines { first: first + 1, last: last.max(first) + 1 }
    }

    /// How the lines around this one end: it itself, one before, one after.
    pub(crate) fn ending_near(&self, index: usize) -> &'t str {
        let ending = |index: usize| {
            let row = self.get(index)?;
            self.text.get(row.end..row.next).filter(|ending| !ending.is_empty())
        };
        ending(index)
            .or_else(|| ending(index.checked_sub(1)?))
            .or_else(|| ending(index + 1))
            .or_else(|| ending(0))
            .unwrap_or("\n")
    }
}
