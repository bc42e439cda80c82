//! Line changes, and the line blocks they are made of.

use std::ops::Range;

use crate::line_endings::has_only_returns;

/// One change: old lines and the new lines that replace them. Line numbers
/// start at 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineChange {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    pub(super) old_bytes: Range<usize>,
    pub(super) new_bytes: Range<usize>,
    /// Whether the change is shown only as part of a hunk that has other
    /// changes.
    pub(super) is_ignored: bool,
}

/// A run of whole lines from one of the texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineBlock<'a> {
    pub(super) text: &'a str,
    /// The byte that ends each line.
    pub(super) terminator: u8,
    /// Whether the text ends with this block.
    pub(super) is_last: bool,
}

impl<'a> LineBlock<'a> {
    /// Returns the lines, each with its ending.
    pub(super) fn lines(self) -> impl Iterator<Item = &'a str> {
        split_lines(self.text, self.terminator)
    }

    /// Returns the lines without their endings, and whether each has one. A
    /// lone carriage return is kept to stay visible; as the last character of
    /// the text it does not count as an ending.
    pub(super) fn stripped_lines(self) -> impl Iterator<Item = (&'a str, bool)> {
        let mut left = self.text.len();
        self.lines().map(move |line| {
            left -= line.len();
            let (body, is_ended) = strip_line_end(line);
            (body, is_ended && (body.len() < line.len() || left > 0 || !self.is_last))
        })
    }

    /// Returns the number of lines.
    pub(super) fn count(self) -> usize {
        count_lines(self.text, self.terminator)
    }
}

/// Strips the line feed from a line; also returns whether the line has an
/// ending.
pub(super) fn strip_line_end(line: &str) -> (&str, bool) {
    match line.strip_suffix('\n') {
        Some(line) => (line, true),
        // A lone carriage return is kept to stay visible.
        None => (line, line.ends_with('\r')),
    }
}

/// Which characters end a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LineBreaks {
    /// Line feeds, the only line ending that `patch` and `git apply` know.
    #[default]
    LineFeedsOnly,
    /// What a reader sees as a line ending: carriage returns in a text without
    /// line feeds, otherwise line feeds.
    AsRead,
}

impl LineBreaks {
    /// Returns the byte that ends the lines of `text`.
    pub(super) fn terminator_of(self, text: &str) -> u8 {
        if self == Self::AsRead && has_only_returns(text) { b'\r' } else { b'\n' }
    }
}

/// Splits a text into lines, each with its ending.
pub(super) fn split_lines(text: &str, terminator: u8) -> impl Iterator<Item = &str> {
    let ends = memchr::memchr_iter(terminator, text.as_bytes()).map(|at| at + 1);
    let open = !text.is_empty() && text.as_bytes().last() != Some(&terminator);
    let mut start = 0;
    ends.chain(open.then_some(text.len())).map(move |end| {
        let line = text.get(start..end).unwrap_or_default();
        start = end;
        line
    })
}

/// Returns the number of lines.
pub(super) fn count_lines(text: &str, terminator: u8) -> usize {
    let open = !text.is_empty() && text.as_bytes().last() != Some(&terminator);
    memchr::memchr_iter(terminator, text.as_bytes()).count() + usize::from(open)
}
