//! Finding files by what somebody remembers of their paths.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use hermes_files::FileKind;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::best::Best;
use crate::entry::Entry;
use crate::error::SearchError;
use crate::names::{Named, Wanted, finish};
use crate::order::{self, Item, Outcome, Plan};
use crate::root::{Root, What};
use crate::selection::Selection;
use crate::walk::{Task, Walk, path_in};
use crate::watch::Watch;
use crate::{Found, Page};

/// A file or folder whose path is near to what was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// What was found.
    pub named: Named,
    /// How near it is; more is nearer.
    pub score: u32,
    /// The characters of the path that fit.
    pub positions: Vec<u32>,
}

/// What each thread has for itself.
struct Hand {
    matcher: Matcher,
    best: Best<(Reverse<u32>, usize, PathBuf, FileKind)>,
    letters: Vec<char>,
}

/// Finds paths in which the letters of each word of `text` occur in order,
/// the nearest first. A fit in the name counts on top of one in the path.
pub fn find_near(
    root: &Root,
    selection: &Selection,
    text: &str,
    wanted: Wanted,
    page: Page,
    watch: &Watch<'_>,
) -> Result<Found<Near>, SearchError> {
    let pattern = Pattern::new(text, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let mut hand = Hand::new(page);
    let (base, above) = match &root.what {
        What::Folder { base, above } => (base, above),
        What::File { name, .. } => {
            hand.weigh(&pattern, Path::new(name), FileKind::File);
            let (best, seen) = Best::merge(vec![hand.best]);
            let known =
                |path: PathBuf| Named { path, kind: FileKind::File, size: None, modified: None };
            let items = present(&pattern, best, page, |path, _| known(path));
            return finish(items, seen, true, page, watch);
        }
    };
    let walk = Walk::new(base, root.place.clone(), selection)?;
    let plan = Plan { needed: None, stopped: &|| watch.ended().is_some() };
    let hands = order::run(
        &plan,
        vec![walk.start(above)],
        || Hand::new(page),
        |hand, key, task: Task, _, outcome: &mut Outcome<Task, ()>| {
            let wants = |entry: Entry<'_>| wanted.fits(entry.kind);
            let Some(listing) = walk.list(&task, watch, wants) else { return };
            watch.look_at(wanted.count(&listing));
            for entry in &listing.kept {
                if entry.is_wanted {
                    hand.weigh(&pattern, &path_in(&task.relative, &entry.name), entry.kind);
                }
                if entry.kind == FileKind::Directory {
                    let below = walk.descend(&task, key, &listing, &entry.name);
                    outcome.extend(below.map(|(key, task)| (key, Item::Work(task))));
                }
            }
        },
        |()| {},
    );
    let (best, seen) = Best::merge(hands.into_iter().map(|hand| hand.best).collect());
    let items = present(&pattern, best, page, |path, kind| Named::look(&base.handle, path, kind));
    finish(items, seen, true, page, watch)
}

fn present(
    pattern: &Pattern,
    best: Vec<(Reverse<u32>, usize, PathBuf, FileKind)>,
    page: Page,
    tell: impl Fn(PathBuf, FileKind) -> Named,
) -> Vec<Near> {
    let mut matcher = matcher();
    let skip = usize::try_from(page.offset).unwrap_or(usize::MAX);
    best.into_iter()
        .skip(skip)
        .map(|(Reverse(score), _, path, kind)| {
            let positions = positions(pattern, &path, &mut matcher);
            Near { named: tell(path, kind), score, positions }
        })
        .collect()
}

/// Which characters fit: those of the name, if it fits alone.
fn positions(pattern: &Pattern, path: &Path, matcher: &mut Matcher) -> Vec<u32> {
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

impl Hand {
    fn new(page: Page) -> Self {
        Self { matcher: matcher(), best: Best::new(page.end()), letters: Vec::new() }
    }

    fn weigh(&mut self, pattern: &Pattern, path: &Path, kind: FileKind) {
        let whole = path.to_string_lossy();
        let Some(score) = self.score(pattern, &whole) else { return };
        let name = whole.rfind('/').and_then(|slash| whole.get(slash + 1..)).unwrap_or(&whole);
        let by_name = self.score(pattern, name).unwrap_or(0);
        let score = score.saturating_add(by_name);
        self.best.show((Reverse(score), whole.len(), path.to_path_buf(), kind));
    }

    fn score(&mut self, pattern: &Pattern, text: &str) -> Option<u32> {
        self.letters.clear();
        pattern.score(Utf32Str::new(text, &mut self.letters), &mut self.matcher)
    }
}
