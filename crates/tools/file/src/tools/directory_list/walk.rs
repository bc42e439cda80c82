//! The walk through a folder, from handle to handle.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use hermes_core::{ToolContext, ToolError};
use hermes_files::{DirEntry, OpenDir, FileKind};
use hermes_search::{BoundedHeap, IgnoreMarkers, DirIgnoreRules, HiddenPathRules};
use schemars::JsonSchema;
use serde::Serialize;

use super::entry::Found;
use super::pattern::Pattern;
use super::sum::Summing;
use super::{Args, Sort};

/// Folders that could not be read, of which the names are kept.
const UNREADABLE: usize = 20;
/// Levels that a walk descends.
const LEVELS: u64 = 10;
/// Entries between two looks at the clock.
const LOOK: u64 = 256;
const BETWEEN_REPORTS: Duration = Duration::from_secs(1);
/// The part of the remaining time that is left for the answer.
const RESERVE: u32 = 10;

/// What matches, shown or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Totals {
    files: u64,
    dirs: u64,
    /// Links, pipes and the like.
    #[serde(skip_serializing_if = "is_zero")]
    others: u64,
    /// Of the files.
    bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// All that matches: the first ones, and the sums of all.
#[derive(Debug)]
pub(super) struct Survey {
    best: BoundedHeap<Found>,
    pub(super) totals: Totals,
    /// Paths that could not be looked into.
    pub(super) unreadable: Vec<PathBuf>,
    /// Time was up before the end.
    pub(super) is_partial: bool,
    /// A folder of git's own was not looked into.
    pub(super) passed_git: bool,
}

/// What a walk goes by.
#[derive(Debug)]
pub(super) struct Guide<'a> {
    pub(super) args: &'a Args,
    pub(super) pattern: Option<&'a Pattern>,
    /// The real path of the folder.
    pub(super) place: &'a Path,
    pub(super) veil: Option<HiddenPathRules>,
    pub(super) cx: &'a ToolContext,
}

/// A folder on the way down, and what is left of it.
struct Level {
    relative: PathBuf,
    folder: OpenDir,
    left: IntoIter<DirEntry>,
    rules: Option<DirIgnoreRules>,
}

/// When a walk has to end, and when it last told of itself.
struct Clock {
    until: Option<Instant>,
    reported: Instant,
    seen: u64,
}

impl Survey {
    /// Keeps the first `most`. `rules` are those of the folders above.
    pub(super) fn take(
        guide: &Guide<'_>,
        root: OpenDir,
        rules: Option<DirIgnoreRules>,
        most: u64,
    ) -> Result<Self, ToolError> {
        let mut survey = Self::new(most);
        let mut levels = Vec::new();
        let mut clock = Clock::new(guide.cx);
        let mut summing = Summing::new(guide);
        survey.enter(&mut levels, guide, root, PathBuf::new(), rules.as_ref());
        let depth = usize::try_from(guide.args.depth.clamp(1, LEVELS)).unwrap_or(usize::MAX);
        while let Some(level) = levels.last_mut() {
            if clock.is_up(guide.cx)? {
                survey.is_partial = true;
                break;
            }
            let Some(entry) = level.left.next() else {
                levels.pop();
                continue;
            };
            let relative = level.relative.join(&entry.name);
            let real = guide.place.join(&relative);
            if is_left_out(guide.args, level.rules.as_ref(), &real, &entry) {
                continue;
            }
            let is_git = entry.kind == FileKind::Directory && guide.is_git(&entry);
            let is_open = entry.kind == FileKind::Directory && !is_git && !guide.is_veiled(&real);
            survey.passed_git |= is_git && (guide.args.folder_sizes || levels.len() < depth);
            if guide.pattern.is_none_or(|pattern| pattern.takes(&relative, entry.kind)) {
                let (sort, kind) = (guide.args.sort, entry.kind.into());
                let found = Found::new(sort, relative.clone(), levels.len(), kind);
                let found = match levels.last() {
                    Some(level) => describe(guide, level, found, &entry, is_open, &mut summing)?,
                    None => found,
                };
                survey.count(&entry, &found);
                survey.best.push(found);
            }
            let is_closed = guide.pattern.is_some_and(|pattern| pattern.closes(&relative));
            if is_open && !is_closed && levels.len() < depth {
                survey.descend(&mut levels, guide, &entry, relative);
            }
        }
        Ok(survey)
    }

    fn new(most: u64) -> Self {
        Self {
            best: BoundedHeap::new(most),
            totals: Totals::default(),
            unreadable: Vec::new(),
            is_partial: false,
            passed_git: false,
        }
    }

    /// Those that were kept, in order, and how many there are in all.
    pub(super) fn into_order(self) -> (Vec<Found>, u64) {
        BoundedHeap::merge(vec![self.best])
    }

    fn count(&mut self, entry: &DirEntry, found: &Found) {
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
        levels: &mut Vec<Level>,
        guide: &Guide<'_>,
        entry: &DirEntry,
        relative: PathBuf,
    ) {
        let Some(above) = levels.last() else { return };
        let rules = above.rules.clone();
        match above.folder.open_dir(Path::new(&entry.name)) {
            Ok(folder) => self.enter(levels, guide, folder, relative, rules.as_ref()),
            Err(_) => self.skip(&relative),
        }
    }

    fn enter(
        &mut self,
        levels: &mut Vec<Level>,
        guide: &Guide<'_>,
        folder: OpenDir,
        relative: PathBuf,
        above: Option<&DirIgnoreRules>,
    ) {
        let Ok(entries) = folder.entries() else { return self.skip(&relative) };
        let mut left = Vec::new();
        let mut marks = IgnoreMarkers::default();
        for entry in entries {
            match entry {
                Ok(entry) => {
                    marks.note(entry.name.as_bytes());
                    left.push(entry);
                }
                Err(_) => {
                    self.skip(&relative);
                    break;
                }
            }
        }
        // A walk that stops early gives the same answer every time.
        left.sort_by(|a, b| a.name.cmp(&b.name));
        let place = guide.place.join(&relative);
        let rules = above.map(|above| above.for_dir(&place, marks, |name| folder.open(name)));
        levels.push(Level { relative, folder, left: left.into_iter(), rules });
    }

    fn skip(&mut self, relative: &Path) {
        let is_known = || self.unreadable.iter().any(|path| path == relative);
        if self.unreadable.len() < UNREADABLE && !is_known() {
            self.unreadable.push(relative.to_path_buf());
        }
    }
}

impl Guide<'_> {
    /// Git's own objects are never what somebody looks for.
    pub(super) fn is_git(&self, entry: &DirEntry) -> bool {
        self.args.gitignore && entry.name == ".git"
    }

    pub(super) fn is_veiled(&self, real: &Path) -> bool {
        self.veil.as_ref().is_some_and(|veil| veil.hides(real))
    }
}

impl Clock {
    fn new(cx: &ToolContext) -> Self {
        let now = Instant::now();
        let until = cx.deadline.map(|at| {
            let left = at.saturating_duration_since(now);
            at.checked_sub(left / RESERVE).unwrap_or(at)
        });
        Self { until, reported: now, seen: 0 }
    }

    /// Whether to stop; an error if the call was cancelled.
    fn is_up(&mut self, cx: &ToolContext) -> Result<bool, ToolError> {
        cx.check_cancelled()?;
        self.seen += 1;
        if !self.seen.is_multiple_of(LOOK) && self.seen > 1 {
            return Ok(false);
        }
        let now = Instant::now();
        if now.saturating_duration_since(self.reported) >= BETWEEN_REPORTS {
            self.reported = now;
            cx.report_progress(None, format!("{} entries seen", self.seen));
        }
        Ok(self.until.is_some_and(|at| now >= at))
    }
}

fn describe(
    guide: &Guide<'_>,
    level: &Level,
    found: Found,
    entry: &DirEntry,
    is_open: bool,
    summing: &mut Summing<'_>,
) -> Result<Found, ToolError> {
    let facts = || level.folder.metadata(Path::new(&entry.name)).ok();
    let wants_facts = entry.kind == FileKind::File || guide.args.sort == Sort::Modified;
    let found = if wants_facts { found.with_facts(facts()) } else { found };
    if !guide.args.folder_sizes || !is_open {
        return Ok(found);
    }
    let real = guide.place.join(level.relative.join(&entry.name));
    Ok(match level.folder.open_dir(Path::new(&entry.name)) {
        Ok(folder) => found.with_sum(summing.sum(folder, &real, level.rules.as_ref())?),
        Err(_) => found,
    })
}

/// A rule may show what is hidden, as it may leave out what is not.
pub(super) fn is_left_out(args: &Args, rules: Option<&DirIgnoreRules>, real: &Path, entry: &DirEntry) -> bool {
    let is_folder = entry.kind == FileKind::Directory;
    let by_rule = rules.and_then(|rules| rules.is_ignored(real, is_folder));
    let is_hidden = || entry.name.as_encoded_bytes().starts_with(b".");
    by_rule.unwrap_or_else(|| !args.hidden && is_hidden())
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
