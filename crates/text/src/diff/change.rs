//! One change: lines of the old text that become lines of the new one.

use std::ops::Range;

use crate::line_endings::has_only_returns;

/// Lines are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineChange {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
    pub(super) old_bytes: Range<usize>,
    pub(super) new_bytes: Range<usize>,
    /// Shown only next to one that counts.
    pub(super) is_ignored: bool,
}

/// Whole lines of one of the texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineBlock<'a> {
    pub(super) text: &'a str,
    /// What ends its lines.
    pub(super) terminator: u8,
    /// Whether the text is over with it.
    pub(super) is_last: bool,
}

impl<'a> LineBlock<'a> {
    /// Each with its end.
    pub(super) fn lines(self) -> impl Iterator<Item = &'a str> {
        split_lines(self.text, self.terminator)
    }

    /// Each without its end, and whether it has one. A lone carriage return
    /// stays, so that it is seen; no line feed follows the last of them.
    pub(super) fn stripped_lines(self) -> impl Iterator<Item = (&'a str, bool)> {
        let mut left = self.text.len();
        self.lines().map(move |line| {
            left -= line.len();
            let (body, is_ended) = strip_line_end(line);
            (body, is_ended && (body.len() < line.len() || left > 0 || !self.is_last))
        })
    }

    /// How many there are.
    pub(super) fn count(self) -> usize {
        count_lines(self.text, self.terminator)
    }
}

/// A line without its end, and whether it has one.
pub(super) fn strip_line_end(line: &str) -> (&str, bool) {
    match line.strip_suffix('\n') {
        Some(line) => (line, true),
        // A lone carriage return stays, so that it is seen.
        None => (line, line.ends_with('\r')),
    }
}

/// Where lines end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LineBreaks {
    /// At line feeds, the only ends that `patch` and `git apply` know.
    #[default]
    LineFeedsOnly,
    /// Where a reader sees them end: at carriage returns in a text that has no
    /// line feed.
    AsRead,
}

impl LineBreaks {
    /// What ends the lines of a text.
    pub(super) fn terminator_of(self, text: &str) -> u8 {
        if self == Self::AsRead && has_only_returns(text) { b'\r' } else { b'\n' }
    }
}

/// The lines of a text, each with its end.
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

/// How many lines there are.
pub(super) fn count_lines(text: &str, terminator: u8) -> usize {
    let open = !text.is_empty() && text.as_bytes().last() != Some(&terminator);
    memchr::memchr_iter(terminator, text.as_bytes()).count() + usize::from(open)
}
