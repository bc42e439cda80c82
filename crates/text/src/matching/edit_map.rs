//! Where places of a text are before and after changes of it.

use std::ops::Range;

use super::LineSpan;
use super::line_table::{LineEdges, LineTable};
use crate::document::TextEdit;

/// A place in bytes of the text before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedRange {
    /// In the text before.
    pub before: Range<usize>,
    /// In the text after.
    pub after: Range<usize>,
}

impl MovedRange {
    /// The lines of places in both texts.
    pub fn lines(traces: &[Self], old: &str, new: &str) -> Vec<(LineSpan, LineSpan)> {
        let (old, new) = (LineTable::new(old), LineTable::new(new));
        let lines =
            |trace: &Self| LineEdges::lines(old.edges(&trace.before), new.edges(&trace.after));
        traces.iter().map(lines).collect()
    }

    /// The text after is changed once more.
    pub fn map_after(&mut self, later: &EditMap) {
        self.after = later.to_after(&self.after);
    }

    /// The text before was made from another one.
    pub fn map_before(&mut self, earlier: &EditMap) {
        self.before = earlier.to_before(&self.before);
    }
}

pub(super) fn length_change(edit: &TextEdit) -> isize {
    edit.text.len().cast_signed() - edit.range.len().cast_signed()
}

type RangePair = (Range<usize>, Range<usize>);

/// Where the pieces of a text are that edits put others in place of, before
/// and after.
#[derive(Debug)]
pub struct EditMap {
    pairs: Vec<RangePair>,
}

impl EditMap {
    /// Of edits that are in order and apart from each other.
    pub fn from_edits(edits: &[TextEdit]) -> Self {
        let mut drift = 0;
        let pair = |edit: &TextEdit| {
            let start = edit.range.start.saturating_add_signed(drift);
            drift += length_change(edit);
            (edit.range.clone(), start..start + edit.text.len())
        };
        Self { pairs: edits.iter().map(pair).collect() }
    }

    /// Where a range of the text before is afterwards. What is put in right at
    /// its ends is not of it.
    fn to_after(&self, range: &Range<usize>) -> Range<usize> {
        map_range(range, &self.pairs, |(from, to)| (from, to))
    }

    /// Where a range of the text after was before.
    fn to_before(&self, range: &Range<usize>) -> Range<usize> {
        map_range(range, &self.pairs, |(from, to)| (to, from))
    }

    /// Where a range is afterwards, with what edits of its own make of it.
    pub(super) fn to_after_with(&self, range: &Range<usize>, own: &[Range<usize>]) -> Range<usize> {
        let made = own.iter().filter_map(|own| {
            let at = self.pairs.partition_point(|(from, _)| from.start < own.start);
            self.pairs.get(at..)?.iter().find(|(from, _)| from == own).map(|(_, to)| to)
        });
        made.fold(self.to_after(range), |whole, part| {
            whole.start.min(part.start)..whole.end.max(part.end)
        })
    }
}

/// A range of one text in the other. An end within a piece that was changed is
/// moved to that piece's end.
fn map_range(
    range: &Range<usize>,
    pairs: &[RangePair],
    turned: impl Fn(&RangePair) -> (&Range<usize>, &Range<usize>),
) -> Range<usize> {
    let offset = |at: usize, before: usize| {
        let (from, to) = before.checked_sub(1).and_then(|i| pairs.get(i)).map_or((0, 0), |pair| {
            let (from, to) = turned(pair);
            (from.end, to.end)
        });
        at - from + to
    };
    let within = |at: usize, before: usize| {
        let (from, to) = turned(pairs.get(before)?);
        (from.start < at).then_some(to)
    };
    let before = pairs.partition_point(|pair| turned(pair).0.end <= range.start);
    let start =
        within(range.start, before).map_or_else(|| offset(range.start, before), |to| to.start);
    let until = pairs.partition_point(|pair| {
        let (from, _) = turned(pair);
        from.end < range.end || from.end == range.end && !from.is_empty()
    });
    let end = within(range.end, until).map_or_else(|| offset(range.end, until), |to| to.end);
    start..end.max(start)
}
