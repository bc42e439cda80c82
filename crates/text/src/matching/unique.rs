//! How many lines around a place it takes to tell it from all others.

use std::ops::Range;

use super::Lines;
use super::folding::occurrences;
use super::rows::{Rows, feeds};
use crate::endings::ends_with_returns;

/// A place with the lines around it that no other place has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alone {
    /// The place and the lines around it.
    pub lines: Lines,
    /// How often the place itself is in the text, also as a part of lines.
    pub times: usize,
    /// Whether the lines are there only once. If not, even many lines around
    /// them are alike, and they are those of the place itself.
    pub is_alone: bool,
}

/// Lines above and below a place that are looked at.
const AROUND: usize = 40;
/// Places that are compared with one.
const COMPARED: usize = 2_000;

/// The fewest lines around each of the places with which it is found only
/// there, however its lines end.
pub fn tell_apart(text: &str, places: &[Lines]) -> Vec<Alone> {
    let plain = feeds(text, ends_with_returns(text));
    let rows = Rows::of(&plain);
    places.iter().map(|place| alone(&rows, *place)).collect()
}

/// The same for one place, and for the endings that the lines have.
pub(super) fn alone(rows: &Rows<'_>, place: Lines) -> Alone {
    let last = place.last.min(rows.len()).max(1) - 1;
    let own = with_words(rows, place.first.saturating_sub(1).min(last)..last + 1);
    let Some((block, start)) = block(rows, &own) else {
        return Alone { lines: place, times: 0, is_alone: false };
    };
    let places = occurrences(rows.text(), block, true, Some).take(COMPARED + 1);
    let others: Vec<Range<usize>> = places.filter(|other| other.start != start).collect();
    let times = others.len() + 1;
    let likes: Vec<Like> = others.iter().map(|other| Like::of(rows, &own, other)).collect();
    let around = (times <= COMPARED).then(|| fewest(&likes, &own, rows.len())).flatten();
    let (above, below) = around.unwrap_or_default();
    let lines = Lines { first: own.start + 1 - above, last: own.end + below };
    Alone { lines, times, is_alone: around.is_some() }
}

/// These lines, with one more if they are an empty one: that is nothing which
/// could be looked for.
fn with_words(rows: &Rows<'_>, own: Range<usize>) -> Range<usize> {
    let is_empty = own.len() == 1 && rows.line(own.start).is_empty();
    match own.start.checked_sub(1) {
        Some(above) if is_empty => above..own.end,
        None if is_empty && own.end < rows.len() => own.start..own.end + 1,
        _ => own,
    }
}

/// The text of these lines, and where it begins.
fn block<'t>(rows: &Rows<'t>, own: &Range<usize>) -> Option<(&'t str, usize)> {
    let (first, last) = (rows.get(own.start)?, rows.get(own.end.checked_sub(1)?)?);
    let text = rows.text().get(first.start..last.end)?;
    (!text.is_empty()).then_some((text, first.start))
}

/// How many lines above and below another place are those of the place.
#[derive(Debug, Clone, Copy)]
struct Like {
    above: usize,
    below: usize,
}

impl Like {
    fn of(rows: &Rows<'_>, own: &Range<usize>, other: &Range<usize>) -> Self {
        let first = rows.at(other.start);
        let last = first + own.len() - 1;
        let is_start = rows.get(first).is_some_and(|row| row.start == other.start);
        let is_end = rows.get(last).is_some_and(|row| row.end == other.end);
        let mut made = Self { above: 0, below: 0 };
        // The outermost line may be a part of theirs.
        for step in (1..=AROUND.min(own.start)).take_while(|step| is_start && *step <= first) {
            let (ours, theirs) = (rows.line(own.start - step), rows.line(first - step));
            made.above = if theirs.ends_with(ours) { step } else { made.above };
            if theirs != ours {
                break;
            }
        }
        // Behind the last ending there is a line that is empty.
        let end = rows.len() + usize::from(rows.text().ends_with(char::from(rows.mark())));
        let left = rows.len().saturating_sub(own.end).min(end.saturating_sub(last + 1));
        for step in (0..AROUND.min(left)).take_while(|_| is_end) {
            let (ours, theirs) = (rows.line(own.end + step), rows.line(last + 1 + step));
            made.below = if theirs.starts_with(ours) { step + 1 } else { made.below };
            if theirs != ours {
                break;
            }
        }
        made
    }
}

/// The least number of lines above and below with which none of the others
/// agrees; rather above, where names are.
fn fewest(likes: &[Like], own: &Range<usize>, len: usize) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize)> = None;
    for above in 0..=AROUND.min(own.start) {
        let alike = likes.iter().filter(|like| like.above >= above);
        let below = alike.map(|like| like.below + 1).max().unwrap_or(0);
        let is_there = own.end + below <= len && below <= AROUND;
        if is_there && best.is_none_or(|(a, b)| above + below <= a + b) {
            best = Some((above, below));
        }
    }
    best
}

#[cfg(test)]
#[path = "unique_tests.rs"]
mod tests;
