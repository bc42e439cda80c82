//! An index of the lines of a text, as byte offsets.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::LineSpan;
use crate::line_endings::has_only_returns;

/// Byte offsets of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineOffsets {
    pub(crate) start: usize,
    /// Start of its line ending.
    pub(crate) end: usize,
    /// Start of the next line.
    pub(crate) next: usize,
}

/// The lines of a text. A line feed ends a line, with or without a preceding
/// carriage return; in a text without line feeds a carriage return does.
#[derive(Debug)]
pub(crate) struct LineTable<'t> {
    text: &'t str,
    has_only_returns: bool,
    /// Lines are counted per block up front, and located only in the blocks
    /// that are accessed, since few lines of a long text are needed.
    blocks: Vec<IndexBlock>,
    len: usize,
}

/// A block of the text.
#[derive(Debug)]
struct IndexBlock {
    /// Number of lines that begin before it.
    before: usize,
    /// Line starts within it.
    starts: OnceCell<Vec<usize>>,
}

/// Size of a block.
const INDEX_BLOCK_BYTES: usize = 16 * 1024;

/// An offset in terms of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineEdge {
    /// Number of lines that end before it.
    pub(crate) lines_ended: usize,
    /// Whether a line begins there.
    pub(crate) is_begin: bool,
    /// Whether the text ends there.
    pub(crate) is_last: bool,
}

/// A range in terms of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineEdges {
    /// Number of lines that end before its start.
    pub(crate) start: usize,
    pub(crate) end: LineEdge,
}

impl LineEdges {
    /// Returns the line spans of a place in the old text and of its replacement
    /// in the new text. They include the line after it if either text continues
    /// within a line.
    pub(crate) fn lines(old: Self, new: Self) -> (LineSpan, LineSpan) {
        let is_closed = old.end.is_begin && new.end.is_begin;
        (old.line_span(is_closed), new.line_span(is_closed))
    }

    fn line_span(self, is_closed: bool) -> LineSpan {
        let is_over = is_closed || self.end.is_begin && self.end.is_last;
        let end = self.end.lines_ended + usize::from(!is_over);
        LineSpan { first: self.start + 1, last: end.max(self.start) }
    }
}

/// Normalizes the line endings of a caller's text to line feeds.
pub(crate) fn to_line_feeds(text: &str, returns: bool) -> Cow<'_, str> {
    if memchr(b'\r', text.as_bytes()).is_none() {
        return text.into();
    }
    let text = text.replace("\r\n", "\n");
    if returns { text.replace('\r', "\n").into() } else { text.into() }
}

impl<'t> LineTable<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let returns = has_only_returns(text);
        let count = text.len().div_ceil(INDEX_BLOCK_BYTES);
        let mut rows =
            Self { text, has_only_returns: returns, blocks: Vec::with_capacity(count), len: 0 };
        for number in 0..count {
            rows.blocks.push(IndexBlock { before: rows.len, starts: OnceCell::new() });
            rows.len += usize::from(number == 0) + rows.line_ends(number).count();
        }
        rows
    }

    /// Returns the line ends after which the lines of a block begin; no line
    /// follows the last one of the text.
    fn line_ends(&self, block: usize) -> memchr::Memchr<'t> {
        let last = self.text.len().saturating_sub(1);
        let from = (block * INDEX_BLOCK_BYTES).saturating_sub(1);
        let to = ((block + 1) * INDEX_BLOCK_BYTES - 1).min(last);
        memchr_iter(self.terminator(), self.text.as_bytes().get(from..to).unwrap_or_default())
    }

    /// Returns the line starts in a block.
    fn line_starts(&self, block: usize) -> &[usize] {
        let Some(IndexBlock { starts, .. }) = self.blocks.get(block) else { return &[] };
        starts.get_or_init(|| {
            let from = (block * INDEX_BLOCK_BYTES).saturating_sub(1);
            let first = (block == 0).then_some(0);
            first.into_iter().chain(self.line_ends(block).map(|at| from + at + 1)).collect()
        })
    }

    /// Returns the start of a line.
    fn line_start(&self, index: usize) -> Option<usize> {
        let block = self.blocks.partition_point(|block| block.before <= index).checked_sub(1)?;
        let before = self.blocks.get(block)?.before;
        self.line_starts(block).get(index - before).copied()
    }

    /// Returns the number of lines that begin at or before an offset.
    fn lines_begun(&self, offset: usize) -> usize {
        let block = (offset / INDEX_BLOCK_BYTES).min(self.blocks.len().saturating_sub(1));
        let before = self.blocks.get(block).map_or(0, |block| block.before);
        before + self.line_starts(block).partition_point(|start| *start <= offset)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    pub(crate) fn get(&self, index: usize) -> Option<LineOffsets> {
        let start = self.line_start(index)?;
        let next = self.line_start(index + 1).unwrap_or(self.text.len());
        let line = self.text.get(start..next)?;
        let words = match line.strip_suffix(if self.has_only_returns { '\r' } else { '\n' }) {
            Some(words) if !self.has_only_returns => words.strip_suffix('\r').unwrap_or(words),
            Some(words) => words,
            None => line,
        };
        Some(LineOffsets { start, end: start + words.len(), next })
    }

    /// Returns these lines; empty unless all of them exist.
    pub(crate) fn slice(&self, range: Range<usize>) -> Vec<LineOffsets> {
        range.map(|index| self.get(index)).collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns the text of a line without its ending; empty past the last line.
    pub(crate) fn line(&self, index: usize) -> &'t str {
        self.get(index).and_then(|row| self.text.get(row.start..row.end)).unwrap_or_default()
    }

    /// Returns all lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'t str> {
        (0..self.len()).map(|index| self.line(index))
    }

    /// Returns the line that contains an offset; the last one for the end of
    /// the text.
    pub(crate) fn row_at(&self, offset: usize) -> usize {
        self.lines_begun(offset).saturating_sub(1)
    }

    /// Returns the lines that a range touches, numbered from 1.
    pub(crate) fn line_span(&self, range: &Range<usize>) -> LineSpan {
        let first = self.row_at(range.start);
        let last = if range.end > range.start { self.row_at(range.end - 1) } else { first };
        LineSpan { first: first + 1, last: last.max(first) + 1 }
    }

    /// Returns the number of lines that end before an offset.
    fn lines_ended(&self, offset: usize) -> usize {
        let begun = self.lines_begun(offset);
        let is_behind = offset > 0 && offset == self.text.len() && self.is_line_start(offset);
        (begun + usize::from(is_behind)).saturating_sub(1)
    }

    /// Whether a line begins at this offset, or would if the text continued.
    fn is_line_start(&self, offset: usize) -> bool {
        offset
            .checked_sub(1)
            .is_none_or(|at| self.text.as_bytes().get(at) == Some(&self.terminator()))
    }

    fn edge(&self, offset: usize) -> LineEdge {
        LineEdge {
            lines_ended: self.lines_ended(offset),
            is_begin: self.is_line_start(offset),
            is_last: offset == self.text.len(),
        }
    }

    /// Returns a range in terms of lines.
    pub(crate) fn edges(&self, range: &Range<usize>) -> LineEdges {
        LineEdges { start: self.lines_ended(range.start), end: self.edge(range.end) }
    }

    /// Returns the byte that ends lines.
    pub(crate) fn terminator(&self) -> u8 {
        if self.has_only_returns { b'\r' } else { b'\n' }
    }

    /// Whether a line of the text has this ending, or none has any.
    pub(crate) fn may_end_with(&self, ending: &str) -> bool {
        let mut any = false;
        (0..self.len()).filter_map(|index| self.get(index)).any(|row| {
            any |= row.next > row.end;
            self.text.get(row.end..row.next) == Some(ending)
        }) || !any
    }

    /// Returns the ending of this line, else of the previous, the next or the
    /// first one.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn starts(text: &str) -> Vec<usize> {
        let mark = if has_only_returns(text) { b'\r' } else { b'\n' };
        let mut starts = vec![0];
        starts.extend(memchr_iter(mark, text.as_bytes()).map(|at| at + 1));
        starts.pop_if(|last| *last == text.len());
        starts
    }

    fn check(text: &str) {
        let (rows, starts) = (LineTable::new(text), starts(text));
        assert_eq!(rows.len(), starts.len());
        assert_eq!(rows.is_empty(), starts.is_empty());
        for index in 0..starts.len() + 2 {
            assert_eq!(rows.get(index).map(|row| row.start), starts.get(index).copied());
        }
        let near = [
            0,
            1,
            text.len() / 2,
            INDEX_BLOCK_BYTES - 1,
            INDEX_BLOCK_BYTES,
            INDEX_BLOCK_BYTES + 1,
            text.len(),
        ];
        for offset in near.into_iter().filter(|offset| *offset <= text.len()) {
            let at = starts.partition_point(|start| *start <= offset).saturating_sub(1);
            assert_eq!(rows.row_at(offset), at, "{offset}");
        }
    }

    #[test]
    fn lines_are_found_on_both_sides_of_a_block() {
        for len in [
            0,
            1,
            INDEX_BLOCK_BYTES - 2,
            INDEX_BLOCK_BYTES - 1,
            INDEX_BLOCK_BYTES,
            INDEX_BLOCK_BYTES + 1,
            2 * INDEX_BLOCK_BYTES,
        ] {
            for end in ["", "\n", "\r\n", "x", "\nx", "\n\n"] {
                check(&("y".repeat(len) + end));
                check(&("y\n".repeat(len / 2) + end));
                check(&("y\r".repeat(len / 2) + end));
            }
        }
    }

    proptest! {
        #[test]
        fn lines_are_where_they_were(
            lines in prop::collection::vec((0_usize..3000, "\n|\r\n|\n\n"), 0..40),
            end in "|x|\n",
        ) {
            let text: String =
                lines.iter().map(|(len, end)| "z".repeat(*len) + end).chain([end]).collect();
            check(&text);
        }
    }
}
