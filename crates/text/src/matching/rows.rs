//! A text as lines: where each begins, where its words end, and where the next
//! begins.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::Lines;

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
    returns: bool,
    /// All that is kept of a line is where it begins: a long text has many, and
    /// few of them are asked for.
    starts: Vec<usize>,
}

/// An offset as lines see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    /// How many lines end before it.
    pub(crate) ended: usize,
    /// Whether a line begins there.
    pub(crate) is_begin: bool,
    /// Whether the text ends there.
    pub(crate) is_last: bool,
}

/// A range of a text as lines see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edges {
    /// How many lines end before it begins.
    pub(crate) start: usize,
    pub(crate) end: Edge,
}

impl Edges {
    /// The lines of a place in the old text and of what it becomes in the new
    /// one. The line behind it is among them where either text continues
    /// within a line.
    pub(crate) fn lines(old: Self, new: Self) -> (Lines, Lines) {
        let is_closed = old.end.is_begin && new.end.is_begin;
        (old.reach(is_closed), new.reach(is_closed))
    }

    fn reach(self, is_closed: bool) -> Lines {
        let is_over = is_closed || self.end.is_begin && self.end.is_last;
        let end = self.end.ended + usize::from(!is_over);
        Lines { first: self.start + 1, last: end.max(self.start) }
    }
}

/// Bytes of a usual line, and lines for which room is made at once.
const USUAL: usize = 32;
const ROOM: usize = 1 << 20;

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
        let mut starts = Vec::with_capacity((bytes.len() / USUAL).min(ROOM) + 1);
        starts.push(0);
        starts.extend(memchr_iter(mark, bytes).map(|at| at + 1));
        // Behind the last ending there is no line.
        starts.pop_if(|last| *last == bytes.len());
        Self { text, returns, starts }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    pub(crate) fn get(&self, index: usize) -> Option<Row> {
        let start = *self.starts.get(index)?;
        let next = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        let line = self.text.get(start..next)?;
        let words = match line.strip_suffix(if self.returns { '\r' } else { '\n' }) {
            Some(words) if !self.returns => words.strip_suffix('\r').unwrap_or(words),
            Some(words) => words,
            None => line,
        };
        Some(Row { start, end: start + words.len(), next })
    }

    /// These lines; none if not all of them are there.
    pub(crate) fn slice(&self, range: Range<usize>) -> Vec<Row> {
        range.map(|index| self.get(index)).collect::<Option<_>>().unwrap_or_default()
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
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The lines that a range of the text touches, counted from 1.
    pub(crate) fn span(&self, range: &Range<usize>) -> Lines {
        let first = self.at(range.start);
        let last = if range.end > range.start { self.at(range.end - 1) } else { first };
        Lines { first: first + 1, last: last.max(first) + 1 }
    }

    /// How many lines end before this offset.
    fn ended(&self, offset: usize) -> usize {
        let begun = self.starts.partition_point(|start| *start <= offset);
        let is_behind = offset > 0 && offset == self.text.len() && self.begins(offset);
        (begun + usize::from(is_behind)).saturating_sub(1)
    }

    /// Whether a line begins at this offset, or would if there were more text.
    fn begins(&self, offset: usize) -> bool {
        offset.checked_sub(1).is_none_or(|at| self.text.as_bytes().get(at) == Some(&self.mark()))
    }

    fn edge(&self, offset: usize) -> Edge {
        Edge {
            ended: self.ended(offset),
            is_begin: self.begins(offset),
            is_last: offset == self.text.len(),
        }
    }

    /// A range by its ends.
    pub(crate) fn edges(&self, range: &Range<usize>) -> Edges {
        Edges { start: self.ended(range.start), end: self.edge(range.end) }
    }

    /// The byte that ends lines.
    pub(crate) fn mark(&self) -> u8 {
        if self.returns { b'\r' } else { b'\n' }
    }

    /// Whether a line of the text ends so, or none ends at all.
    pub(crate) fn may_end(&self, ending: &str) -> bool {
        let mut any = false;
        (0..self.len()).filter_map(|index| self.get(index)).any(|row| {
            any |= row.next > row.end;
            self.text.get(row.end..row.next) == Some(ending)
        }) || !any
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
