//! Finding files and folders by their names.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use std::os::unix::ffi::OsStrExt;

use hermes_files::{IgnoreRules, FileKind};

use crate::best::Best;
use crate::entry::Entry;
use crate::error::SearchError;
use crate::glob::PathGlob;
use crate::handle::{Handle, Known};
use crate::order::{self, Item, Key, Outcome, Plan, key_in};
use crate::root::{Root, What};
use crate::selection::Selection;
use crate::walk::{Listing, Task, Walk, path_in};
use crate::watch::{Ended, Watch};
use crate::{Found, Page, Sort};

/// What may be found by its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Regular files, and links, wherever they lead.
    #[default]
    Files,
    /// Folders, and no links to some.
    Folders,
    /// Both.
    Both,
}

impl Wanted {
    /// Whether something of that kind is wanted.
    pub(crate) fn fits(self, kind: FileKind) -> bool {
        match self {
            Self::Files => matches!(kind, FileKind::File | FileKind::Link),
            Self::Folders => kind == FileKind::Directory,
            Self::Both => matches!(kind, FileKind::File | FileKind::Directory | FileKind::Link),
        }
    }

    /// How many of the entries of a folder are of that kind.
    pub(crate) fn count(self, listing: &Listing) -> usize {
        match self {
            Self::Files => listing.files,
            Self::Folders => listing.folders,
            Self::Both => listing.files + listing.folders,
        }
    }
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Names {
    /// What the name or the path must be like.
    pub glob: PathGlob,
    /// Files, folders or both.
    pub wanted: Wanted,
    /// In which order.
    pub sort: Sort,
}

impl Names {
    fn fit(&self, entry: Entry<'_>) -> bool {
        self.wanted.fits(entry.kind) && self.glob.fits(entry.path, entry.name)
    }
}

/// A file or folder that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Where it is, relative to the root.
    pub path: PathBuf,
    /// What it is; a link is a link.
    pub kind: FileKind,
    /// Its bytes, if it is a file that is still there.
    pub size: Option<u64>,
    /// When its content last changed.
    pub modified: Option<SystemTime>,
}

impl Named {
    pub(crate) fn look(root: &Handle, path: PathBuf, kind: FileKind) -> Self {
        let facts = root.known(&path).ok();
        Self::new(path, kind, facts)
    }

    fn new(path: PathBuf, kind: FileKind, facts: Option<Known>) -> Self {
        Self {
            size: facts.filter(|facts| facts.kind == FileKind::File).map(|facts| facts.len),
            modified: facts.and_then(|facts| facts.modified),
            path,
            kind,
        }
    }
}

/// Finds what has a name. With a file as the root only that file can be found.
pub fn find_names(
    root: &Root,
    selection: &Selection,
    names: &Names,
    page: Page,
    watch: &Watch<'_>,
) -> Result<Found<Named>, SearchError> {
    let (base, above) = match &root.what {
        What::Folder { base, above } => (base, above),
        What::File { file, name } => {
            let fits = names.wanted.fits(FileKind::File) && names.glob.matches(Path::new(name));
            let facts = file.metadata().ok();
            let named = Named {
                path: PathBuf::from(name),
                kind: FileKind::File,
                size: facts.as_ref().map(std::fs::Metadata::len),
                modified: facts.and_then(|facts| facts.modified().ok()),
            };
            let items = if fits && page.offset == 0 { vec![named] } else { Vec::new() };
            return finish(items, u64::from(fits), true, page, watch);
        }
    };
    let hidden = selection.hidden || names.glob.names_hidden;
    let selection = Selection { hidden, ..selection.clone() };
    let walk = Walk::new(base, root.place.clone(), &selection)?;
    match names.sort {
        Sort::Path => in_order(&walk, above, names, page, watch),
        Sort::Modified => {
            let rank = |_: &Path, facts: Option<Known>| {
                Reverse(facts.and_then(|f| f.modified).unwrap_or(SystemTime::UNIX_EPOCH))
            };
            ranked(&walk, above, names, page, watch, rank)
        }
        Sort::Relevance => {
            // What lies near is more likely meant.
            let rank = |path: &Path, _: Option<Known>| path.components().count();
            ranked(&walk, above, names, page, watch, rank)
        }
    }
}

fn in_order(
    walk: &Walk<'_>,
    above: &[IgnoreRules],
    names: &Names,
    page: Page,
    watch: &Watch<'_>,
) -> Result<Found<Named>, SearchError> {
    let plan = Plan { needed: Some(page.needed()), stopped: &|| watch.ended().is_some() };
    let mut seen = 0;
    let mut items = Vec::new();
    order::run(
        &plan,
        vec![walk.start(above)],
        || (),
        |(), key, task, _, outcome| {
            list(walk, names, key, &task, watch, outcome);
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
    let items =
        items.into_iter().map(|(path, kind)| Named::look(walk.root(), path, kind)).collect();
    finish(items, seen, seen < page.needed(), page, watch)
}

/// What was found, by its rank and then by its path.
type Ranked<R> = (R, PathBuf, FileKind, Option<Known>);

fn ranked<R: Ord + Send>(
    walk: &Walk<'_>,
    above: &[IgnoreRules],
    names: &Names,
    page: Page,
    watch: &Watch<'_>,
    rank: impl Fn(&Path, Option<Known>) -> R + Sync,
) -> Result<Found<Named>, SearchError> {
    let plan = Plan { needed: None, stopped: &|| watch.ended().is_some() };
    let wants_facts = names.sort == Sort::Modified;
    let hands = order::run(
        &plan,
        vec![walk.start(above)],
        || Best::new(page.end()),
        |best: &mut Best<Ranked<R>>, key, task, _, outcome: &mut Outcome<Task, ()>| {
            let wants = |entry: Entry<'_>| names.fit(entry);
            let Some(listing) = walk.list(&task, watch, wants) else { return };
            watch.look_at(names.wanted.count(&listing));
            for entry in &listing.kept {
                let path = entry.is_wanted.then(|| path_in(&task.relative, &entry.name));
                if let Some(path) = path {
                    let facts = || listing.folder.known(Path::new(&entry.name)).ok();
                    let facts = if wants_facts { facts() } else { None };
                    best.show((rank(&path, facts), path, entry.kind, facts));
                }
                if entry.kind == FileKind::Directory {
                    let below = walk.descend(&task, key, &listing, &entry.name);
                    outcome.extend(below.map(|(key, task)| (key, Item::Work(task))));
                }
            }
        },
        |()| {},
    );
    let (best, seen) = Best::merge(hands);
    let skip = usize::try_from(page.offset).unwrap_or(usize::MAX);
    let items = best
        .into_iter()
        .skip(skip)
        .map(|(_, path, kind, facts)| match facts {
            Some(facts) => Named::new(path, kind, Some(facts)),
            None => Named::look(walk.root(), path, kind),
        })
        .collect();
    finish(items, seen, true, page, watch)
}

/// What fits in a folder, and the folders below it, in order.
fn list(
    walk: &Walk<'_>,
    names: &Names,
    key: &Key,
    task: &Task,
    watch: &Watch<'_>,
    outcome: &mut Outcome<Task, Vec<(PathBuf, FileKind)>>,
) {
    let wants = |entry: Entry<'_>| names.fit(entry);
    let Some(listing) = walk.list(task, watch, wants) else { return };
    watch.look_at(names.wanted.count(&listing));
    let mut run: Vec<(PathBuf, FileKind)> = Vec::new();
    let mut run_key = Key::new();
    for entry in &listing.kept {
        let is_folder = entry.kind == FileKind::Directory;
        let path = entry.is_wanted.then(|| path_in(&task.relative, &entry.name));
        if let Some(path) = path {
            if run.is_empty() {
                run_key = key_in(key, entry.name.as_bytes());
                if is_folder {
                    // Behind its task and before all that is in it.
                    run_key.push(0);
                }
            }
            run.push((path, entry.kind));
        }
        if is_folder {
            let below = walk.descend(task, key, &listing, &entry.name);
            outcome.extend(below.map(|(key, task)| (key, Item::Work(task))));
            flush(&mut run, &mut run_key, outcome);
        }
    }
    flush(&mut run, &mut run_key, outcome);
}

fn flush(
    run: &mut Vec<(PathBuf, FileKind)>,
    key: &mut Key,
    outcome: &mut Outcome<Task, Vec<(PathBuf, FileKind)>>,
) {
    if !run.is_empty() {
        let (run, key) = (std::mem::take(run), std::mem::take(key));
        let number = run.len() as u64;
        outcome.push((key, Item::Done(run, number)));
    }
}

pub(crate) fn finish<T>(
    items: Vec<T>,
    total: u64,
    is_complete: bool,
    page: Page,
    watch: &Watch<'_>,
) -> Result<Found<T>, SearchError> {
    let ended = watch.ended();
    if ended == Some(Ended::Cancelled) {
        return Err(SearchError::Cancelled);
    }
    let ended = if is_complete { ended } else { None };
    Ok(Found {
        items,
        total,
        is_exact: is_complete && ended.is_none(),
        has_more: total > page.end() || ended.is_some(),
        looked_at: watch.looked_at(),
        skipped: watch.skipped(),
        ended,
    })
}
