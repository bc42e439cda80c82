//! Finds the smallest context that makes a place unique.

use std::ops::Range;

use super::LineSpan;
use super::folding::occurrences;
use super::line_table::{LineTable, to_line_feeds};
use crate::line_endings::has_only_returns;

/// A place with the surrounding lines that make it unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UniqueContext {
    /// The place and the surrounding lines.
    pub lines: LineSpan,
    /// How often the place's own text occurs, including within lines.
    pub occurrences: usize,
    /// Whether the lines occur only once. If not, `lines` is the place itself,
    /// since even a large context repeats.
    pub is_unique: bool,
}

/// Maximum number of context lines above and below a place.
const MAX_CONTEXT_LINES: usize = 40;
/// Maximum number of other places compared.
const MAX_COMPARED_PLACES: usize = 2_000;

/// Returns the smallest unique context of each place, regardless of line
/// endings.
pub fn unique_contexts(text: &str, places: &[LineSpan]) -> Vec<UniqueContext> {
    let plain = to_line_feeds(text, has_only_returns(text));
    let rows = LineTable::new(&plain);
    places.iter().map(|place| unique_context(&rows, *place)).collect()
}

/// Like [`unique_contexts`] for one place, with the line endings as they are.
pub(super) fn unique_context(rows: &LineTable<'_>, place: LineSpan) -> UniqueContext {
    let last = place.last.min(rows.len()).max(1) - 1;
    let own = extend_to_text(rows, place.first.saturating_sub(1).min(last)..last + 1);
    let Some((block, start)) = block_text(rows, &own) else {
        return UniqueContext { lines: place, occurrences: 0, is_unique: false };
    };
    let places = occurrences(rows.text(), block, true, Some).take(MAX_COMPARED_PLACES + 1);
    let others: Vec<Range<usize>> = places.filter(|other| other.start != start).collect();
    let times = others.len() + 1;
    let likes: Vec<SharedContext> =
        others.iter().map(|other| SharedContext::measure(rows, &own, other)).collect();
    let around =
        (times <= MAX_COMPARED_PLACES).then(|| fewest_lines(&likes, &own, rows.len())).flatten();
    let (above, below) = around.unwrap_or_default();
    let lines = LineSpan { first: own.start + 1 - above, last: own.end + below };
    UniqueContext { lines, occurrences: times, is_unique: around.is_some() }
}

/// Adds a neighboring line to a single empty line, which cannot be searched
/// for.
fn extend_to_text(rows: &LineTable<'_>, own: Range<usize>) -> Range<usize> {
    let is_empty = own.len() == 1 && rows.line(own.start).is_empty();
    match own.start.checked_sub(1) {
        Some(above) if is_empty => above..own.end,
        None if is_empty && own.end < rows.len() => own.start..own.end + 1,
        _ => own,
    }
}

/// Returns the text of these lines and its offset.
fn block_text<'t>(rows: &LineTable<'t>, own: &Range<usize>) -> Option<(&'t str, usize)> {
    let (first, last) = (rows.get(own.start)?, rows.get(own.end.checked_sub(1)?)?);
    let text = rows.text().get(first.start..last.end)?;
    (!text.is_empty()).then_some((text, first.start))
}

/// How many lines above and below another place equal those of the place.
#[derive(Debug, Clone, Copy)]
struct SharedContext {
    above: usize,
    below: usize,
}

impl SharedContext {
    fn measure(rows: &LineTable<'_>, own: &Range<usize>, other: &Range<usize>) -> Self {
        let first = rows.row_at(other.start);
        let last = first + own.len() - 1;
        let is_start = rows.get(first).is_some_and(|row| row.start == other.start);
        let is_end = rows.get(last).is_some_and(|row| row.end == other.end);
        let mut made = Self { above: 0, below: 0 };
        // The outermost line may match only the end of the other line.
        for step in
            (1..=MAX_CONTEXT_LINES.min(own.start)).take_while(|step| is_start && *step <= first)
        {
            let (ours, theirs) = (rows.line(own.start - step), rows.line(first - step));
            made.above = if theirs.ends_with(ours) { step } else { made.above };
            if theirs != ours {
                break;
            }
        }
        // An empty line follows the last line ending.
        let end = rows.len() + usize::from(rows.text().ends_with(char::from(rows.terminator())));
        let left = rows.len().saturating_sub(own.end).min(end.saturating_sub(last + 1));
        for step in (0..MAX_CONTEXT_LINES.min(left)).take_while(|_| is_end) {
            let (ours, theirs) = (rows.line(own.end + step), rows.line(last + 1 + step));
            made.below = if theirs.starts_with(ours) { step + 1 } else { made.below };
            if theirs != ours {
                break;
            }
        }
        made
    }
}

/// Returns the fewest lines above and below that distinguish the place from all
/// others; prefers lines above, where names are.
fn fewest_lines(likes: &[SharedContext], own: &Range<usize>, len: usize) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize)> = None;
    for above in 0..=MAX_CONTEXT_LINES.min(own.start) {
        let alike = likes.iter().filter(|like| like.above >= above);
        let below = alike.map(|like| like.below + 1).max().unwrap_or(0);
        let is_there = own.end + below <= len && below <= MAX_CONTEXT_LINES;
        if is_there && best.is_none_or(|(a, b)| above + below <= a + b) {
            best = Some((above, below));
        }
    }
    best
}

#[cfg(test)]
#[path = "unique_tests.rs"]
mod tests;
