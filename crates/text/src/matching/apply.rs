//! Many hunks on one text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::hunk::{Hunk, Misfit};
use super::moves::{Moves, Trace, grown};
use super::placing::{Fit, place};
use super::rows::Rows;
use super::table::Table;
use super::warnings::stand_in_warning;
use super::{Lines, Rigour, Strategy};
use crate::document::Edit;

/// Bytes that are copied at most for hunks that build upon each other.
const COPIED: usize = 1 << 30;

/// Where a hunk was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// How its old lines agreed.
    pub strategy: Strategy,
    /// Their lines, before any hunk.
    pub before: Lines,
    /// The lines that they are after all hunks.
    pub after: Lines,
    /// The same in bytes.
    pub trace: Trace,
}

/// What a list of hunks changes.
#[derive(Debug, Clone, Default)]
pub struct Applied {
    /// In order, apart from each other.
    pub edits: Vec<Edit>,
    /// One for each hunk that changes something.
    pub placed: Vec<Placed>,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

/// A hunk that was not applied, and with it none.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Which one, from 0.
    pub hunk: usize,
    /// Why.
    pub misfit: Misfit,
    /// The text in which it was looked for, where that is no longer the
    /// original.
    pub text: Option<String>,
}

/// A text with edits made; they are in order and apart from each other.
pub fn change(text: &str, edits: &[Edit]) -> String {
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

/// Edits that do at once what two lists of edits do one after the other.
/// `middle` is the text between them.
pub fn compose(middle: &str, first: &[Edit], second: &[Edit]) -> Vec<Edit> {
    let mut made = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.iter().peekable(), second.iter().peekable());
    // What the middle text has more than the first one, up to here.
    let mut drift: isize = 0;
    loop {
        let start_first = first.peek().and_then(|e| e.range.start.checked_add_signed(drift));
        let start_second = second.peek().map(|e| e.range.start);
        let Some(start) = [start_first, start_second].into_iter().flatten().min() else {
            return made;
        };
        let mut end = start;
        let drift_before = drift;
        let mut taken: Vec<Edit> = Vec::new();
        loop {
            if let Some(edit) = first.peek()
                && let Some(at) = edit.range.start.checked_add_signed(drift)
                && at <= end
            {
                end = end.max(at + edit.text.len());
                drift += grown(edit);
                first.next();
            } else if let Some(edit) = second.next_if(|edit| edit.range.start <= end) {
                end = end.max(edit.range.end);
                let range = edit.range.start - start..edit.range.end - start;
                taken.push(Edit { range, text: edit.text.clone() });
            } else {
                break;
            }
        }
        let text = change(middle.get(start..end).unwrap_or_default(), &taken);
        let back = |at: usize, drift: isize| at.saturating_add_signed(-drift);
        made.push(Edit { range: back(start, drift_before)..back(end, drift), text });
    }
}

/// Applies hunks: each is looked for in the text as it is, and if it is not
/// there, in the text as the hunks before it have made it. All or none.
pub fn apply(text: &str, hunks: &[Hunk], rigour: Rigour) -> Result<Applied, Box<Failure>> {
    let mut made = Applied::default();
    let mut spans: Vec<Span> = Vec::new();
    let mut current = Cow::Borrowed(text);
    let mut from = 0;
    let mut copied = 0;
    loop {
        let round = Round::of(&current, hunks, from, rigour);
        if let Some(misfit) = round.misfit.clone() {
            let again = matches!(
                misfit,
                Misfit::Absent | Misfit::Overlap { .. } | Misfit::HintAbsent { .. }
            );
            if round.next == from || !again || copied > COPIED {
                let misfit = if copied > COPIED { Misfit::TooMany } else { misfit };
                let text = match current {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(text) => Some(text),
                };
                return Err(Box::new(Failure { hunk: round.next, misfit, text }));
            }
        }
        let done = round.misfit.is_none();
        from = round.next;
        made.warnings.extend(round.warnings);
        let moves = Moves::of(&round.edits);
        spans.iter_mut().for_each(|span| span.trace.follow(&moves));
        let earlier = Moves::of(&made.edits);
        spans.extend(round.spans.into_iter().map(|mut span| {
            span.trace.after = moves.with(&span.trace.before, &span.own);
            span.trace.lead_back(&earlier);
            span
        }));
        let changed = change(&current, &round.edits);
        made.edits = if made.edits.is_empty() {
            round.edits
        } else {
            compose(&current, &made.edits, &round.edits)
        };
        current = Cow::Owned(changed);
        copied += current.len() + 1;
        if done {
            break;
        }
    }
    let (strategies, traces): (Vec<Strategy>, Vec<Trace>) =
        spans.into_iter().map(|span| (span.strategy, span.trace)).unzip();
    let lines = Trace::lines(&traces, text, &current);
    let placed = strategies.into_iter().zip(lines).zip(traces);
    let placed = placed.map(|((strategy, (before, after)), trace)| Placed {
        strategy,
        before,
        after,
        trace,
    });
    made.placed = placed.collect();
    Ok(made)
}

/// The place of a hunk, in bytes.
#[derive(Debug)]
struct Span {
    strategy: Strategy,
    trace: Trace,
    /// What it changes itself.
    own: Vec<Range<usize>>,
}

/// Hunks that were all found in one and the same text.
#[derive(Debug, Default)]
struct Round {
    edits: Vec<Edit>,
    spans: Vec<Span>,
    warnings: Vec<String>,
    /// The first hunk that does not belong to it, and why.
    next: usize,
    misfit: Option<Misfit>,
}

impl Round {
    fn of(text: &str, hunks: &[Hunk], from: usize, rigour: Rigour) -> Self {
        let table = Table::of(text);
        let mut round = Self { next: from, ..Self::default() };
        let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
        let mut drift = 0;
        for hunk in hunks.iter().skip(from) {
            if hunk.is_idle() {
                round.next += 1;
                continue;
            }
            let fit = match place(hunk, &table, rigour, drift) {
                Ok(fit) => fit,
                Err(misfit) => {
                    round.misfit = Some(misfit);
                    break;
                }
            };
            let lines = Lines { first: fit.row + 1, last: fit.row + fit.count.max(1) };
            if fit.edits.iter().any(|edit| meets(&taken, &edit.range)) {
                round.misfit = Some(Misfit::Overlap { lines });
                break;
            }
            if let Some(line) = hunk.line {
                drift = (fit.row + 1).cast_signed() - line.cast_signed();
            }
            taken.extend(fit.edits.iter().map(|edit| (edit.range.start, edit.range.end)));
            let trace = Trace { before: reach(&fit, &table.rows), after: 0..0 };
            let own = fit.edits.iter().map(|edit| edit.range.clone()).collect();
            round.spans.push(Span { strategy: fit.strategy, trace, own });
            round.warnings.extend(fit.warnings);
            let (old, new) = (hunk.old_text(), hunk.new_text());
            round.warnings.extend(stand_in_warning(old.lines(), new.lines()));
            round.edits.extend(fit.edits);
            round.next += 1;
        }
        round.edits.sort_by_key(|edit| edit.range.start);
        round
    }
}

/// From the first byte to the last that a hunk speaks of.
fn reach(fit: &Fit, rows: &Rows<'_>) -> Range<usize> {
    let rows = rows.slice(fit.row..fit.row + fit.count);
    let starts = rows.first().map(|row| row.start).into_iter();
    let ends = rows.last().map(|row| row.next).into_iter();
    let start = starts.chain(fit.edits.iter().map(|edit| edit.range.start)).min();
    let end = ends.chain(fit.edits.iter().map(|edit| edit.range.end)).max();
    start.unwrap_or_default()..end.unwrap_or_default()
}

/// Whether an edit meets one of those that are there already. Neighbours are
/// apart, unless it is not clear which of them comes first.
fn meets(taken: &BTreeMap<usize, usize>, range: &Range<usize>) -> bool {
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
