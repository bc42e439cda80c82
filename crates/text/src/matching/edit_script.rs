//! Turns old and new lines into edits of the place where the old lines are.
//!
//! Unchanged lines are not touched, so they keep the file's spelling and line
//! endings.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::hunk::{HunkLine, LineRole};
use super::indent::{IndentShift, is_mixed_indent};
use super::line_table::{LineOffsets, LineTable};
use super::typography::keep_typography;
use crate::document::TextEdit;
use crate::line_endings::LineEnding;

/// Above this number of lines, old and new lines are not compared one by one.
const MAX_COMPARED_LINES: usize = 4_000;

/// Old lines and the new lines that replace them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ChangedRun {
    old: Range<usize>,
    new: Range<usize>,
}

/// A line diff from old to new lines.
#[derive(Debug, Clone)]
pub(crate) struct EditScript<'a> {
    pub(crate) old: Vec<&'a str>,
    pub(crate) new: Vec<&'a str>,
    /// The explicit line endings of new lines.
    endings: Vec<Option<&'static str>>,
    runs: Vec<ChangedRun>,
}

impl<'a> EditScript<'a> {
    /// Computes the minimal script from old to new lines.
    pub(crate) fn compare(old: Vec<&'a str>, new: Vec<&'a str>) -> Self {
        let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let (old_rest, new_rest) = (&old[head..], &new[head..]);
        let same = |(old, new): &(&&str, &&str)| old == new;
        let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
        let old_rest = &old_rest[..old_rest.len() - tail];
        let new_rest = &new_rest[..new_rest.len() - tail];
        let whole =
            ChangedRun { old: head..head + old_rest.len(), new: head..head + new_rest.len() };
        let runs = if old_rest.is_empty() && new_rest.is_empty() {
            Vec::new()
        } else if old_rest.len() + new_rest.len() > MAX_COMPARED_LINES {
            vec![whole]
        } else {
            let ops = capture_diff_slices(Algorithm::Myers, old_rest, new_rest);
            merge_runs(&ops, head)
        };
        Self { old, new, endings: Vec::new(), runs }
    }

    /// Builds the script from the lines of a hunk.
    pub(crate) fn from_hunk(lines: impl Iterator<Item = &'a HunkLine>) -> Self {
        let mut made =
            Self { old: Vec::new(), new: Vec::new(), endings: Vec::new(), runs: Vec::new() };
        for HunkLine { role: side, text: line, ending } in lines {
            let side = *side;
            let (at_old, at_new) = (made.old.len(), made.new.len());
            if side != LineRole::Add {
                made.old.push(line);
            }
            if side != LineRole::Remove {
                made.new.push(line);
                made.endings.push(ending.map(LineEnding::as_str));
            }
            if side == LineRole::Context {
                continue;
            }
            match made.runs.last_mut() {
                Some(run) if run.old.end == at_old && run.new.end == at_new => {
                    run.old.end = made.old.len();
                    run.new.end = made.new.len();
                }
                _ => made
                    .runs
                    .push(ChangedRun { old: at_old..made.old.len(), new: at_new..made.new.len() }),
            }
        }
        made
    }

    /// Returns the lines in hunk order.
    pub(crate) fn lines_with_role(&self) -> impl Iterator<Item = (LineRole, &'a str)> {
        let mut sides = Vec::with_capacity(self.old.len() + self.new.len());
        let mut at = 0;
        let mut put = |side: LineRole, lines: Option<&[&'a str]>| {
            sides.extend(lines.unwrap_or_default().iter().map(|line| (side, *line)));
        };
        for run in &self.runs {
            put(LineRole::Context, self.old.get(at..run.old.start));
            put(LineRole::Remove, self.old.get(run.old.clone()));
            put(LineRole::Add, self.new.get(run.new.clone()));
            at = run.old.end;
        }
        put(LineRole::Context, self.old.get(at..));
        sides.into_iter()
    }

    /// Returns the edits of a text that has the old lines at `place`. None if a
    /// new line cannot be shifted.
    pub(crate) fn edits(&self, place: &MatchPlace<'_>) -> Option<Vec<TextEdit>> {
        let edits: Option<Vec<TextEdit>> =
            self.runs.iter().map(|run| self.edit(run, place)).collect();
        let mut edits = edits?;
        edits.retain(|edit| !(edit.range.is_empty() && edit.text.is_empty()));
        Some(edits)
    }

    fn edit(&self, run: &ChangedRun, place: &MatchPlace<'_>) -> Option<TextEdit> {
        let MatchPlace { rows, ending, .. } = place;
        let new = self.added_lines(run, place)?;
        let first = rows.get(run.old.start);
        let last = run.old.end.checked_sub(1).and_then(|last| rows.get(last));
        let previous = run.old.start.checked_sub(1).and_then(|at| rows.get(at));
        let edit = |range: Range<usize>, text: String| Some(TextEdit { range, text });
        if run.old.is_empty() {
            return match (first, previous) {
                // The file's last line lacks the line ending that the old text
                // has.
                (Some(next), Some(row)) if row.end == next.start => {
                    edit(row.end..row.end, preceded_text(&new, ending))
                }
                (Some(next), _) => edit(next.start..next.start, terminated_text(&new)),
                (None, Some(row)) if row.next > row.end => {
                    edit(row.next..row.next, terminated_text(&new))
                }
                (None, Some(row)) => edit(row.end..row.end, preceded_text(&new, ending)),
                (None, None) => None,
            };
        }
        let (first, last) = (first?, last?);
        if let Some(end) = new.last() {
            // Keep the ending of the last line unless the patch gives another
            // one.
            let turns = end.is_explicit && last.next > last.end;
            return if turns {
                edit(first.start..last.next, terminated_text(&new))
            } else {
                edit(first.start..last.end, joined_text(&new))
            };
        }
        // The ending after the last line of a place stays, so remove the one
        // before it.
        let goes_before = !place.whole_lines && last.next == last.end;
        match previous {
            Some(previous) if goes_before => edit(previous.end..last.end, String::new()),
            _ => edit(first.start..last.next, String::new()),
        }
    }

    /// Returns the added lines, adapted to the place.
    fn added_lines<'p>(
        &self,
        run: &ChangedRun,
        place: &MatchPlace<'p>,
    ) -> Option<Vec<AddedLine<'p>>> {
        let new = self.new.get(run.new.clone())?;
        let mut restored = self.with_file_typography(run, place).into_iter().flatten();
        run.new
            .clone()
            .zip(new)
            .map(|(at, line)| {
                let text = match (place.shift, restored.next()) {
                    (Some(shift), _) => shift.shift_line(line)?,
                    (None, Some(line)) => line,
                    (None, None) => (*line).to_owned(),
                };
                let own = self.endings.get(at).copied().flatten();
                Some(AddedLine {
                    text,
                    ending: own.unwrap_or(place.ending),
                    is_explicit: own.is_some(),
                })
            })
            .collect()
    }

    /// Returns the added lines with the file's typography where old and new
    /// lines agree.
    fn with_file_typography(
        &self,
        run: &ChangedRun,
        place: &MatchPlace<'_>,
    ) -> Option<Vec<String>> {
        let text = place.typography?;
        let rows = place.rows.get(run.old.clone())?;
        let file: Option<Vec<&str>> = rows.iter().map(|row| text.get(row.start..row.end)).collect();
        keep_typography(self.old.get(run.old.clone())?, self.new.get(run.new.clone())?, &file?)
    }

    /// Drops explicit endings of new lines that no line of the text has, except
    /// where only the ending of a line changes.
    pub(crate) fn drop_foreign_endings(&mut self, all: &LineTable<'_>) {
        let said: Vec<&str> = [LineEnding::Lf, LineEnding::CrLf].map(LineEnding::as_str).into();
        let is_strange = |own: &&str| self.endings.contains(&Some(own)) && !all.may_end_with(own);
        let strange: Vec<&str> = said.into_iter().filter(is_strange).collect();
        if strange.is_empty() {
            return;
        }
        for run in &self.runs {
            if self.old.get(run.old.clone()) == self.new.get(run.new.clone()) {
                continue;
            }
            let own = self.endings.get_mut(run.new.clone()).unwrap_or_default();
            let is_strange =
                |own: &&mut Option<&str>| own.is_some_and(|own| strange.contains(&own));
            own.iter_mut().filter(is_strange).for_each(|own| *own = None);
        }
    }

    /// Warns about a new line that the shift indents with both tabs and spaces.
    pub(crate) fn mixed_indent_warning(&self, place: &MatchPlace<'_>) -> Option<String> {
        let shift = place.shift?;
        let lines = self.runs.iter().filter_map(|run| self.new.get(run.new.clone())).flatten();
        let is_made = |line: &&&str| {
            !is_mixed_indent(line)
                && shift.shift_line(line).is_some_and(|shifted| is_mixed_indent(&shifted))
        };
        let line: String = lines.into_iter().find(is_made)?.trim().chars().take(80).collect();
        Some(format!(
            "The new line '{line}' is indented with both tabs and spaces, because the old text \
                is indented differently from the file. Send both with the file's indentation."
        ))
    }

    /// Whether a new line has an explicit ending that no line of the place has.
    pub(crate) fn has_foreign_ending(&self, place: &MatchPlace<'_>, all: &LineTable<'_>) -> bool {
        let is_there = |own: &&str| {
            place.rows.iter().any(|row| all.text().get(row.end..row.next) == Some(*own))
        };
        let mut own: Vec<&str> = self.endings.iter().flatten().copied().collect();
        own.sort_unstable();
        own.dedup();
        !own.iter().all(is_there)
    }

    /// Returns one edit that replaces the whole place; unchanged lines are kept
    /// as in the file. `final_newline` says whether the last line has an
    /// ending.
    pub(crate) fn new_text(
        &self,
        place: &MatchPlace<'_>,
        all: &LineTable<'_>,
        final_newline: bool,
    ) -> Option<TextEdit> {
        let (first, last) = (place.rows.first()?, place.rows.last()?);
        let mut text = String::new();
        // A line's ending is written before the next line, so the last one can
        // be left out.
        let mut ending = "";
        let mut at = 0;
        let end = ChangedRun { old: self.old.len()..self.old.len(), new: 0..0 };
        for run in self.runs.iter().chain([&end]) {
            for row in place.rows.get(at..run.old.start).unwrap_or_default() {
                text.push_str(ending);
                text.push_str(all.text().get(row.start..row.end).unwrap_or_default());
                let own = all.text().get(row.end..row.next).filter(|own| !own.is_empty());
                ending = own.unwrap_or(place.ending);
            }
            for line in self.added_lines(run, place)? {
                text.push_str(ending);
                text.push_str(&line.text);
                ending = line.ending;
            }
            at = run.old.end;
        }
        if final_newline {
            text.push_str(ending);
        }
        Some(TextEdit { range: first.start..last.next, text })
    }
}

/// Where old lines are in a text.
#[derive(Debug)]
pub(crate) struct MatchPlace<'a> {
    /// One row per old line. The last has no ending if the place ends before
    /// it.
    pub(crate) rows: &'a [LineOffsets],
    /// Whether the rows are whole lines.
    pub(crate) whole_lines: bool,
    /// The line ending of new lines.
    pub(crate) ending: &'a str,
    pub(crate) shift: Option<&'a IndentShift>,
    /// The text of the rows, if the old lines match it by look-alikes.
    pub(crate) typography: Option<&'a str>,
}

/// A line to be added.
struct AddedLine<'a> {
    text: String,
    ending: &'a str,
    /// Whether the patch gives the ending.
    is_explicit: bool,
}

fn terminated_text(lines: &[AddedLine<'_>]) -> String {
    lines.iter().flat_map(|line| [line.text.as_str(), line.ending]).collect()
}

/// Joins lines, without the ending of the last.
fn joined_text(lines: &[AddedLine<'_>]) -> String {
    let mut text = terminated_text(lines);
    text.truncate(text.len() - lines.last().map_or(0, |line| line.ending.len()));
    text
}

/// Joins lines that follow an unterminated line.
fn preceded_text(lines: &[AddedLine<'_>], ending: &str) -> String {
    format!("{ending}{}", joined_text(lines))
}

/// Merges adjacent changes.
fn merge_runs(ops: &[DiffOp], head: usize) -> Vec<ChangedRun> {
    let mut runs: Vec<ChangedRun> = Vec::new();
    for op in ops {
        let (tag, old, new) = op.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            continue;
        }
        let old = head + old.start..head + old.end;
        let new = head + new.start..head + new.end;
        match runs.last_mut() {
            Some(run) if run.old.end == old.start && run.new.end == new.start => {
                run.old.end = old.end;
                run.new.end = new.end;
            }
            _ => runs.push(ChangedRun { old, new }),
        }
    }
    runs
}
