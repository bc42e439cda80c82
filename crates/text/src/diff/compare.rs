//! Finds the changes between two texts in bounded time and memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use foldhash::fast::RandomState;
use similar::DiffOp;
use similar::algorithms::{Capture, myers};

use super::DiffOptions;
use super::change::{LineChange, count_lines, split_lines};
use super::key::comparison_key;

/// Maximum number of lines compared one by one, counted in both texts between
/// the first and the last change. Beyond it the whole range is one change.
const MAX_COMPARED_LINES: usize = 4_000_000;

/// Block size for comparing bytes.
const COMPARE_BLOCK_BYTES: usize = 4096;

/// A pair of line ranges, relative to the first line that differs.
type LineRangePair = (Range<usize>, Range<usize>);

/// Returns the changes from `old` to `new`, and whether the search ran out of
/// time for a better result.
pub(super) fn compare(
    old: &str,
    new: &str,
    ends: (u8, u8),
    options: &DiffOptions,
) -> (Vec<LineChange>, bool) {
    if old == new {
        return (Vec::new(), false);
    }
    let (head, tail) = if ends.0 == ends.1 { common_ends(old, new, ends.0) } else { (0, 0) };
    let middle = |text: &'_ str| head..text.len() - tail;
    let old_middle = old.get(middle(old)).unwrap_or_default();
    let new_middle = new.get(middle(new)).unwrap_or_default();
    let first = count_lines(old.get(..head).unwrap_or_default(), ends.0);
    let counts = (count_lines(old_middle, ends.0), count_lines(new_middle, ends.1));
    if counts.0 + counts.1 > MAX_COMPARED_LINES {
        let change = LineChange {
            old: first..first + counts.0,
            new: first..first + counts.1,
            old_bytes: middle(old),
            new_bytes: middle(new),
            is_ignored: false,
        };
        return (vec![change], true);
    }
    let lines = |text, count, ends| {
        let mut lines = Vec::with_capacity(count);
        lines.extend(split_lines(text, ends));
        lines
    };
    let old_lines: Vec<&str> = lines(old_middle, counts.0, ends.0);
    let new_lines: Vec<&str> = lines(new_middle, counts.1, ends.1);
    let (old_ids, new_ids) = number_lines(&old_lines, &new_lines, options);
    let (mut pairs, is_coarse) = find_changes(&old_ids, &new_ids, options);
    slide_changes(&mut pairs, &old_ids, &new_ids);
    let mut old_at = LineCursor { lines: &old_lines, line: 0, byte: head };
    let mut new_at = LineCursor { lines: &new_lines, line: 0, byte: head };
    let changes = pairs.into_iter().map(|(old, new)| {
        let is_blank = |lines: &[&str]| lines.iter().all(|line| line.trim().is_empty());
        let is_ignored = options.ignore_blank_lines
            && old_lines.get(old.clone()).is_some_and(is_blank)
            && new_lines.get(new.clone()).is_some_and(is_blank);
        LineChange {
            old_bytes: old_at.advance(old.start)..old_at.advance(old.end),
            new_bytes: new_at.advance(new.start)..new_at.advance(new.end),
            old: first + old.start..first + old.end,
            new: first + new.start..first + new.end,
            is_ignored,
        }
    });
    (changes.collect(), is_coarse)
}

/// A position in a list of lines, tracked in lines and bytes.
struct LineCursor<'a> {
    lines: &'a [&'a str],
    line: usize,
    byte: usize,
}

impl LineCursor<'_> {
    fn advance(&mut self, line: usize) -> usize {
        let passed = self.lines.get(self.line..line).unwrap_or_default();
        self.byte += passed.iter().map(|line| line.len()).sum::<usize>();
        self.line = line;
        self.byte
    }
}

/// Returns the length in bytes of the common prefix and suffix, in whole lines.
fn common_ends(old: &str, new: &str, terminator: u8) -> (usize, usize) {
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let blocks = old.chunks(COMPARE_BLOCK_BYTES).zip(new.chunks(COMPARE_BLOCK_BYTES));
    let sure =
        blocks.take_while(|(old, new)| old.len() == COMPARE_BLOCK_BYTES && old == new).count()
            * COMPARE_BLOCK_BYTES;
    let same = sure + count_equal(old.iter().skip(sure), new.iter().skip(sure));
    let head = memchr::memrchr(terminator, old.get(..same).unwrap_or_default());
    let head = head.map_or(0, |at| at + 1);
    let old = old.get(head..).unwrap_or_default();
    let new = new.get(head..).unwrap_or_default();
    let blocks = old.rchunks(COMPARE_BLOCK_BYTES).zip(new.rchunks(COMPARE_BLOCK_BYTES));
    let sure =
        blocks.take_while(|(old, new)| old.len() == COMPARE_BLOCK_BYTES && old == new).count()
            * COMPARE_BLOCK_BYTES;
    let same = sure + count_equal(old.iter().rev().skip(sure), new.iter().rev().skip(sure));
    let tail = old.get(old.len() - same..).unwrap_or_default();
    let tail = memchr::memchr(terminator, tail).map_or(0, |at| tail.len() - at - 1);
    (head, tail)
}

fn count_equal<'a>(old: impl Iterator<Item = &'a u8>, new: impl Iterator<Item = &'a u8>) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

/// Numbers the lines; equal lines have equal numbers.
fn number_lines(old: &[&str], new: &[&str], options: &DiffOptions) -> (Vec<u32>, Vec<u32>) {
    let mut known: HashMap<Cow<'_, str>, u32, RandomState> = HashMap::default();
    let mut numbers = Vec::with_capacity(old.len() + new.len());
    for line in old.iter().chain(new) {
        let next = known.len() as u32;
        numbers.push(*known.entry(comparison_key(line, options)).or_insert(next));
    }
    let new = numbers.split_off(old.len());
    (numbers, new)
}

/// Returns the ranges that differ, and whether time ran out.
fn find_changes(old: &[u32], new: &[u32], options: &DiffOptions) -> (Vec<LineRangePair>, bool) {
    let deadline = Instant::now().checked_add(options.time_limit);
    // A line that only one text has cannot match, so the search skips it.
    let (old_kept, new_kept) = (shared_lines(old, new), shared_lines(new, old));
    let ids = |kept: &[(usize, u32)]| kept.iter().map(|(_, id)| *id).collect::<Vec<u32>>();
    let (old_ids, new_ids) = (ids(&old_kept), ids(&new_kept));
    let (old_all, new_all) = (0..old_ids.len(), 0..new_ids.len());
    let mut capture = Capture::new();
    let Ok(()) = myers::diff_deadline(&mut capture, &old_ids, old_all, &new_ids, new_all, deadline);
    let mut pairs: Vec<LineRangePair> = Vec::new();
    let (mut old_end, mut new_end) = (0, 0);
    let mut meet = |old_start: usize, new_start: usize| {
        if old_end < old_start || new_end < new_start {
            pairs.push((old_end..old_start, new_end..new_start));
        }
        (old_end, new_end) = (old_start + 1, new_start + 1);
    };
    for op in capture.into_ops() {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            let old_run = old_kept.iter().skip(old_index).take(len);
            let new_run = new_kept.iter().skip(new_index);
            old_run.zip(new_run).for_each(|((old, _), (new, _))| meet(*old, *new));
        }
    }
    meet(old.len(), new.len());
    (pairs, deadline.is_some_and(|deadline| Instant::now() >= deadline))
}

/// Returns the lines that the other text also has, with their positions.
fn shared_lines(ids: &[u32], other: &[u32]) -> Vec<(usize, u32)> {
    let most = ids.iter().chain(other).max().map_or(0, |most| *most as usize + 1);
    let mut is_there = vec![false; most];
    for id in other {
        if let Some(seen) = is_there.get_mut(*id as usize) {
            *seen = true;
        }
    }
    let lines = ids.iter().copied().enumerate();
    lines.filter(|(_, id)| is_there.get(*id as usize).is_some_and(|seen| *seen)).collect()
}

/// Moves each pure insertion or removal down as far as possible, so it begins
/// where a reader expects it, and merges adjacent changes.
fn slide_changes(pairs: &mut Vec<LineRangePair>, old_ids: &[u32], new_ids: &[u32]) {
    let mut done: Vec<LineRangePair> = Vec::with_capacity(pairs.len());
    while let Some((mut old, mut new)) = pairs.pop() {
        let ends =
            done.last().map_or((old_ids.len(), new_ids.len()), |(old, new)| (old.start, new.start));
        let moved = match (old.is_empty(), new.is_empty()) {
            (true, false) => slide_distance(&new, new_ids, ends.1),
            (false, true) => slide_distance(&old, old_ids, ends.0),
            _ => 0,
        };
        old = old.start + moved..old.end + moved;
        new = new.start + moved..new.end + moved;
        if (old.end, new.end) == ends
            && let Some((next_old, next_new)) = done.pop()
        {
            (old.end, new.end) = (next_old.end, next_new.end);
        }
        done.push((old, new));
    }
    done.reverse();
    *pairs = done;
}

/// Returns how far a group of lines can move down over equal lines.
fn slide_distance(group: &Range<usize>, ids: &[u32], limit: usize) -> usize {
    let below = ids.get(group.end..limit).unwrap_or_default();
    let inside = ids.get(group.start..).unwrap_or_default();
    below.iter().zip(inside).take_while(|(below, inside)| below == inside).count()
}
