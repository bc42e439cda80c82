//! Who is told of calls that may change files, and keeps what they change.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::{CheckpointId, CheckpointHooks, ErrorKind, PendingChange, FileWritten, ToolError};
use hermes_files::JournalDir;

use crate::account::Left;
use crate::capture::{Capture, not_as_a_whole};
use crate::commons;
use crate::manifest::{Change, Seen};
use crate::moved::{self, Beginning};
use crate::state::{Hash, State, Unkept};
use crate::store::{Store, id_of, lock_alone, now, workspace_of};
use crate::tracked::Indexes;
use crate::tree::{Ground, Listing};
use crate::turn::{Running, Sight, Turn};
use crate::written::written;

/// Turns that are kept in memory after their last call.
const REMEMBERED: usize = 32;

/// Trees that are kept in memory; the others are read again.
const SEEN: usize = 8;

/// Problems that are told apart.
const PROBLEMS: usize = 100;

/// Keeps what calls are about to change. Cheap to share; one for a process.
#[derive(Debug)]
pub struct Keeper {
    store: Arc<Store>,
    /// Folders of our own, which are in no snapshot.
    private: Vec<PathBuf>,
    turns: Mutex<HashMap<CheckpointId, Arc<Mutex<Turn>>>>,
    /// The tree of each workspace, as it was last seen.
    seen: Mutex<HashMap<PathBuf, Sight>>,
    problems: Mutex<Vec<String>>,
    /// What git tracks in the workspaces.
    indexes: Indexes,
    /// Where changes of several files are written down.
    journals: Option<Arc<JournalDir>>,
}

impl Keeper {
    /// One that keeps in `store`. What is in `private` is in no snapshot of a
    /// tree.
    pub fn new(store: Arc<Store>, private: Vec<PathBuf>) -> Self {
        let real = |path: PathBuf| hermes_files::real_path(&path).unwrap_or(path);
        Self {
            store,
            private: private.into_iter().map(real).collect(),
            turns: Mutex::default(),
            seen: Mutex::default(),
            problems: Mutex::default(),
            indexes: Indexes::default(),
            journals: None,
        }
    }

    /// Has a change that somebody was killed at taken back before a tree is
    /// kept.
    #[must_use]
    pub fn taking_back(self, journals: Arc<JournalDir>) -> Self {
        Self { journals: Some(journals), ..self }
    }

    /// Why something could not be kept, if that has happened.
    pub fn problem(&self) -> Option<String> {
        let problems = lock(&self.problems);
        let first = problems.first()?;
        Some(match problems.len() - 1 {
            0 => first.clone(),
            PROBLEMS.. => format!("{first}; and many more"),
            more => format!("{first}; and {more} more"),
        })
    }

    fn trouble(&self, problem: String) {
        let mut problems = lock(&self.problems);
        if problems.len() <= PROBLEMS && !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    fn noting<T>(&self, done: Result<T, ToolError>) -> Result<T, ToolError> {
        done.inspect_err(|error| {
            if error.kind() != ErrorKind::Cancelled {
                self.trouble(error.message().to_owned());
            }
        })
    }

    /// The turn of a call, found or begun.
    fn turn(&self, id: &str, change: &PendingChange<'_>, workspace: &Path) -> Arc<Mutex<Turn>> {
        let mut turns = lock(&self.turns);
        if let Some(turn) = turns.get(id) {
            return Arc::clone(turn);
        }
        if turns.len() >= REMEMBERED {
            // A turn that is locked is in use.
            turns.retain(|_, turn| turn.try_lock().map_or(true, |turn| turn.is_running()));
        }
        let turn = Turn::find(&self.store, id, change, workspace);
        let turn = Arc::new(Mutex::new(turn));
        turns.insert(id.to_owned(), Arc::clone(&turn));
        turn
    }

    fn keep(
        &self,
        change: &PendingChange<'_>,
        workspace: &Path,
        turn: &mut Turn,
    ) -> Result<(), ToolError> {
        let store = &*self.store;
        let _shared = store.share().map_err(|e| store.failed("lock", store.root(), &e))?;
        let since = now();
        let mut capture = Capture::keeping(&store.objects, store.limits);
        let mut met = Vec::new();
        let mut inner = Vec::new();
        let mut whole = change.open_ended;
        for place in change.paths {
            let place = real(place)?;
            if place.starts_with(store.root()) {
                continue;
            }
            // All that commands may change, so it is kept as for a command.
            if place == workspace {
                whole = true;
                continue;
            }
            if change.open_ended && place.starts_with(workspace) {
                inner.push(place);
                continue;
            }
            turn.meet(&place, &mut capture, store.limits, &mut met)
                .map_err(|error| cannot_keep(&place, &error))?;
        }
        let bounded = store.limits.of_what_may_be_left();
        for place in change.output_dirs {
            let place = real(place)?;
            if place.starts_with(store.root()) || place == workspace {
                continue;
            }
            if change.open_ended && place.starts_with(workspace) {
                inner.push(place);
            } else if commons::is_shared(&place, change.working_dir.home()) {
                let state = not_as_a_whole(&place, Unkept::Shared)
                    .map_err(|error| ToolError::io(place.display(), &error))?;
                met.push(Seen { path: place, state });
            } else {
                turn.meet(&place, &mut capture, bounded, &mut met)
                    .map_err(|error| cannot_keep(&place, &error))?;
            }
        }
        let tree = match whole.then(|| self.snapshot(change, workspace, &mut capture)) {
            None => None,
            // What the call names can be kept all the same.
            Some(Err(error))
                if error.kind() == ErrorKind::Limit && !(met.is_empty() && inner.is_empty()) =>
            {
                self.trouble(error.message().to_owned());
                None
            }
            Some(kept) => Some(kept?),
        };
        // A tree is without what git ignores, and git brings none of that back.
        let listing = tree.as_ref().map(|tree| &*tree.listing);
        let spared = self.spared(change);
        for place in inner.iter().filter(|place| !spared.iter().any(|own| place.starts_with(own))) {
            turn.meet_unlisted(place, listing, &mut capture, bounded, &mut met)
                .map_err(|error| cannot_keep(place, &error))?;
        }
        turn.note(store, change, met, tree, workspace, since)
            .map_err(|error| store.failed("write in", store.root(), &error))
    }

    /// Keeps the whole tree of a workspace.
    fn snapshot(
        &self,
        change: &PendingChange<'_>,
        workspace: &Path,
        capture: &mut Capture<'_>,
    ) -> Result<Sight, ToolError> {
        if commons::is_shared(workspace, change.working_dir.home()) {
            return Err(ToolError::limit(format!(
                "{} is not kept as a whole, so what commands change there cannot be undone",
                workspace.display()
            ))
            .with_hint("Work in a project folder."));
        }
        if let Some(journals) = &self.journals {
            journals.recover();
        }
        let folder = self.store.folder_of(workspace);
        let generation = self.store.tally().generation;
        let known = self.last_seen(workspace, &folder, generation);
        let started = now();
        let spared = self.spared(change);
        let ground = Ground {
            root: workspace,
            spared: &spared,
            most: self.store.limits.tree_entries,
            until: Instant::now().checked_add(self.time_for(change)),
            cancel: change.cancel,
            indexes: &self.indexes,
        };
        let inner = spared.iter().filter(|path| path.starts_with(workspace)).cloned().collect();
        let none = Listing::default();
        let listing = ground.list(capture, known.as_ref().map_or(&none, |known| &known.listing))?;
        let sight = match known {
            // As it was: it is kept already.
            Some(known) if known.generation == generation && *known.listing == listing => {
                Sight { started, spared: inner, ..known }
            }
            _ => Sight::keep(&self.store, &folder, listing, generation, started, inner)
                .map_err(|error| self.store.failed("write in", &folder, &error))?,
        };
        let mut seen = lock(&self.seen);
        if seen.len() >= SEEN {
            seen.clear();
        }
        seen.insert(workspace.to_path_buf(), sight.clone());
        Ok(sight)
    }

    /// How long a tree may be looked at before the call: not so long that it
    /// has no time left for itself.
    fn time_for(&self, change: &PendingChange<'_>) -> Duration {
        let left = change.deadline.map(|at| at.saturating_duration_since(Instant::now()) / 2);
        left.map_or(self.store.limits.time, |left| left.min(self.store.limits.time))
    }

    /// The tree as it was last seen, by us or another process.
    fn last_seen(&self, workspace: &Path, folder: &Path, generation: u64) -> Option<Sight> {
        if let Some(sight) = lock(&self.seen).get(workspace)
            && sight.generation == generation
        {
            return Some(sight.clone());
        }
        let pointer = self.store.pointer(folder)?;
        let mut listing = Listing::load(&self.store.objects, pointer.listing).ok()?;
        if pointer.generation != generation {
            // Contents were cleared away since.
            listing.verify(&self.store.objects);
        }
        let (hash, generation) = (pointer.listing, pointer.generation);
        Some(Sight { listing: Arc::new(listing), hash, generation, started: 0, spared: Vec::new() })
    }

    fn spared(&self, change: &PendingChange<'_>) -> Vec<PathBuf> {
        change.unwritable_paths.iter().chain(&self.private).cloned().collect()
    }

    fn settle(
        &self,
        change: &PendingChange<'_>,
        workspace: &Path,
        turn: &mut Turn,
        call: Running,
    ) -> Result<(), ToolError> {
        let store = &*self.store;
        let mut capture = Capture::looking(store.limits);
        let mut seen: Vec<(PathBuf, Change)> = Vec::new();
        let mut gone = Vec::new();
        if call.announces {
            turn.conclude(&call, &mut capture, &mut seen)
                .map_err(|error| ToolError::io(workspace.display(), &error))?;
        } else {
            for place in change.paths {
                let place = real(place)?;
                // Two sights of the tree tell of what is in it.
                if call.tree.is_some() && place != workspace && place.starts_with(workspace) {
                    continue;
                }
                turn.revisit(&place, &mut capture, store.limits, &mut seen)
                    .map_err(|error| ToolError::io(place.display(), &error))?;
            }
            // What was made in a folder that the tree does not know, too.
            for place in change.output_dirs {
                let bounded = store.limits.of_what_may_be_left();
                let place = real(place)?;
                turn.revisit(&place, &mut capture, bounded, &mut seen)
                    .map_err(|error| ToolError::io(place.display(), &error))?;
            }
            if let Some(before) = &call.tree {
                gone = self.compare(change, workspace, turn, before, &mut capture, &mut seen)?;
            }
        }
        // Of two commands that end at once only one may have what both saw.
        let mut _alone = None;
        if !call.announces && seen.iter().any(|(_, change)| !change.is_none()) {
            let folder = store.folder_of(workspace);
            let alone = lock_alone(&folder);
            _alone = Some(alone.map_err(|error| store.failed("lock", &folder, &error))?);
            store.others_since(turn.manifest.id(), call.since)?.take_out(turn, &mut seen);
        }
        let from = Beginning {
            at: call.tree.as_ref().map_or(turn.manifest.at(), |tree| tree.started),
            tree: call.tree.as_ref().map(|tree| &*tree.listing),
            root: workspace,
        };
        moved::mark(&mut seen, &turn.manifest, from);
        let touched: Vec<PathBuf> =
            seen.iter().map(|(path, _)| path.clone()).chain(call.told).collect();
        for path in &gone {
            self.trouble(format!("{}: git ignores it, so it was not kept", written(path)));
        }
        turn.settle(change.call_id, seen, gone, &mut capture)
            .map_err(|error| store.failed("write in", store.root(), &error))?;
        self.tell_unkept(turn, touched);
        Ok(())
    }

    /// What an open-ended call has made of the tree that it began with, and
    /// what it has deleted of what was not kept.
    fn compare(
        &self,
        change: &PendingChange<'_>,
        workspace: &Path,
        turn: &Turn,
        before: &Sight,
        capture: &mut Capture<'_>,
        seen: &mut Vec<(PathBuf, Change)>,
    ) -> Result<Vec<PathBuf>, ToolError> {
        let most = self.store.limits.tree_entries;
        if before.listing.is_partial {
            self.trouble(format!(
                "{} holds more than {most} files and folders, or more than can be kept in {} s, of \
                 which not all are kept",
                workspace.display(),
                self.store.limits.time.as_secs()
            ));
        }
        let spared = self.spared(change);
        // The call is through; stopping it does not stop this.
        let cancel = hermes_core::CancellationToken::new();
        let until = Instant::now().checked_add(self.store.limits.time);
        let (root, indexes) = (workspace, &self.indexes);
        let ground = Ground { root, spared: &spared, most, until, cancel: &cancel, indexes };
        let after = ground.list(capture, &before.listing)?;
        if ground.is_late() {
            self.trouble(format!(
                "{} takes too long to be looked through, so not all that the command changed there \
                 can be undone",
                workspace.display()
            ));
        }
        turn.compare(&ground, before, &after, capture, seen)
            .map_err(|error| ToolError::io(workspace.display(), &error))?;
        Ok(turn.gone(workspace, &before.listing, &after))
    }

    /// Clears away what is old when a checkpoint begins.
    fn clear(&self, turn: &mut Turn, workspace: &Path) {
        self.store.objects.add(turn.take_added());
        if turn.is_new() {
            let tidied = self.store.tidy(&self.store.folder_of(workspace), turn.others() + 1);
            let tidied =
                tidied.map_err(|e| self.store.failed("clear away in", self.store.root(), &e));
            // The call is kept all the same.
            let _ = self.noting(tidied);
        }
    }

    /// What was changed and not kept before is a reason to warn, and so is
    /// what was made that an undo could not keep.
    fn tell_unkept(&self, turn: &Turn, touched: impl IntoIterator<Item = PathBuf>) {
        for path in touched {
            match turn.manifest.changes.get(&path) {
                Some(change) if !change.is_none() => {
                    let unkept = [Some(&change.before), change.after.as_ref()];
                    let why = unkept.into_iter().flatten().find_map(State::why_unkept);
                    if let Some(why) = why {
                        self.trouble(format!("{}: {}", shortened(&path), why.describe()));
                    }
                }
                _ => {}
            }
        }
    }
}

impl CheckpointHooks for Keeper {
    fn before_call(&self, change: &PendingChange<'_>) -> Result<Option<CheckpointId>, ToolError> {
        let workspace = ground_of(change);
        let id = id_of(change.session, change.turn, workspace);
        let turn = self.turn(&id, change, workspace);
        let mut turn = lock(&turn);
        self.noting(self.keep(change, workspace, &mut turn))?;
        self.clear(&mut turn, workspace);
        Ok(Some(id))
    }

    fn after_call(&self, change: &PendingChange<'_>) -> Result<(), ToolError> {
        let workspace = ground_of(change);
        let id = id_of(change.session, change.turn, workspace);
        let Some(turn) = lock(&self.turns).get(&id).cloned() else { return Ok(()) };
        let mut turn = lock(&turn);
        let Some(call) = turn.end(change.call_id) else { return Ok(()) };
        let settled = self.noting(self.settle(change, workspace, &mut turn, call));
        // What became of many files is more than was written before.
        let store = &*self.store;
        store.objects.add(turn.take_added());
        let weighed = store.weigh().map_err(|e| store.failed("clear away in", store.root(), &e));
        let _ = self.noting(weighed);
        settled
    }

    fn before_change(&self, change: &PendingChange<'_>, places: &[PathBuf]) -> Result<(), ToolError> {
        let workspace = ground_of(change);
        let id = id_of(change.session, change.turn, workspace);
        let turn = self.turn(&id, change, workspace);
        let mut turn = lock(&turn);
        let store = &*self.store;
        let mut hold = || {
            let places = places.iter().map(|place| real(place)).collect::<Result<Vec<_>, _>>()?;
            let failed = |error: io::Error| store.failed("write in", store.root(), &error);
            let _shared = store.share().map_err(failed)?;
            turn.hold(store, change, &places).map_err(failed)
        };
        self.noting(hold())
    }

    fn prune(&self, change: &PendingChange<'_>) {
        let workspace = ground_of(change);
        let id = id_of(change.session, change.turn, workspace);
        if let Some(turn) = lock(&self.turns).get(&id).cloned() {
            self.clear(&mut lock(&turn), workspace);
        }
    }

    fn after_change(&self, change: &PendingChange<'_>, made: &[FileWritten<'_>]) -> Result<(), ToolError> {
        let workspace = ground_of(change);
        let id = id_of(change.session, change.turn, workspace);
        let turn = self.turn(&id, change, workspace);
        let mut turn = lock(&turn);
        let store = &*self.store;
        let mut leave = || {
            let mut left = Vec::new();
            for made in made {
                let what = match made.state {
                    hermes_core::PathState::Absent => Left::Nothing,
                    hermes_core::PathState::File { len, hash } => {
                        Left::Content { len, hash: Hash(hash.into()) }
                    }
                    hermes_core::PathState::MovedFrom(from) => Left::MovedFrom(real(from)?),
                    hermes_core::PathState::Unspecified => Left::Unsaid,
                };
                left.push((real(made.path)?, what));
            }
            turn.leave(store, change.call_id, left)
                .map_err(|error| store.failed("write in", store.root(), &error))
        };
        self.noting(leave())?;
        // All that it held is told of; it may announce more.
        if let Some(call) = turn.end(change.call_id) {
            self.tell_unkept(&turn, call.told);
        }
        let vanished = turn.vanish_if_void();
        self.noting(vanished.map_err(|error| store.failed("write in", store.root(), &error)))
    }
}

/// The folder that the turn of a call works in. The call may make it another
/// one on the way: by beginning a repository, for one.
fn ground_of<'a>(change: &PendingChange<'a>) -> &'a Path {
    let workplace = change.working_dir;
    change.workspace.get_or_init(|| workspace_of(workplace.cwd(), workplace.home()))
}

fn real(place: &Path) -> Result<PathBuf, ToolError> {
    // The link itself may be what is removed, so its own place is kept as well.
    match hermes_files::real_entry(place) {
        // Nothing can be there.
        Err(error) if hermes_files::is_loop(&error) => Ok(place.to_path_buf()),
        found => found.map_err(|error| cannot_keep(place, &error)),
    }
}

/// A path as it is written in a warning, which is to be read.
fn shortened(path: &Path) -> String {
    const SHOWN: usize = 1000;
    let text = written(path);
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

fn cannot_keep(place: &Path, error: &io::Error) -> ToolError {
    ToolError::io(format!("{} cannot be kept", place.display()), error)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
