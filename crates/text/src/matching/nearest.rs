//! Explains why a text was not found: the most similar block, and common
//! mistakes.
//!
//! The similarity measures decide what is shown, never what is changed.

use std::ops::Range;

use serde::Serialize;
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices};

use super::candidates::{find_candidates, line_similarity};
use super::edit_script::EditScript;
use super::folding::occurrences;
use super::line_table::{LineTable, to_line_feeds};
use super::marks::mark_changes;
use super::unique::unique_context;
use super::{LineRole, LineSpan, MAX_LISTED_PLACES};
use crate::line_endings::has_only_returns;

/// The text searched for, and its intended replacement.
#[derive(Debug, Clone, Copy)]
pub struct WantedText<'a> {
    /// The old text.
    pub old: &'a str,
    /// The new text; empty if irrelevant.
    pub new: &'a str,
}

/// The block of the file most similar to the old text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NearestBlock {
    /// Its lines.
    pub lines: LineSpan,
    /// Its text in the file.
    pub text: String,
    /// The lines that differ: `[-in the old text-]{+in the file+}`.
    pub difference: String,
    /// Other places that are equally similar.
    pub others: Vec<LineSpan>,
    /// How often the block occurs. If more than once, the text includes lines
    /// around it.
    pub times: usize,
    /// Whether the text with those lines occurs only once.
    pub is_alone: bool,
    /// Whether the text is truncated.
    pub is_cut: bool,
}

/// What is known about a text that was not found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MismatchExplanation {
    /// The most similar block, if any is similar.
    pub nearest: Option<NearestBlock>,
    /// Where the new text already is.
    pub already_applied: Option<LineSpan>,
    /// Likely mistakes, in sentences.
    pub notes: Vec<String>,
    /// Whether the search was skipped because the file is too large.
    pub too_large: bool,
}

/// Maximum size of a text searched for similar blocks.
const MAX_SEARCHED_BYTES: usize = 8 << 20;
/// Maximum number of lines of the old text considered.
const MAX_SEARCHED_LINES: usize = 400;
/// Maximum number of lines shown of a block, and characters of a line.
const MAX_SHOWN_LINES: usize = 60;
pub(super) const MAX_SHOWN_CHARS: usize = 400;

impl NearestBlock {
    /// Whether it differs from the old text only in spaces.
    fn differs_in_spaces(&self, old: &str) -> bool {
        !self.difference.is_empty() && squeeze_spaces(&self.text).contains(&squeeze_spaces(old))
    }
}

/// Explains why the old text is not in the file.
pub fn explain_mismatch(text: &str, wanted: &WantedText<'_>) -> MismatchExplanation {
    let returns = has_only_returns(text);
    let (old, new) = (to_line_feeds(wanted.old, returns), to_line_feeds(wanted.new, returns));
    if text.len() > MAX_SEARCHED_BYTES || old.trim().is_empty() {
        return MismatchExplanation {
            too_large: text.len() > MAX_SEARCHED_BYTES,
            ..MismatchExplanation::default()
        };
    }
    let plain = to_line_feeds(text, returns);
    let rows = LineTable::new(&plain);
    let nearest = find_nearest(&rows, &old);
    let mut notes = collect_notes(&plain, &old);
    if let Some(near) = nearest.as_ref().filter(|near| near.differs_in_spaces(&old)) {
        notes.push(format!("{}: only the spaces within the lines differ.", near.lines));
    }
    MismatchExplanation {
        nearest,
        already_applied: find_already_applied(&rows, &new),
        notes,
        too_large: false,
    }
}

/// Returns where the new text is, if it is long enough to be recognized; a
/// short text must be a whole line.
fn find_already_applied(rows: &LineTable<'_>, new: &str) -> Option<LineSpan> {
    let body = new.trim();
    if body.len() < 8 && !body.contains('\n') {
        let is_it = |row: &usize| rows.line(*row).trim() == body;
        let row = (0..rows.len()).filter(|_| body.len() > 2).find(is_it)?;
        return Some(line_span((row, row + 1)));
    }
    let place = occurrences(rows.text(), new.trim_matches('\n'), false, Some).next()?;
    Some(rows.line_span(&place))
}

fn collect_notes(plain: &str, old: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let line = |place: usize| LineTable::new(plain).row_at(place) + 1;
    if let Some(stripped) = strip_line_numbers(old) {
        let there =
            if plain.contains(stripped.trim_end()) { " Without them it is found." } else { "" };
        notes.push(format!(
            "The old text contains the line numbers of read_file: remove `12|` at the \
            beginning of each line.{there}"
        ));
    }
    if let Some(at) = plain.find(old) {
        notes.extend(is_within_line(plain, old).then(|| {
            format!(
                "It is in line {}, but only as a part of it; a patch needs whole lines. Give \
                    the whole line, or use old_string and new_string.",
                line(at)
            )
        }));
    } else if let Some(at) = plain.to_ascii_lowercase().find(&old.to_ascii_lowercase()) {
        notes.push(format!("Line {}: only the letter case differs.", line(at)));
    }
    let trimmed = old.trim();
    if trimmed != old
        && let Some(at) = plain.find(trimmed)
    {
        let said = "Without leading and trailing whitespace the old text is at line";
        notes.push(format!("{said} {}.", line(at)));
    }
    let unquoted = old.replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\");
    if unquoted != old && plain.contains(&unquoted) {
        notes.push(
            "The old text has backslashes that the file does not have: send quotes and \
            backslashes exactly as in the file."
                .to_owned(),
        );
    }
    if old.lines().any(is_elision) {
        notes.push(
            "The old text omits lines (`...`): it must contain every line as in the file. \
            Replace a smaller part, or copy `nearest.text`."
                .to_owned(),
        );
    }
    notes.extend(wrapping_note(plain, old).map(str::to_owned));
    notes
}

/// Maximum number of places checked for whole lines.
const MAX_CHECKED_PLACES: usize = 10_000;

/// Whether every occurrence of the old text is only part of its lines.
fn is_within_line(plain: &str, old: &str) -> bool {
    let is_part = |place: Range<usize>| {
        let before = plain.get(..place.start).unwrap_or_default();
        let after = plain.get(place.end..).unwrap_or_default();
        let begins = before.is_empty() || before.ends_with('\n');
        let ends = after.is_empty() || after.starts_with('\n') || old.ends_with('\n');
        !(begins && ends)
    };
    occurrences(plain, old, true, Some).take(MAX_CHECKED_PLACES).all(is_part)
}

/// Returns a note if the old text has wrapping or escaping that is not part of
/// the file.
fn wrapping_note(plain: &str, old: &str) -> Option<&'static str> {
    let inner = old.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inner = inner.and_then(|inner| inner.split_once('\n')).map(|(_, inner)| inner);
    if inner.is_some_and(|inner| plain.contains(inner.trim_end())) {
        return Some("The old text is in a code fence: remove its first and last line.");
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let read = entities.iter().fold(old.to_owned(), |text, (from, to)| text.replace(from, to));
    (read != old && plain.contains(&read)).then_some(
        "The old text is HTML-escaped (`&lt;`, `&amp;`): send the characters themselves, also \
            in the new text.",
    )
}

/// Returns the old text without the `12|` prefixes, if every line has one.
fn strip_line_numbers(old: &str) -> Option<String> {
    let mut stripped = Vec::new();
    for line in old.lines().filter(|line| !line.trim().is_empty()) {
        let (number, rest) = line.split_once('|')?;
        let number = number.trim();
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        stripped.push(rest);
    }
    if stripped.is_empty() { None } else { Some(stripped.join("\n")) }
}

fn is_elision(line: &str) -> bool {
    let words = line.trim().trim_start_matches(['/', '#', '*', '<', '!', '-', ' ']);
    let words = words.trim_end_matches(['*', '/', '-', '>', ' ']);
    matches!(words, "..." | "…") || is_placeholder_line(line)
}

/// Whether a line is a placeholder for omitted lines: `// ... existing code
/// ...`.
pub(super) fn is_placeholder_line(line: &str) -> bool {
    let words = line.trim().trim_start_matches(['/', '#', '*', '<', '!', '-', ' ']);
    let shown = ["existing", "rest of", "unchanged", "same as before"];
    ["...", "…"].iter().any(|dots| words.starts_with(dots))
        && shown.iter().any(|word| words.contains(word))
}

/// Collapses runs of whitespace to one space, and removes them at line ends.
fn squeeze_spaces(text: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim().lines().map(words).collect::<Vec<_>>().join("\n")
}

/// Returns the block most similar to the old text.
fn find_nearest(rows: &LineTable<'_>, old: &str) -> Option<NearestBlock> {
    let lines: Vec<&str> = old.trim_matches('\n').split('\n').take(MAX_SEARCHED_LINES).collect();
    let blocks = match find_elided(rows, &lines) {
        Some(block) => vec![block],
        None => most_similar(rows, &lines),
    };
    let (first, others) = blocks.split_first()?;
    let others = others.iter().take(MAX_LISTED_PLACES).map(|block| line_span(*block)).collect();
    Some(NearestBlock { others, ..show_block(rows, &lines, *first) })
}

fn line_span((start, end): (usize, usize)) -> LineSpan {
    LineSpan { first: start + 1, last: end.max(start + 1) }
}

/// Maximum number of lines that an ellipsis stands for.
const MAX_ELIDED_LINES: usize = 200;

/// Returns the block that matches an old text with elided lines, including
/// those lines.
fn find_elided(rows: &LineTable<'_>, lines: &[&str]) -> Option<(usize, usize)> {
    let is_gap = |line: &&str| is_elision(line);
    let head = lines.get(..lines.iter().position(is_gap)?)?;
    let tail = lines.get(lines.iter().rposition(is_gap)? + 1..)?;
    if tail.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let (start, _) = *most_similar(rows, head).first()?;
    let from = start + head.len();
    let ends = |row: &usize| {
        let is_there = |(line, row): (&&str, usize)| {
            row < rows.len() && rows.line(row).trim_end() == line.trim_end()
        };
        tail.iter().zip(*row..).all(is_there)
    };
    Some((start, (from..from + MAX_ELIDED_LINES).find(ends)? + tail.len()))
}

/// Returns the blocks that differ from these lines in the fewest characters, in
/// order.
fn most_similar(rows: &LineTable<'_>, lines: &[&str]) -> Vec<(usize, usize)> {
    let mut scored: Vec<(f64, usize)> =
        find_candidates(rows, lines).into_iter().map(|at| (score(rows, lines, at), at)).collect();
    scored.retain(|(score, _)| *score >= 0.25);
    scored.sort_by(|(a, at_a), (b, at_b)| b.total_cmp(a).then(at_a.cmp(at_b)));
    let finely = (MAX_LETTER_COMPARED_LINES / lines.len().max(1)).clamp(2, 24);
    let plain = |start: usize| (start, (start + lines.len()).min(rows.len()));
    let shapes = |start: usize| [plain(start), adjust_ends(rows, lines, start)];
    let mut blocks: Vec<(usize, usize)> =
        scored.iter().take(finely).flat_map(|(_, start)| shapes(*start)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let measured: Vec<usize> =
        blocks.iter().map(|block| letter_distance(rows, lines, *block)).collect();
    let Some(least) = measured.iter().min() else { return Vec::new() };
    blocks.into_iter().zip(&measured).filter(|(_, cost)| *cost == least).map(|(b, _)| b).collect()
}

/// Returns the similarity of the lines from this row on, from 0 to 1.
fn score(rows: &LineTable<'_>, lines: &[&str], start: usize) -> f64 {
    let mut sum = 0.0;
    let mut weight = 0.0;
    for (line, row) in lines.iter().zip(start..) {
        let share = line.trim().chars().take(MAX_SHOWN_CHARS).count() as f64 + 1.0;
        sum += share * line_similarity(line, rows.line(row));
        weight += share;
    }
    sum / weight
}

/// Maximum number of lines compared character by character, and characters of
/// each.
const MAX_LETTER_COMPARED_LINES: usize = 240;
const MAX_COMPARED_LETTERS: usize = 200;

/// Returns how many characters differ between the lines and this block.
fn letter_distance(rows: &LineTable<'_>, lines: &[&str], (start, end): (usize, usize)) -> usize {
    let file: Vec<&str> = (start..end).map(|row| rows.line(row)).collect();
    let script = EditScript::compare(lines.to_vec(), file);
    let (mut gone, mut come): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut count = 0;
    let mut flush = |gone: &mut Vec<&str>, come: &mut Vec<&str>| {
        for index in 0..gone.len().max(come.len()) {
            let line = |of: &[&str]| of.get(index).map_or(0, |line| 1 + line.chars().count());
            count += match (gone.get(index), come.get(index)) {
                (Some(old), Some(new)) => line_distance(old, new),
                _ => line(gone) + line(come),
            };
        }
        gone.clear();
        come.clear();
    };
    for (side, line) in script.lines_with_role() {
        match side {
            LineRole::Context => flush(&mut gone, &mut come),
            LineRole::Remove => gone.push(line),
            LineRole::Add => come.push(line),
        }
    }
    flush(&mut gone, &mut come);
    count
}

/// Returns how many characters of two lines differ; approximate past the first
/// `MAX_COMPARED_LETTERS`.
fn line_distance(old: &str, new: &str) -> usize {
    let cut =
        |line: &str| line.char_indices().nth(MAX_COMPARED_LETTERS).map_or(line.len(), |(at, _)| at);
    let ((old, old_rest), (new, new_rest)) = (old.split_at(cut(old)), new.split_at(cut(new)));
    let beyond = usize::from(old_rest != new_rest) * old_rest.len().abs_diff(new_rest.len()).max(1);
    let (from, to): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let ops = capture_diff_slices(Algorithm::Myers, &from, &to);
    let changed = ops.iter().map(DiffOp::as_tag_tuple).filter(|(tag, ..)| *tag != DiffTag::Equal);
    beyond + changed.map(|(_, old, new)| old.len() + new.len()).sum::<usize>()
}

fn show_block(rows: &LineTable<'_>, lines: &[&str], block: (usize, usize)) -> NearestBlock {
    let (start, end) = block;
    let file: Vec<&str> = (start..end).map(|row| rows.line(row)).collect();
    let difference = differences(&EditScript::compare(lines.to_vec(), file), start);
    // Show enough surrounding lines to make the block unique.
    let alone = unique_context(rows, line_span(block));
    let whole = alone.lines.first - 1..alone.lines.last;
    let shown = whole.start..whole.end.min(whole.start + MAX_SHOWN_LINES);
    let is_long = |row: usize| rows.line(row).chars().nth(MAX_SHOWN_CHARS).is_some();
    let is_cut = shown != whole || shown.clone().any(is_long);
    let clip = |line: &str| line.chars().take(MAX_SHOWN_CHARS).collect::<String>();
    let mut text: Vec<String> = shown.clone().map(|row| clip(rows.line(row))).collect();
    if whole.end > shown.end {
        text.push(format!("... ({} more lines)", whole.end - shown.end));
    }
    NearestBlock {
        lines: alone.lines,
        text: text.join("\n"),
        difference: difference.join("\n"),
        others: Vec::new(),
        times: alone.occurrences,
        is_alone: alone.is_unique,
        is_cut,
    }
}

/// Returns the lines that differ, with their line numbers; `start` is the first
/// row compared.
fn differences(script: &EditScript<'_>, start: usize) -> Vec<String> {
    let clip = |line: &str| line.chars().take(MAX_SHOWN_CHARS).collect::<String>();
    let shown = |line: String| line.trim_end_matches(['\r', '\n']).to_owned();
    let mut difference = Vec::new();
    let mut gone: Vec<&str> = Vec::new();
    let mut row = start;
    let mut come: Vec<(usize, &str)> = Vec::new();
    let mut flush = |gone: &mut Vec<&str>, come: &mut Vec<(usize, &str)>, row: usize| {
        for index in 0..gone.len().max(come.len()) {
            let old = gone.get(index).copied().map(clip);
            difference.push(match (old, come.get(index)) {
                (Some(old), Some((row, new))) => {
                    format!("{}|{}", row + 1, shown(mark_changes(&old, &clip(new))))
                }
                (Some(old), None) => {
                    format!("{}|[-{}-] (not in the file)", row + 1, shown(old))
                }
                (None, Some((row, new))) => {
                    let new = shown(clip(new));
                    format!("{}|{{+{new}+}} (missing in the old text)", row + 1)
                }
                (None, None) => continue,
            });
        }
        gone.clear();
        come.clear();
    };
    for (side, line) in script.lines_with_role() {
        match side {
            LineRole::Context => {
                flush(&mut gone, &mut come, row);
                row += 1;
            }
            LineRole::Remove => gone.push(line),
            LineRole::Add => {
                come.push((row, line));
                row += 1;
            }
        }
    }
    flush(&mut gone, &mut come, row);
    difference.truncate(MAX_SHOWN_LINES);
    difference
}

/// Returns the block at these lines with the file's line endings: the text that
/// an exact match requires.
pub fn show_exactly(text: &str, old: &str, at: LineSpan) -> NearestBlock {
    let rows = LineTable::new(text);
    let (first, last) = (at.first.saturating_sub(1), at.last.min(rows.len()));
    let lines: Vec<&str> = old.trim_matches('\n').split('\n').collect();
    let shown = show_block(&rows, &lines, (first, last));
    if shown.is_cut {
        return shown;
    }
    let block = rows.slice(first..last);
    let end = block.last().map_or(text.len(), |row| row.end);
    let given: Vec<&str> = old.trim_matches('\n').split_inclusive('\n').collect();
    let ours = block.iter().filter_map(|row| text.get(row.start..row.next.min(end)));
    let difference = differences(&EditScript::compare(given, ours.collect()), first);
    let whole = rows.slice(shown.lines.first - 1..shown.lines.last);
    let whole = whole.first().map_or(0, |row| row.start)..whole.last().map_or(0, |row| row.end);
    let text = text.get(whole).unwrap_or_default().to_owned();
    NearestBlock { text, difference: difference.join("\n"), ..shown }
}

/// Extends or shrinks the block by a few lines, so it begins and ends like the
/// old text.
fn adjust_ends(rows: &LineTable<'_>, lines: &[&str], start: usize) -> (usize, usize) {
    let is = |row: usize, line: Option<&&str>| {
        row < rows.len() && line.is_some_and(|line| rows.line(row).trim() == line.trim())
    };
    let nearby = |at: usize, line: Option<&&str>| {
        let around = [0_isize, -1, 1, -2, 2, -3, 3].into_iter();
        around.filter_map(|step| at.checked_add_signed(step)).find(|row| is(*row, line))
    };
    let last = (start + lines.len()).min(rows.len()).saturating_sub(1);
    let first = nearby(start, lines.first()).unwrap_or(start);
    let last = nearby(last, lines.last()).filter(|last| *last >= first).unwrap_or(last.max(first));
    (first, last + 1)
}

#[cfg(test)]
#[path = "nearest_tests.rs"]
mod tests;
