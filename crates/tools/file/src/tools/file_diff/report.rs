//! Result of comparing two directories.

use std::time::Duration;

use encoding_rs::Encoding;
use hermes_core::ToolError;
use hermes_files::FileKind;

use super::MAX_ENTRIES;
use super::compared_dir::ComparedDir;
use super::output::{DiffEntry, DiffStatus, Output, join_notes};
use super::pair::{DiffRequest, PairComparison};
use super::side::{DiffSide, SideSummary};
use super::tree::{EntryDifference, TreeComparison};
use crate::path_text::display_below;

/// Maximum total bytes of files compared line by line.
const MAX_COUNTED_BYTES: u64 = 256 * 1024 * 1024;
/// Time limit for an optimal diff of one file.
const FILE_DIFF_TIME_LIMIT: Duration = Duration::from_millis(500);

impl TreeComparison<'_> {
    /// Builds the result: the first `shown` differences by name, and as many
    /// diffs as fit.
    pub(super) fn describe(
        mut self,
        shown: usize,
        request: &DiffRequest,
        reported: Option<&'static Encoding>,
    ) -> Result<Output, ToolError> {
        let mut text = String::new();
        let (mut added, mut removed, mut counted) = (0, 0, 0_u64);
        let (mut left_out, mut uncounted) = (0_usize, 0_usize);
        let differences = std::mem::take(&mut self.differences);
        let share = request.room / differences.len().clamp(1, 4);
        let mut files = Vec::new();
        for difference in &differences {
            self.check_progress()?;
            let is_file = difference.kinds.contains(&Some(FileKind::File))
                && difference.status != DiffStatus::TypeChanged;
            let compared = match is_file && counted < MAX_COUNTED_BYTES {
                true => self.compare_lines(
                    difference,
                    request,
                    reported,
                    share.min(request.room - text.len()),
                ),
                false => {
                    uncounted += usize::from(is_file);
                    None
                }
            };
            let entry = difference.to_entry(&self.dirs, compared.as_ref());
            added += entry.added_lines.unwrap_or_default();
            removed += entry.removed_lines.unwrap_or_default();
            if let Some((compared, size)) = compared {
                counted += size;
                left_out += compared.shown.omitted_lines;
                text.push_str(&compared.shown.text);
            }
            if files.len() < shown {
                files.push(entry);
            }
        }
        let total = differences.len();
        let [old, new] = self.dirs;
        let is_short = total > files.len() || self.is_partial || left_out > 0;
        let hint = hint(files.len(), total, self.is_partial, left_out);
        let identical = total == 0 && self.unreadable.is_empty();
        let mut notes = Vec::new();
        match (identical, uncounted) {
            (true, _) => notes.push("The directories are the same.".to_owned()),
            (_, 0) => {}
            (_, n) => {
                notes.push(format!(
                    "The lines of {n} files are not counted: the size limit was \
                    reached."
                ));
            }
        }
        match self.denied {
            0 => {}
            1 => notes.push("1 protected entry was skipped.".to_owned()),
            n => notes.push(format!("{n} protected entries were skipped.")),
        }
        Ok(Output {
            identical,
            diff: text,
            added_lines: Some(added),
            removed_lines: Some(removed),
            old: SideSummary::for_directory(old.name),
            new: SideSummary::for_directory(new.name),
            summary: Some(self.summary),
            files,
            unreadable: self.unreadable,
            truncated: is_short,
            note: (!notes.is_empty()).then(|| notes.join(" ")),
            hint,
        })
    }

    /// Compares a file line by line; also returns how many bytes were compared.
    fn compare_lines(
        &self,
        difference: &EntryDifference,
        request: &DiffRequest,
        shown: Option<&'static Encoding>,
        room: usize,
    ) -> Option<(PairComparison, u64)> {
        let side = |at: usize| -> Option<DiffSide> {
            let half = self.dirs.get(at)?;
            match difference.kinds.get(at)? {
                Some(_) => half.read_side(&difference.relative, shown, self.cx).ok(),
                None => Some(DiffSide::absent("/dev/null".to_owned())),
            }
        };
        let (old, new) = (side(0)?, side(1)?);
        Some((request.compare(&old, &new, room, FILE_DIFF_TIME_LIMIT), old.size + new.size))
    }
}

impl EntryDifference {
    fn to_entry(
        &self,
        halves: &[ComparedDir; 2],
        compared: Option<&(PairComparison, u64)>,
    ) -> DiffEntry {
        let compared = compared.map(|(compared, _)| compared);
        let stat = compared.and_then(|compared| compared.stat);
        let word = |kind: Option<FileKind>| kind.map_or("nothing", FileKind::describe);
        let note = match (self.status, self.kinds) {
            (DiffStatus::TypeChanged, [old, new]) => {
                Some(format!("{}, now {}", word(old), word(new)))
            }
            (_, [Some(FileKind::Link), _] | [_, Some(FileKind::Link)]) => {
                Some(self.link_note(halves))
            }
            (_, [Some(FileKind::File), Some(FileKind::File)]) => {
                let notes = [self.mode_note(halves), compared.and_then(join_notes)];
                notes.into_iter().flatten().reduce(|one, other| format!("{one}; {other}"))
            }
            (_, [Some(FileKind::File), _] | [_, Some(FileKind::File)]) => {
                compared.and_then(join_notes)
            }
            (_, [old, new]) => Some(word(old.or(new)).to_owned()),
        };
        DiffEntry {
            path: self.display_path(halves),
            status: self.status,
            added_lines: stat.map(|stat| stat.added).filter(|lines| *lines > 0),
            removed_lines: stat.map(|stat| stat.removed).filter(|lines| *lines > 0),
            binary: compared.is_some_and(|compared| compared.is_binary),
            note,
        }
    }

    /// Returns the path relative to the directories; if it is not UTF-8, a URL
    /// in the new directory, or in the old one if it was removed.
    fn display_path(&self, halves: &[ComparedDir; 2]) -> String {
        let [old, new] = halves;
        let half = if self.kinds[1].is_some() { new } else { old };
        display_below("", &half.place, &self.relative)
    }

    /// Describes a change of the executable bit.
    fn mode_note(&self, halves: &[ComparedDir; 2]) -> Option<String> {
        match halves.each_ref().map(|half| half.is_executable(&self.relative)) {
            [Some(false), Some(true)] => Some("now executable".to_owned()),
            [Some(true), Some(false)] => Some("no longer executable".to_owned()),
            _ => None,
        }
    }

    fn link_note(&self, halves: &[ComparedDir; 2]) -> String {
        let targets: Vec<String> = halves
            .iter()
            .filter_map(|half| half.root.read_link(&self.relative).ok().flatten())
            .map(|target| target.display().to_string())
            .collect();
        format!("a symbolic link to {}", targets.join(", now to "))
    }
}

fn hint(listed: usize, total: usize, is_partial: bool, left_out: usize) -> Option<String> {
    if is_partial {
        return Some(format!(
            "The walk stopped after {total} differences, there are more; compare subdirectories."
        ));
    }
    if total > listed {
        return Some(format!(
            "{listed} of {total} differences are listed; set limit (at most {MAX_ENTRIES}), or \
             compare subdirectories."
        ));
    }
    (left_out > 0).then(|| {
        format!(
            "{left_out} more lines of the diffs do not fit; compare files one by one, or use \
             format=stat."
        )
    })
}
