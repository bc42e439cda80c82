//! Directory walk by open handles.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use hermes_core::{ToolContext, ToolError};
use hermes_files::{DirEntry, FileKind, OpenDir};
use hermes_search::{BoundedHeap, DirIgnoreRules, HiddenPathRules, IgnoreMarkers};
use schemars::JsonSchema;
use serde::Serialize;

use super::entry::SortableEntry;
use super::pattern::ListingPattern;
use super::sum::SizeCounter;
use super::{Args, ListingSort};

/// Maximum number of unreadable paths reported.
const MAX_UNREADABLE_NAMES: usize = 20;
/// Maximum depth of a walk.
const MAX_DEPTH: u64 = 10;
/// Entries between two deadline checks.
const CLOCK_CHECK_ENTRIES: u64 = 256;
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Fraction of the remaining time reserved for the result.
const ANSWER_TIME_DIVISOR: u32 = 10;

/// Counts of all matches, shown or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct ListingTotals {
    files: u64,
    dirs: u64,
    /// Links, pipes and other special files.
    #[serde(skip_serializing_if = "is_zero")]
    others: u64,
    /// Total size of the files.
    bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The first matches, and the totals of all.
#[derive(Debug)]
pub(super) struct WalkResult {
    best: BoundedHeap<SortableEntry>,
    pub(super) totals: ListingTotals,
    /// Paths that could not be read.
    pub(super) unreadable: Vec<PathBuf>,
    /// Whether time was up before the end.
    pub(super) is_partial: bool,
    /// Whether a `.git` directory was not descended into.
    pub(super) skipped_git: bool,
}

/// Options of a walk.
#[derive(Debug)]
pub(super) struct WalkOptions<'a> {
    pub(super) args: &'a Args,
    pub(super) pattern: Option<&'a ListingPattern>,
    /// Canonical path of the directory.
    pub(super) place: &'a Path,
    pub(super) veil: Option<HiddenPathRules>,
    pub(super) cx: &'a ToolContext,
}

/// A directory being walked, and its remaining entries.
struct ListingLevel {
    relative: PathBuf,
    dir: OpenDir,
    left: IntoIter<DirEntry>,
    rules: Option<DirIgnoreRules>,
}

/// Deadline and progress reporting of a walk.
struct WalkClock {
    until: Option<Instant>,
    reported: Instant,
    seen: u64,
}

impl WalkResult {
    /// Walks a tree and keeps the first `most` entries. `rules` are those of
    /// the parent directories.
    pub(super) fn walk(
        guide: &WalkOptions<'_>,
        root: OpenDir,
        rules: Option<DirIgnoreRules>,
        most: u64,
    ) -> Result<Self, ToolError> {
        let mut survey = Self::new(most);
        let mut levels = Vec::new();
        let mut clock = WalkClock::new(guide.cx);
        let mut summing = SizeCounter::new(guide);
        survey.enter(&mut levels, guide, root, PathBuf::new(), rules.as_ref());
        let depth = usize::try_from(guide.args.depth.clamp(1, MAX_DEPTH)).unwrap_or(usize::MAX);
        while let Some(level) = levels.last_mut() {
            if clock.is_expired(guide.cx)? {
                survey.is_partial = true;
                break;
            }
            let Some(entry) = level.left.next() else {
                levels.pop();
                continue;
            };
            let relative = level.relative.join(&entry.name);
            let real = guide.place.join(&relative);
            if is_excluded(guide.args, level.rules.as_ref(), &real, &entry) {
                continue;
            }
            let is_git = entry.kind == FileKind::Directory && guide.is_git_dir(&entry);
            let is_open = entry.kind == FileKind::Directory && !is_git && !guide.is_veiled(&real);
            survey.skipped_git |= is_git && (guide.args.folder_sizes || levels.len() < depth);
            if guide.pattern.is_none_or(|pattern| pattern.includes(&relative, entry.kind)) {
                let (sort, kind) = (guide.args.sort, entry.kind.into());
                let found = SortableEntry::new(sort, relative.clone(), levels.len(), kind);
                let found = match levels.last() {
                    Some(level) => {
                        with_details(guide, level, found, &entry, is_open, &mut summing)?
                    }
                    None => found,
                };
                survey.count(&entry, &found);
                survey.best.push(found);
            }
            let is_closed = guide.pattern.is_some_and(|pattern| pattern.prunes(&relative));
            if is_open && !is_closed && levels.len() < depth {
                survey.descend(&mut levels, guide, &entry, relative);
            }
        }
        Ok(survey)
    }

    fn new(most: u64) -> Self {
        Self {
            best: BoundedHeap::new(most),
            totals: ListingTotals::default(),
            unreadable: Vec::new(),
            is_partial: false,
            skipped_git: false,
        }
    }

    /// Returns the kept entries in order, and the total number of matches.
    pub(super) fn into_order(self) -> (Vec<SortableEntry>, u64) {
        BoundedHeap::merge(vec![self.best])
    }

    fn count(&mut self, entry: &DirEntry, found: &SortableEntry) {
        match entry.kind {
            FileKind::File => {
                self.totals.files += 1;
                self.totals.bytes = self.totals.bytes.saturating_add(found.size().unwrap_or(0));
            }
            FileKind::Directory => self.totals.dirs += 1,
            _ => self.totals.others += 1,
        }
    }

    fn descend(
        &mut self,
        levels: &mut Vec<ListingLevel>,
        guide: &WalkOptions<'_>,
        entry: &DirEntry,
        relative: PathBuf,
    ) {
        let Some(above) = levels.last() else { return };
        let rules = above.rules.clone();
        match above.dir.open_dir(Path::new(&entry.name)) {
            Ok(dir) => self.enter(levels, guide, dir, relative, rules.as_ref()),
            Err(_) => self.add_unreadable(&relative),
        }
    }

    fn enter(
        &mut self,
        levels: &mut Vec<ListingLevel>,
        guide: &WalkOptions<'_>,
        dir: OpenDir,
        relative: PathBuf,
        above: Option<&DirIgnoreRules>,
    ) {
        let Ok(entries) = dir.entries() else { return self.add_unreadable(&relative) };
        let mut left = Vec::new();
        let mut marks = IgnoreMarkers::default();
        for entry in entries {
            match entry {
                Ok(entry) => {
                    marks.note(entry.name.as_bytes());
                    left.push(entry);
                }
                Err(_) => {
                    self.add_unreadable(&relative);
                    break;
                }
            }
        }
        // Makes the result of a walk that stops early deterministic.
        left.sort_by(|a, b| a.name.cmp(&b.name));
        let place = guide.place.join(&relative);
        let rules = above.map(|above| above.for_dir(&place, marks, |name| dir.open(name)));
        levels.push(ListingLevel { relative, dir, left: left.into_iter(), rules });
    }

    fn add_unreadable(&mut self, relative: &Path) {
        let is_known = || self.unreadable.iter().any(|path| path == relative);
        if self.unreadable.len() < MAX_UNREADABLE_NAMES && !is_known() {
            self.unreadable.push(relative.to_path_buf());
        }
    }
}

impl WalkOptions<'_> {
    /// Whether the entry is a `.git` directory, which is not descended into.
    pub(super) fn is_git_dir(&self, entry: &DirEntry) -> bool {
        self.args.gitignore && entry.name == ".git"
    }

    pub(super) fn is_veiled(&self, real: &Path) -> bool {
        self.veil.as_ref().is_some_and(|veil| veil.hides(real))
    }
}

impl WalkClock {
    fn new(cx: &ToolContext) -> Self {
        let now = Instant::now();
        let until = cx.deadline.map(|at| {
            let left = at.saturating_duration_since(now);
            at.checked_sub(left / ANSWER_TIME_DIVISOR).unwrap_or(at)
        });
        Self { until, reported: now, seen: 0 }
    }

    /// Whether time is up; an error if the call was cancelled.
    fn is_expired(&mut self, cx: &ToolContext) -> Result<bool, ToolError> {
        cx.check_cancelled()?;
        self.seen += 1;
        if !self.seen.is_multiple_of(CLOCK_CHECK_ENTRIES) && self.seen > 1 {
            return Ok(false);
        }
        let now = Instant::now();
        if now.saturating_duration_since(self.reported) >= REPORT_INTERVAL {
            self.reported = now;
            cx.report_progress(None, format!("{} entries seen", self.seen));
        }
        Ok(self.until.is_some_and(|at| now >= at))
    }
}

fn with_details(
    guide: &WalkOptions<'_>,
    level: &ListingLevel,
    found: SortableEntry,
    entry: &DirEntry,
    is_open: bool,
    summing: &mut SizeCounter<'_>,
) -> Result<SortableEntry, ToolError> {
    let facts = || level.dir.metadata(Path::new(&entry.name)).ok();
    let wants_facts = entry.kind == FileKind::File || guide.args.sort == ListingSort::Modified;
    let found = if wants_facts { found.with_facts(facts()) } else { found };
    if !guide.args.folder_sizes || !is_open {
        return Ok(found);
    }
    let real = guide.place.join(level.relative.join(&entry.name));
    Ok(match level.dir.open_dir(Path::new(&entry.name)) {
        Ok(dir) => found.with_sum(summing.sum(dir, &real, level.rules.as_ref())?),
        Err(_) => found,
    })
}

/// Whether an entry is excluded. Ignore rules can also re-include hidden files.
pub(super) fn is_excluded(
    args: &Args,
    rules: Option<&DirIgnoreRules>,
    real: &Path,
    entry: &DirEntry,
) -> bool {
    let is_folder = entry.kind == FileKind::Directory;
    let by_rule = rules.and_then(|rules| rules.is_ignored(real, is_folder));
    let is_hidden = || entry.name.as_encoded_bytes().starts_with(b".");
    by_rule.unwrap_or_else(|| !args.hidden && is_hidden())
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
