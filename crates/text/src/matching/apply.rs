//! Applies several hunks to one text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::edit_map::{EditMap, MovedRange, length_change};
use super::hunk::{HunkError, PatchHunk};
use super::line_table::LineTable;
use super::placement::{HunkFit, place_hunk};
use super::search_index::SearchIndex;
use super::warnings::placeholder_warning;
use super::{LineSpan, MatchStrategy, MatchStrictness};
use crate::document::TextEdit;

/// Maximum number of bytes copied for hunks that depend on each other.
const MAX_COPIED_BYTES: usize = 1 << 30;

/// Where a hunk was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedHunk {
    /// How its old lines matched.
    pub strategy: MatchStrategy,
    /// Its lines in the original text.
    pub before: LineSpan,
    /// Its lines in the final text.
    pub after: LineSpan,
    /// The same range in bytes.
    pub trace: MovedRange,
}

/// The result of applying a list of hunks.
#[derive(Debug, Clone, Default)]
pub struct AppliedHunks {
    /// The edits, sorted and without overlap.
    pub edits: Vec<TextEdit>,
    /// One entry per hunk that changes something.
    pub placed: Vec<PlacedHunk>,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
}

/// The hunk that failed, so none was applied.
#[derive(Debug, Clone)]
pub struct HunkFailure {
    /// Index of the hunk.
    pub hunk: usize,
    /// Why it failed.
    pub error: HunkError,
    /// The searched text, if it is no longer the original.
    pub text: Option<String>,
}

/// Applies edits, which must be sorted and must not overlap.
pub fn apply_edits(text: &str, edits: &[TextEdit]) -> String {
    let more: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut changed = String::with_capacity(text.len() + more);
    let mut at = 0;
    for edit in edits {
        changed.push_str(text.get(at..edit.range.start).unwrap_or_default());
        changed.push_str(&edit.text);
        at = edit.range.end;
    }
    changed.push_str(text.get(at..).unwrap_or_default());
    changed
}

/// Composes two successive lists of edits into one. `middle` is the text after
/// the first list.
pub fn compose_edits(middle: &str, first: &[TextEdit], second: &[TextEdit]) -> Vec<TextEdit> {
    let mut made = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.iter().peekable(), second.iter().peekable());
    // Bytes that the middle text has more than the original, up to this point.
    let mut drift: isize = 0;
    loop {
        let start_first = first.peek().and_then(|e| e.range.start.checked_add_signed(drift));
        let start_second = second.peek().map(|e| e.range.start);
        let Some(start) = [start_first, start_second].into_iter().flatten().min() else {
            return made;
        };
        let mut end = start;
        let drift_before = drift;
        let mut taken: Vec<TextEdit> = Vec::new();
        loop {
            if let Some(edit) = first.peek()
                && let Some(at) = edit.range.start.checked_add_signed(drift)
                && at <= end
            {
                end = end.max(at + edit.text.len());
                drift += length_change(edit);
                first.next();
            } else if let Some(edit) = second.next_if(|edit| edit.range.start <= end) {
                end = end.max(edit.range.end);
                let range = edit.range.start - start..edit.range.end - start;
                taken.push(TextEdit { range, text: edit.text.clone() });
            } else {
                break;
            }
        }
        let text = apply_edits(middle.get(start..end).unwrap_or_default(), &taken);
        let back = |at: usize, drift: isize| at.saturating_add_signed(-drift);
        made.push(TextEdit { range: back(start, drift_before)..back(end, drift), text });
    }
}

/// Applies all hunks or none. Each is searched in the current text; if it is
/// not found there, in the text that the hunks before it produce.
pub fn apply_hunks(
    text: &str,
    hunks: &[PatchHunk],
    rigour: MatchStrictness,
) -> Result<AppliedHunks, Box<HunkFailure>> {
    let mut made = AppliedHunks::default();
    let mut spans: Vec<HunkSpan> = Vec::new();
    let mut current = Cow::Borrowed(text);
    let mut from = 0;
    let mut copied = 0;
    loop {
        let round = MatchRound::run(&current, hunks, from, rigour);
        if let Some(misfit) = round.error.clone() {
            let again = matches!(
                misfit,
                HunkError::NotFound | HunkError::Overlap { .. } | HunkError::HintNotFound { .. }
            );
            if round.next == from || !again || copied > MAX_COPIED_BYTES {
                let misfit =
                    if copied > MAX_COPIED_BYTES { HunkError::TooManyRounds } else { misfit };
                let text = match current {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(text) => Some(text),
                };
                return Err(Box::new(HunkFailure { hunk: round.next, error: misfit, text }));
            }
        }
        let done = round.error.is_none();
        from = round.next;
        made.warnings.extend(round.warnings);
        let moves = EditMap::from_edits(&round.edits);
        spans.iter_mut().for_each(|span| span.trace.map_after(&moves));
        let earlier = EditMap::from_edits(&made.edits);
        spans.extend(round.spans.into_iter().map(|mut span| {
            span.trace.after = moves.to_after_with(&span.trace.before, &span.own_ranges);
            span.trace.map_before(&earlier);
            span
        }));
        let changed = apply_edits(&current, &round.edits);
        made.edits = if made.edits.is_empty() {
            round.edits
        } else {
            compose_edits(&current, &made.edits, &round.edits)
        };
        current = Cow::Owned(changed);
        copied += current.len() + 1;
        if done {
            break;
        }
    }
    let (strategies, traces): (Vec<MatchStrategy>, Vec<MovedRange>) =
        spans.into_iter().map(|span| (span.strategy, span.trace)).unzip();
    let lines = MovedRange::lines(&traces, text, &current);
    let placed = strategies.into_iter().zip(lines).zip(traces);
    let placed = placed.map(|((strategy, (before, after)), trace)| PlacedHunk {
        strategy,
        before,
        after,
        trace,
    });
    made.placed = placed.collect();
    Ok(made)
}

/// The byte range of a hunk.
#[derive(Debug)]
struct HunkSpan {
    strategy: MatchStrategy,
    trace: MovedRange,
    /// The ranges that its own edits replace.
    own_ranges: Vec<Range<usize>>,
}

/// Consecutive hunks that were all found in the same text.
#[derive(Debug, Default)]
struct MatchRound {
    edits: Vec<TextEdit>,
    spans: Vec<HunkSpan>,
    warnings: Vec<String>,
    /// Index of the first hunk outside this round; `error` says why.
    next: usize,
    error: Option<HunkError>,
}

impl MatchRound {
    fn run(text: &str, hunks: &[PatchHunk], from: usize, rigour: MatchStrictness) -> Self {
        let table = SearchIndex::new(text);
        let mut round = Self { next: from, ..Self::default() };
        let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
        let mut drift = 0;
        for hunk in hunks.iter().skip(from) {
            if hunk.changes_nothing() {
                round.next += 1;
                continue;
            }
            let fit = match place_hunk(hunk, &table, rigour, drift) {
                Ok(fit) => fit,
                Err(misfit) => {
                    round.error = Some(misfit);
                    break;
                }
            };
            let lines = LineSpan { first: fit.row + 1, last: fit.row + fit.count.max(1) };
            if fit.edits.iter().any(|edit| meets_edit(&taken, &edit.range)) {
                round.error = Some(HunkError::Overlap { lines });
                break;
            }
            if let Some(line) = hunk.line {
                drift = (fit.row + 1).cast_signed() - line.cast_signed();
            }
            taken.extend(fit.edits.iter().map(|edit| (edit.range.start, edit.range.end)));
            let trace = MovedRange { before: hunk_extent(&fit, &table.rows), after: 0..0 };
            let own = fit.edits.iter().map(|edit| edit.range.clone()).collect();
            round.spans.push(HunkSpan { strategy: fit.strategy, trace, own_ranges: own });
            round.warnings.extend(fit.warnings);
            let (old, new) = (hunk.old_text(), hunk.new_text());
            round.warnings.extend(placeholder_warning(old.lines(), new.lines()));
            round.edits.extend(fit.edits);
            round.next += 1;
        }
        round.edits.sort_by_key(|edit| edit.range.start);
        round
    }
}

/// Returns the byte range that a hunk covers.
fn hunk_extent(fit: &HunkFit, rows: &LineTable<'_>) -> Range<usize> {
    let rows = rows.slice(fit.row..fit.row + fit.count);
    let starts = rows.first().map(|row| row.start).into_iter();
    let ends = rows.last().map(|row| row.next).into_iter();
    let start = starts.chain(fit.edits.iter().map(|edit| edit.range.start)).min();
    let end = ends.chain(fit.edits.iter().map(|edit| edit.range.end)).max();
    start.unwrap_or_default()..end.unwrap_or_default()
}

/// Whether an edit overlaps one of those already taken. Adjacent edits do not
/// overlap, unless their order is ambiguous.
fn meets_edit(taken: &BTreeMap<usize, usize>, range: &Range<usize>) -> bool {
    if let Some((start, end)) = taken.range(..range.start).next_back()
        && (*end > range.start || *end == range.start && (start == end || range.is_empty()))
    {
        return true;
    }
    let empty = range.is_empty();
    taken.range(range.start..).next().is_some_and(|(start, end)| {
        *start < range.end
            || *start == range.start
            || *start == range.end && (empty || start == end)
    })
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
