//! Finding files and directories by name.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use std::os::unix::ffi::OsStrExt;

use hermes_files::{FileKind, IgnoreRules};

use crate::bounded_heap::BoundedHeap;
use crate::dir_handle::{DirHandle, EntryStat};
use crate::entry::WalkEntry;
use crate::error::SearchError;
use crate::glob::PathGlob;
use crate::monitor::{EarlyStop, SearchMonitor};
use crate::ordered_work::{self, OrderKey, RunLimits, WorkOutput, WorkOutputs, key_in};
use crate::root::{RootKind, SearchRoot};
use crate::selection::FileSelection;
use crate::walk::{DirListing, DirTask, SearchWalk, join_path};
use crate::{PageRange, ResultPage, SortOrder};

/// Which kinds of entries to find.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EntryKinds {
    /// Regular files and symlinks, whatever their target.
    #[default]
    Files,
    /// Directories, without symlinks to directories.
    Dirs,
    /// Both.
    Both,
}

impl EntryKinds {
    /// Whether entries of this kind are included.
    pub(crate) fn includes(self, kind: FileKind) -> bool {
        match self {
            Self::Files => matches!(kind, FileKind::File | FileKind::Link),
            Self::Dirs => kind == FileKind::Directory,
            Self::Both => matches!(kind, FileKind::File | FileKind::Directory | FileKind::Link),
        }
    }

    /// Counts the entries of these kinds in a directory.
    pub(crate) fn count(self, listing: &DirListing) -> usize {
        match self {
            Self::Files => listing.files,
            Self::Dirs => listing.dirs,
            Self::Both => listing.files + listing.dirs,
        }
    }
}

/// A query for names.
#[derive(Debug, Clone)]
pub struct NameQuery {
    /// The glob that the name or path must match.
    pub glob: PathGlob,
    /// The kinds of entries to find.
    pub kinds: EntryKinds,
    /// The order of the results.
    pub sort: SortOrder,
}

impl NameQuery {
    fn matches(&self, entry: WalkEntry<'_>) -> bool {
        self.kinds.includes(entry.kind) && self.glob.matches_entry(entry.path, entry.name)
    }
}

/// A file or directory that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEntry {
    /// Its path, relative to the root.
    pub path: PathBuf,
    /// Its kind; symlinks are not followed.
    pub kind: FileKind,
    /// Its size in bytes, if it is a file that still exists.
    pub size: Option<u64>,
    /// When its content was last modified.
    pub modified: Option<SystemTime>,
}

impl FoundEntry {
    pub(crate) fn with_stat(root: &DirHandle, path: PathBuf, kind: FileKind) -> Self {
        let facts = root.stat(&path).ok();
        Self::new(path, kind, facts)
    }

    fn new(path: PathBuf, kind: FileKind, facts: Option<EntryStat>) -> Self {
        Self {
            size: facts.filter(|facts| facts.kind == FileKind::File).map(|facts| facts.len),
            modified: facts.and_then(|facts| facts.modified),
            path,
            kind,
        }
    }
}

/// Finds entries by name. If the root is a file, only that file can be found.
pub fn find_names(
    root: &SearchRoot,
    selection: &FileSelection,
    names: &NameQuery,
    page: PageRange,
    watch: &SearchMonitor<'_>,
) -> Result<ResultPage<FoundEntry>, SearchError> {
    let (base, above) = match &root.kind {
        RootKind::Dir { base, parent_rules: above } => (base, above),
        RootKind::File { file, name } => {
            let fits = names.kinds.includes(FileKind::File) && names.glob.matches(Path::new(name));
            let facts = file.metadata().ok();
            let named = FoundEntry {
                path: PathBuf::from(name),
                kind: FileKind::File,
                size: facts.as_ref().map(std::fs::Metadata::len),
                modified: facts.and_then(|facts| facts.modified().ok()),
            };
            let items = if fits && page.offset == 0 { vec![named] } else { Vec::new() };
            return result_page(items, u64::from(fits), true, page, watch);
        }
    };
    let hidden = selection.hidden || names.glob.names_hidden;
    let selection = FileSelection { hidden, ..selection.clone() };
    let walk = SearchWalk::new(base, root.real_path.clone(), &selection)?;
    match names.sort {
        SortOrder::Path => find_in_order(&walk, above, names, page, watch),
        SortOrder::Modified => {
            let rank = |_: &Path, facts: Option<EntryStat>| {
                Reverse(facts.and_then(|f| f.modified).unwrap_or(SystemTime::UNIX_EPOCH))
            };
            find_ranked(&walk, above, names, page, watch, rank)
        }
        SortOrder::Relevance => {
            // Entries near the root are more relevant.
            let rank = |path: &Path, _: Option<EntryStat>| path.components().count();
            find_ranked(&walk, above, names, page, watch, rank)
        }
    }
}

fn find_in_order(
    walk: &SearchWalk<'_>,
    above: &[IgnoreRules],
    names: &NameQuery,
    page: PageRange,
    watch: &SearchMonitor<'_>,
) -> Result<ResultPage<FoundEntry>, SearchError> {
    let plan =
        RunLimits { needed: Some(page.needed()), is_stopped: &|| watch.early_stop().is_some() };
    let mut seen = 0;
    let mut items = Vec::new();
    ordered_work::run_ordered(
        &plan,
        vec![walk.start(above)],
        || (),
        |(), key, task, _, outcome| {
            list_matching(walk, names, key, &task, watch, outcome);
        },
        |found: Vec<(PathBuf, FileKind)>| {
            for entry in found {
                if (page.offset..page.end()).contains(&seen) {
                    items.push(entry);
                }
                seen += 1;
            }
        },
    );
    let items = items
        .into_iter()
        .map(|(path, kind)| FoundEntry::with_stat(walk.root_handle(), path, kind))
        .collect();
    result_page(items, seen, seen < page.needed(), page, watch)
}

/// A found entry, ordered by rank, then by path.
type RankedEntry<R> = (R, PathBuf, FileKind, Option<EntryStat>);

fn find_ranked<R: Ord + Send>(
    walk: &SearchWalk<'_>,
    above: &[IgnoreRules],
    names: &NameQuery,
    page: PageRange,
    watch: &SearchMonitor<'_>,
    rank: impl Fn(&Path, Option<EntryStat>) -> R + Sync,
) -> Result<ResultPage<FoundEntry>, SearchError> {
    let plan = RunLimits { needed: None, is_stopped: &|| watch.early_stop().is_some() };
    let wants_facts = names.sort == SortOrder::Modified;
    let workers = ordered_work::run_ordered(
        &plan,
        vec![walk.start(above)],
        || BoundedHeap::new(page.end()),
        |best: &mut BoundedHeap<RankedEntry<R>>,
         key,
         task,
         _,
         outcome: &mut WorkOutputs<DirTask, ()>| {
            let wants = |entry: WalkEntry<'_>| names.matches(entry);
            let Some(listing) = walk.list(&task, watch, wants) else { return };
            watch.count_files(names.kinds.count(&listing));
            for entry in &listing.kept {
                let path = entry.is_wanted.then(|| join_path(&task.relative, &entry.name));
                if let Some(path) = path {
                    let facts = || listing.dir.stat(Path::new(&entry.name)).ok();
                    let facts = if wants_facts { facts() } else { None };
                    best.push((rank(&path, facts), path, entry.kind, facts));
                }
                if entry.kind == FileKind::Directory {
                    let below = walk.descend(&task, key, &listing, &entry.name);
                    outcome.extend(below.map(|(key, task)| (key, WorkOutput::Work(task))));
                }
            }
        },
        |()| {},
    );
    let (best, seen) = BoundedHeap::merge(workers);
    let skip = usize::try_from(page.offset).unwrap_or(usize::MAX);
    let items = best
        .into_iter()
        .skip(skip)
        .map(|(_, path, kind, facts)| match facts {
            Some(facts) => FoundEntry::new(path, kind, Some(facts)),
            None => FoundEntry::with_stat(walk.root_handle(), path, kind),
        })
        .collect();
    result_page(items, seen, true, page, watch)
}

/// Lists the matching entries of a directory and its subdirectories, in order.
fn list_matching(
    walk: &SearchWalk<'_>,
    names: &NameQuery,
    key: &OrderKey,
    task: &DirTask,
    watch: &SearchMonitor<'_>,
    outcome: &mut WorkOutputs<DirTask, Vec<(PathBuf, FileKind)>>,
) {
    let wants = |entry: WalkEntry<'_>| names.matches(entry);
    let Some(listing) = walk.list(task, watch, wants) else { return };
    watch.count_files(names.kinds.count(&listing));
    let mut run: Vec<(PathBuf, FileKind)> = Vec::new();
    let mut run_key = OrderKey::new();
    for entry in &listing.kept {
        let is_folder = entry.kind == FileKind::Directory;
        let path = entry.is_wanted.then(|| join_path(&task.relative, &entry.name));
        if let Some(path) = path {
            if run.is_empty() {
                run_key = key_in(key, entry.name.as_bytes());
                if is_folder {
                    // Sorts after the directory's task and before its contents.
                    run_key.push(0);
                }
            }
            run.push((path, entry.kind));
        }
        if is_folder {
            let below = walk.descend(task, key, &listing, &entry.name);
            outcome.extend(below.map(|(key, task)| (key, WorkOutput::Work(task))));
            flush(&mut run, &mut run_key, outcome);
        }
    }
    flush(&mut run, &mut run_key, outcome);
}

fn flush(
    run: &mut Vec<(PathBuf, FileKind)>,
    key: &mut OrderKey,
    outcome: &mut WorkOutputs<DirTask, Vec<(PathBuf, FileKind)>>,
) {
    if !run.is_empty() {
        let (run, key) = (std::mem::take(run), std::mem::take(key));
        let number = run.len() as u64;
        outcome.push((key, WorkOutput::Done(run, number)));
    }
}

pub(crate) fn result_page<T>(
    items: Vec<T>,
    total: u64,
    is_complete: bool,
    page: PageRange,
    watch: &SearchMonitor<'_>,
) -> Result<ResultPage<T>, SearchError> {
    let ended = watch.early_stop();
    if ended == Some(EarlyStop::Cancelled) {
        return Err(SearchError::Cancelled);
    }
    let ended = if is_complete { ended } else { None };
    Ok(ResultPage {
        items,
        total,
        is_exact: is_complete && ended.is_none(),
        has_more: total > page.end() || ended.is_some(),
        files_visited: watch.files_visited(),
        skipped: watch.skipped(),
        early_stop: ended,
    })
}
