//! Fuzzy search for paths.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use hermes_files::FileKind;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::bounded_heap::BoundedHeap;
use crate::entry::WalkEntry;
use crate::error::SearchError;
use crate::monitor::SearchMonitor;
use crate::names::{EntryKinds, FoundEntry, result_page};
use crate::ordered_work::{self, RunLimits, WorkOutput, WorkOutputs};
use crate::root::{RootKind, SearchRoot};
use crate::selection::FileSelection;
use crate::walk::{DirTask, SearchWalk, join_path};
use crate::{PageRange, ResultPage};

/// A file or directory whose path matches a fuzzy query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FuzzyHit {
    /// The entry.
    pub entry: FoundEntry,
    /// The score; higher is better.
    pub score: u32,
    /// The matching characters of the path.
    pub positions: Vec<u32>,
}

/// Per-thread state.
struct FuzzyWorker {
    matcher: Matcher,
    best: BoundedHeap<(Reverse<u32>, usize, PathBuf, FileKind)>,
    letters: Vec<char>,
}

/// Finds paths that contain the letters of each word of `text` in order, best
/// match first. A match in the name adds to the score of the path.
pub fn find_fuzzy(
    root: &SearchRoot,
    selection: &FileSelection,
    text: &str,
    wanted: EntryKinds,
    page: PageRange,
    watch: &SearchMonitor<'_>,
) -> Result<ResultPage<FuzzyHit>, SearchError> {
    let pattern = Pattern::new(text, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let mut hand = FuzzyWorker::new(page);
    let (base, above) = match &root.kind {
        RootKind::Dir { base, parent_rules: above } => (base, above),
        RootKind::File { name, .. } => {
            hand.rank(&pattern, Path::new(name), FileKind::File);
            let (best, seen) = BoundedHeap::merge(vec![hand.best]);
            let known = |path: PathBuf| FoundEntry {
                path,
                kind: FileKind::File,
                size: None,
                modified: None,
            };
            let items = build_hits(&pattern, best, page, |path, _| known(path));
            return result_page(items, seen, true, page, watch);
        }
    };
    let walk = SearchWalk::new(base, root.real_path.clone(), selection)?;
    let plan = RunLimits { needed: None, is_stopped: &|| watch.early_stop().is_some() };
    let workers = ordered_work::run_ordered(
        &plan,
        vec![walk.start(above)],
        || FuzzyWorker::new(page),
        |hand, key, task: DirTask, _, outcome: &mut WorkOutputs<DirTask, ()>| {
            let wants = |entry: WalkEntry<'_>| wanted.includes(entry.kind);
            let Some(listing) = walk.list(&task, watch, wants) else { return };
            watch.count_files(wanted.count(&listing));
            for entry in &listing.kept {
                if entry.is_wanted {
                    hand.rank(&pattern, &join_path(&task.relative, &entry.name), entry.kind);
                }
                if entry.kind == FileKind::Directory {
                    let below = walk.descend(&task, key, &listing, &entry.name);
                    outcome.extend(below.map(|(key, task)| (key, WorkOutput::Work(task))));
                }
            }
        },
        |()| {},
    );
    let (best, seen) = BoundedHeap::merge(workers.into_iter().map(|hand| hand.best).collect());
    let items = build_hits(&pattern, best, page, |path, kind| {
        FoundEntry::with_stat(&base.handle, path, kind)
    });
    result_page(items, seen, true, page, watch)
}

fn build_hits(
    pattern: &Pattern,
    best: Vec<(Reverse<u32>, usize, PathBuf, FileKind)>,
    page: PageRange,
    tell: impl Fn(PathBuf, FileKind) -> FoundEntry,
) -> Vec<FuzzyHit> {
    let mut matcher = matcher();
    let skip = usize::try_from(page.offset).unwrap_or(usize::MAX);
    best.into_iter()
        .skip(skip)
        .map(|(Reverse(score), _, path, kind)| {
            let positions = match_positions(pattern, &path, &mut matcher);
            FuzzyHit { entry: tell(path, kind), score, positions }
        })
        .collect()
}

/// Returns the matching characters: those of the name, if it matches on its
/// own.
fn match_positions(pattern: &Pattern, path: &Path, matcher: &mut Matcher) -> Vec<u32> {
    let whole = path.to_string_lossy();
    let name_at = whole.rfind('/').map_or(0, |slash| slash + 1);
    let (lead, name) = whole.split_at(name_at);
    let mut letters = Vec::new();
    let mut positions = Vec::new();
    let mut shift = u32::try_from(lead.chars().count()).unwrap_or(u32::MAX);
    let fits = pattern.indices(Utf32Str::new(name, &mut letters), matcher, &mut positions);
    if fits.is_none() {
        shift = 0;
        positions.clear();
        letters.clear();
        pattern.indices(Utf32Str::new(&whole, &mut letters), matcher, &mut positions);
    }
    for position in &mut positions {
        *position = position.saturating_add(shift);
    }
    positions.sort_unstable();
    positions.dedup();
    positions
}

fn matcher() -> Matcher {
    Matcher::new(Config::DEFAULT.match_paths())
}

impl FuzzyWorker {
    fn new(page: PageRange) -> Self {
        Self { matcher: matcher(), best: BoundedHeap::new(page.end()), letters: Vec::new() }
    }

    fn rank(&mut self, pattern: &Pattern, path: &Path, kind: FileKind) {
        let whole = path.to_string_lossy();
        let Some(score) = self.score(pattern, &whole) else { return };
        let name = whole.rfind('/').and_then(|slash| whole.get(slash + 1..)).unwrap_or(&whole);
        let by_name = self.score(pattern, name).unwrap_or(0);
        let score = score.saturating_add(by_name);
        self.best.push((Reverse(score), whole.len(), path.to_path_buf(), kind));
    }

    fn score(&mut self, pattern: &Pattern, text: &str) -> Option<u32> {
        self.letters.clear();
        pattern.score(Utf32Str::new(text, &mut self.letters), &mut self.matcher)
    }
}
