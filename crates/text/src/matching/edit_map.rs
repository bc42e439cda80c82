//! Maps ranges of a text to their positions before and after edits.

use std::ops::Range;

use super::LineSpan;
use super::line_table::{LineEdges, LineTable};
use crate::document::TextEdit;

/// A byte range before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedRange {
    /// The range in the text before the change.
    pub before: Range<usize>,
    /// The range in the text after the change.
    pub after: Range<usize>,
}

impl MovedRange {
    /// Returns the lines of the ranges in both texts.
    pub fn lines(traces: &[Self], old: &str, new: &str) -> Vec<(LineSpan, LineSpan)> {
        let (old, new) = (LineTable::new(old), LineTable::new(new));
        let lines =
            |trace: &Self| LineEdges::lines(old.edges(&trace.before), new.edges(&trace.after));
        traces.iter().map(lines).collect()
    }

    /// Maps the range after the change through a later change.
    pub fn map_after(&mut self, later: &EditMap) {
        self.after = later.to_after(&self.after);
    }

    /// Maps the range before the change back through an earlier change.
    pub fn map_before(&mut self, earlier: &EditMap) {
        self.before = earlier.to_before(&self.before);
    }
}

pub(super) fn length_change(edit: &TextEdit) -> isize {
    edit.text.len().cast_signed() - edit.range.len().cast_signed()
}

type RangePair = (Range<usize>, Range<usize>);

/// The replaced ranges of a text, before and after the edits.
#[derive(Debug)]
pub struct EditMap {
    pairs: Vec<RangePair>,
}

impl EditMap {
    /// Builds the map from edits, which must be sorted and must not overlap.
    pub fn from_edits(edits: &[TextEdit]) -> Self {
        let mut drift = 0;
        let pair = |edit: &TextEdit| {
            let start = edit.range.start.saturating_add_signed(drift);
            drift += length_change(edit);
            (edit.range.clone(), start..start + edit.text.len())
        };
        Self { pairs: edits.iter().map(pair).collect() }
    }

    /// Maps a range of the text before to the text after. Insertions at its
    /// ends are excluded.
    fn to_after(&self, range: &Range<usize>) -> Range<usize> {
        map_range(range, &self.pairs, |(from, to)| (from, to))
    }

    /// Maps a range of the text after back to the text before.
    fn to_before(&self, range: &Range<usize>) -> Range<usize> {
        map_range(range, &self.pairs, |(from, to)| (to, from))
    }

    /// Like [`Self::to_after`], but includes the results of the edits at the
    /// `own` ranges.
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

/// Maps a range to the other text. An end inside a changed piece moves to that
/// piece's end.
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
