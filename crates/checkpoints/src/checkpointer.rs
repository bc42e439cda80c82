//! Checkpoint hooks that save files before calls change them.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{
    CheckpointHooks, CheckpointId, ErrorKind, FileWritten, PendingChange, ToolError,
};
use hermes_files::JournalDir;
use parking_lot::Mutex;

use crate::call_reports::ReportedContent;
use crate::capture::{FileCapture, unsaved_dir_state};
use crate::manifest::{PathChange, PathRecord};
use crate::moved::{self, CallStart};
use crate::path_text::path_to_text;
use crate::shared_dirs;
use crate::state::{ContentHash, SavedState, UnsavedReason};
use crate::store::{CheckpointStore, lock_workspace, make_checkpoint_id, now_nanos, workspace_for};
use crate::tracked::IndexCache;
use crate::tree::{TreeLister, TreeListing};
use crate::turn::{ActiveCall, RecordedTree, TurnRecord, call_key};

/// Idle turns cached in memory.
const MAX_CACHED_TURNS: usize = 32;

/// Tree listings cached in memory; others are reloaded from the store.
const MAX_CACHED_TREES: usize = 8;

/// Maximum number of distinct problems recorded.
const MAX_PROBLEMS: usize = 100;

/// Saves what calls are about to change. Cheap to share; one per process.
#[derive(Debug)]
pub struct FileCheckpointer {
    store: Arc<CheckpointStore>,
    /// Directories owned by hermes, excluded from snapshots.
    private_dirs: Vec<PathBuf>,
    turns: Mutex<HashMap<CheckpointId, Arc<Mutex<TurnRecord>>>>,
    /// The last recorded tree of each workspace.
    trees: Mutex<HashMap<PathBuf, RecordedTree>>,
    problems: Mutex<Vec<String>>,
    /// Parsed git indexes of the workspaces.
    indexes: IndexCache,
    /// Journals of multi-file changes.
    journals: Option<Arc<JournalDir>>,
}

impl FileCheckpointer {
    /// Creates a checkpointer that writes to `store` and excludes the paths in
    /// `private` from tree snapshots.
    pub fn new(store: Arc<CheckpointStore>, private: Vec<PathBuf>) -> Self {
        let real = |path: PathBuf| hermes_files::real_path(&path).unwrap_or(path);
        Self {
            store,
            private_dirs: private.into_iter().map(real).collect(),
            turns: Mutex::default(),
            trees: Mutex::default(),
            problems: Mutex::default(),
            indexes: IndexCache::default(),
            journals: None,
        }
    }

    /// Rolls back interrupted multi-file changes before each tree snapshot.
    #[must_use]
    pub fn with_rollback(self, journals: Arc<JournalDir>) -> Self {
        Self { journals: Some(journals), ..self }
    }

    /// Returns the first recorded problem and the number of further ones.
    pub fn problem(&self) -> Option<String> {
        let problems = self.problems.lock();
        let first = problems.first()?;
        Some(match problems.len() - 1 {
            0 => first.clone(),
            MAX_PROBLEMS.. => format!("{first}; and many more"),
            more => format!("{first}; and {more} more"),
        })
    }

    fn record_problem(&self, problem: String) {
        let mut problems = self.problems.lock();
        if problems.len() <= MAX_PROBLEMS && !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    fn recording_problem<T>(&self, done: Result<T, ToolError>) -> Result<T, ToolError> {
        done.inspect_err(|error| {
            if error.kind() != ErrorKind::Cancelled {
                self.record_problem(error.message().to_owned());
            }
        })
    }

    /// Returns the cached turn of a call, or loads or creates it.
    fn turn(
        &self,
        id: &str,
        change: &PendingChange<'_>,
        workspace: &Path,
    ) -> Arc<Mutex<TurnRecord>> {
        let mut turns = self.turns.lock();
        if let Some(turn) = turns.get(id) {
            return Arc::clone(turn);
        }
        if turns.len() >= MAX_CACHED_TURNS {
            // A locked turn is in use.
            turns.retain(|_, turn| turn.try_lock().is_none_or(|turn| turn.is_running()));
        }
        let turn = TurnRecord::load_or_new(&self.store, id, change, workspace);
        let turn = Arc::new(Mutex::new(turn));
        turns.insert(id.to_owned(), Arc::clone(&turn));
        turn
    }

    fn record_call(
        &self,
        change: &PendingChange<'_>,
        workspace: &Path,
        turn: &mut TurnRecord,
    ) -> Result<(), ToolError> {
        let store = &*self.store;
        let _shared = store.lock_shared().map_err(|e| store.io_error("lock", store.root(), &e))?;
        let since = now_nanos();
        let mut capture = FileCapture::storing(&store.objects, store.limits);
        let mut met = Vec::new();
        let mut inner = Vec::new();
        let mut whole = change.open_ended;
        for place in change.paths {
            let place = resolve_place(place)?;
            if place.starts_with(store.root()) {
                continue;
            }
            // The workspace root covers everything a command may change, so it
            // is snapshotted as for a command.
            if place == workspace {
                whole = true;
                continue;
            }
            if change.open_ended && place.starts_with(workspace) {
                inner.push(place);
                continue;
            }
            turn.record_place(&place, &mut capture, store.limits, &mut met)
                .map_err(|error| save_error(&place, &error))?;
        }
        let bounded = store.limits.for_disposable();
        for place in change.output_dirs {
            let place = resolve_place(place)?;
            if place.starts_with(store.root()) || place == workspace {
                continue;
            }
            if change.open_ended && place.starts_with(workspace) {
                inner.push(place);
            } else if shared_dirs::is_shared_dir(&place, change.working_dir.home()) {
                let state = unsaved_dir_state(&place, UnsavedReason::Shared)
                    .map_err(|error| ToolError::io(place.display(), &error))?;
                met.push(PathRecord { path: place, state });
            } else {
                turn.record_place(&place, &mut capture, bounded, &mut met)
                    .map_err(|error| save_error(&place, &error))?;
            }
        }
        let tree = match whole.then(|| self.snapshot_tree(change, workspace, &mut capture)) {
            None => None,
            // The paths that the call names can still be saved.
            Some(Err(error))
                if error.kind() == ErrorKind::Limit && !(met.is_empty() && inner.is_empty()) =>
            {
                self.record_problem(error.message().to_owned());
                None
            }
            Some(kept) => Some(kept?),
        };
        // Tree snapshots omit git-ignored files, which git cannot restore
        // either.
        let listing = tree.as_ref().map(|tree| &*tree.listing);
        let spared = self.skipped_paths(change);
        for place in inner.iter().filter(|place| !spared.iter().any(|own| place.starts_with(own))) {
            turn.record_unlisted(place, listing, &mut capture, bounded, &mut met)
                .map_err(|error| save_error(place, &error))?;
        }
        turn.begin_call(store, change, met, tree, workspace, since)
            .map_err(|error| store.io_error("write in", store.root(), &error))
    }

    /// Snapshots the whole tree of a workspace.
    fn snapshot_tree(
        &self,
        change: &PendingChange<'_>,
        workspace: &Path,
        capture: &mut FileCapture<'_>,
    ) -> Result<RecordedTree, ToolError> {
        if shared_dirs::is_shared_dir(workspace, change.working_dir.home()) {
            return Err(ToolError::limit(format!(
                "{} is not snapshotted as a whole, so changes that commands make there cannot \
                 be undone",
                workspace.display()
            ))
            .with_hint("Work in a project directory."));
        }
        if let Some(journals) = &self.journals {
            journals.recover();
        }
        let dir = self.store.workspace_dir(workspace);
        let generation = self.store.tally().generation;
        let known = self.last_tree(workspace, &dir, generation);
        let started = now_nanos();
        let spared = self.skipped_paths(change);
        let target = TreeLister {
            root: workspace,
            skipped: &spared,
            max_entries: self.store.limits.tree_entries,
            deadline: Instant::now().checked_add(self.walk_timeout(change)),
            cancel: change.cancel,
            indexes: &self.indexes,
        };
        let inner = spared.iter().filter(|path| path.starts_with(workspace)).cloned().collect();
        let none = TreeListing::default();
        let listing = target.list(capture, known.as_ref().map_or(&none, |known| &known.listing))?;
        let sight = match known {
            // Unchanged, so already stored.
            Some(known) if known.generation == generation && *known.listing == listing => {
                RecordedTree { started, skipped: inner, ..known }
            }
            _ => RecordedTree::store(&self.store, &dir, listing, generation, started, inner)
                .map_err(|error| self.store.io_error("write in", &dir, &error))?,
        };
        let mut seen = self.trees.lock();
        if seen.len() >= MAX_CACHED_TREES {
            seen.clear();
        }
        seen.insert(workspace.to_path_buf(), sight.clone());
        Ok(sight)
    }

    /// Time limit for walking the tree before the call; at most half of the
    /// call's remaining time.
    fn walk_timeout(&self, change: &PendingChange<'_>) -> Duration {
        let left = change.deadline.map(|at| at.saturating_duration_since(Instant::now()) / 2);
        left.map_or(self.store.limits.walk_timeout, |left| left.min(self.store.limits.walk_timeout))
    }

    /// Returns the last recorded tree, from this or another process.
    fn last_tree(&self, workspace: &Path, dir: &Path, generation: u64) -> Option<RecordedTree> {
        if let Some(sight) = self.trees.lock().get(workspace)
            && sight.generation == generation
        {
            return Some(sight.clone());
        }
        let pointer = self.store.pointer(dir)?;
        let mut listing = TreeListing::load(&self.store.objects, pointer.listing).ok()?;
        if pointer.generation != generation {
            // Contents were pruned since.
            listing.verify(&self.store.objects);
        }
        let (hash, generation) = (pointer.listing, pointer.generation);
        Some(RecordedTree {
            listing: Arc::new(listing),
            hash,
            generation,
            started: 0,
            skipped: Vec::new(),
        })
    }

    fn skipped_paths(&self, change: &PendingChange<'_>) -> Vec<PathBuf> {
        change.unwritable_paths.iter().chain(&self.private_dirs).cloned().collect()
    }

    fn finish_call(
        &self,
        change: &PendingChange<'_>,
        workspace: &Path,
        turn: &mut TurnRecord,
        call: ActiveCall,
    ) -> Result<(), ToolError> {
        let store = &*self.store;
        let mut capture = FileCapture::inspecting(store.limits);
        let mut seen: Vec<(PathBuf, PathChange)> = Vec::new();
        let mut gone = Vec::new();
        if call.reports_changes {
            turn.compare_held(&call, &mut capture, &mut seen)
                .map_err(|error| ToolError::io(workspace.display(), &error))?;
        } else {
            for place in change.paths {
                let place = resolve_place(place)?;
                // The tree comparison covers paths inside the workspace.
                if call.tree.is_some() && place != workspace && place.starts_with(workspace) {
                    continue;
                }
                turn.compare_place(&place, &mut capture, store.limits, &mut seen)
                    .map_err(|error| ToolError::io(place.display(), &error))?;
            }
            // Also records what was created in directories outside the tree
            // snapshot.
            for place in change.output_dirs {
                let bounded = store.limits.for_disposable();
                let place = resolve_place(place)?;
                turn.compare_place(&place, &mut capture, bounded, &mut seen)
                    .map_err(|error| ToolError::io(place.display(), &error))?;
            }
            if let Some(before) = &call.tree {
                gone =
                    self.compare_tree(change, workspace, turn, before, &mut capture, &mut seen)?;
            }
        }
        // When two commands end at once, only one may claim a change that both
        // saw.
        let mut _alone = None;
        if !call.reports_changes && seen.iter().any(|(_, change)| !change.is_unchanged()) {
            let dir = store.workspace_dir(workspace);
            let alone = lock_workspace(&dir);
            _alone = Some(alone.map_err(|error| store.io_error("lock", &dir, &error))?);
            store.concurrent_since(turn.manifest.id(), call.since)?.subtract_from(turn, &mut seen);
        }
        let from = CallStart {
            at: call.tree.as_ref().map_or(turn.manifest.at_nanos(), |tree| tree.started),
            tree: call.tree.as_ref().map(|tree| &*tree.listing),
            root: workspace,
        };
        moved::mark_moved_in(&mut seen, &turn.manifest, from);
        let touched: Vec<PathBuf> =
            seen.iter().map(|(path, _)| path.clone()).chain(call.reported).collect();
        for path in &gone {
            self.record_problem(format!(
                "{}: git ignores it, so it was not saved",
                path_to_text(path)
            ));
        }
        turn.finish_call(&call_key(change), seen, gone, &mut capture)
            .map_err(|error| store.io_error("write in", store.root(), &error))?;
        self.warn_unsaved(turn, touched);
        Ok(())
    }

    /// Compares the tree with its state before an open-ended call, and returns
    /// the deleted paths that were not saved.
    fn compare_tree(
        &self,
        change: &PendingChange<'_>,
        workspace: &Path,
        turn: &TurnRecord,
        before: &RecordedTree,
        capture: &mut FileCapture<'_>,
        seen: &mut Vec<(PathBuf, PathChange)>,
    ) -> Result<Vec<PathBuf>, ToolError> {
        let most = self.store.limits.tree_entries;
        if before.listing.is_partial {
            self.record_problem(format!(
                "{} holds more than {most} files and directories, or more than can be saved in \
                 {} s; not all of it is saved",
                workspace.display(),
                self.store.limits.walk_timeout.as_secs()
            ));
        }
        let spared = self.skipped_paths(change);
        // The call has ended, so its cancellation does not apply here.
        let cancel = hermes_core::CancellationToken::new();
        let until = Instant::now().checked_add(self.store.limits.walk_timeout);
        let (root, indexes) = (workspace, &self.indexes);
        let target = TreeLister {
            root,
            skipped: &spared,
            max_entries: most,
            deadline: until,
            cancel: &cancel,
            indexes,
        };
        let after = target.list(capture, &before.listing)?;
        if target.is_past_deadline() {
            self.record_problem(format!(
                "{} takes too long to scan, so not all changes that the command made there can \
                 be undone",
                workspace.display()
            ));
        }
        turn.compare_trees(&target, before, &after, capture, seen)
            .map_err(|error| ToolError::io(workspace.display(), &error))?;
        Ok(turn.deleted_ignored(workspace, &before.listing, &after))
    }

    /// Prunes old checkpoints when a new one begins.
    fn prune_old(&self, turn: &mut TurnRecord, workspace: &Path) {
        self.store.objects.add(turn.take_added());
        if turn.is_new() {
            let tidied = self
                .store
                .prune_after_begin(&self.store.workspace_dir(workspace), turn.sibling_count() + 1);
            let tidied = tidied.map_err(|e| self.store.io_error("prune", self.store.root(), &e));
            // A failed prune does not fail the call.
            let _ = self.recording_problem(tidied);
        }
    }

    /// Warns about changed paths whose previous state was not saved, or whose
    /// new state an undo could not save.
    fn warn_unsaved(&self, turn: &TurnRecord, touched: impl IntoIterator<Item = PathBuf>) {
        for path in touched {
            match turn.manifest.changes.get(&path) {
                Some(change) if !change.is_unchanged() => {
                    let unkept = [Some(&change.before), change.after.as_ref()];
                    let why = unkept.into_iter().flatten().find_map(SavedState::unsaved_reason);
                    if let Some(why) = why {
                        self.record_problem(format!("{}: {}", shorten_path(&path), why.describe()));
                    }
                }
                _ => {}
            }
        }
    }
}

impl CheckpointHooks for FileCheckpointer {
    fn before_call(&self, change: &PendingChange<'_>) -> Result<Option<CheckpointId>, ToolError> {
        let workspace = turn_workspace(change);
        let id = make_checkpoint_id(change.session, change.turn, workspace);
        let turn = self.turn(&id, change, workspace);
        let mut turn = turn.lock();
        self.recording_problem(self.record_call(change, workspace, &mut turn))?;
        self.prune_old(&mut turn, workspace);
        Ok(Some(id))
    }

    fn after_call(&self, change: &PendingChange<'_>) -> Result<(), ToolError> {
        let workspace = turn_workspace(change);
        let id = make_checkpoint_id(change.session, change.turn, workspace);
        let Some(turn) = self.turns.lock().get(&id).cloned() else { return Ok(()) };
        let mut turn = turn.lock();
        let Some(call) = turn.end_call(&call_key(change)) else { return Ok(()) };
        let settled = self.recording_problem(self.finish_call(change, workspace, &mut turn, call));
        // Recording the results of many files can add more bytes than the
        // call's start did.
        let store = &*self.store;
        store.objects.add(turn.take_added());
        let weighed =
            store.count_after_call().map_err(|e| store.io_error("prune", store.root(), &e));
        let _ = self.recording_problem(weighed);
        settled
    }

    fn before_change(
        &self,
        change: &PendingChange<'_>,
        places: &[PathBuf],
    ) -> Result<(), ToolError> {
        let workspace = turn_workspace(change);
        let id = make_checkpoint_id(change.session, change.turn, workspace);
        let turn = self.turn(&id, change, workspace);
        let mut turn = turn.lock();
        let store = &*self.store;
        let mut hold = || {
            let places =
                places.iter().map(|place| resolve_place(place)).collect::<Result<Vec<_>, _>>()?;
            let failed = |error: io::Error| store.io_error("write in", store.root(), &error);
            let _shared = store.lock_shared().map_err(failed)?;
            turn.record_before(store, change, &places).map_err(failed)
        };
        self.recording_problem(hold())
    }

    fn prune(&self, change: &PendingChange<'_>) {
        let workspace = turn_workspace(change);
        let id = make_checkpoint_id(change.session, change.turn, workspace);
        if let Some(turn) = self.turns.lock().get(&id).cloned() {
            self.prune_old(&mut turn.lock(), workspace);
        }
    }

    fn after_change(
        &self,
        change: &PendingChange<'_>,
        made: &[FileWritten<'_>],
    ) -> Result<(), ToolError> {
        let workspace = turn_workspace(change);
        let id = make_checkpoint_id(change.session, change.turn, workspace);
        let turn = self.turn(&id, change, workspace);
        let mut turn = turn.lock();
        let store = &*self.store;
        let mut leave = || {
            let mut left = Vec::new();
            for made in made {
                let what = match made.state {
                    hermes_core::PathState::Absent => ReportedContent::Absent,
                    hermes_core::PathState::File { len, hash } => {
                        ReportedContent::Content { len, hash: ContentHash(hash.into()) }
                    }
                    hermes_core::PathState::MovedFrom(from) => {
                        ReportedContent::MovedFrom(resolve_place(from)?)
                    }
                    hermes_core::PathState::Unspecified => ReportedContent::Unspecified,
                };
                left.push((resolve_place(made.path)?, what));
            }
            turn.record_after(store, &call_key(change), left)
                .map_err(|error| store.io_error("write in", store.root(), &error))
        };
        self.recording_problem(leave())?;
        // All paths it held are reported; it may announce more.
        if let Some(call) = turn.end_call(&call_key(change)) {
            self.warn_unsaved(&turn, call.reported);
        }
        let vanished = turn.remove_if_empty();
        self.recording_problem(
            vanished.map_err(|error| store.io_error("write in", store.root(), &error)),
        )
    }
}

/// Returns the directory that the turn of a call works in. Fixed on first use,
/// since the call itself may change it, for example with `git init`.
fn turn_workspace<'a>(change: &PendingChange<'a>) -> &'a Path {
    let workplace = change.working_dir;
    change.workspace.get_or_init(|| workspace_for(workplace.cwd(), workplace.home()))
}

fn resolve_place(place: &Path) -> Result<PathBuf, ToolError> {
    // The symlink itself may be removed, so its own path is saved as well.
    match hermes_files::real_entry(place) {
        // A symlink loop: nothing can exist there.
        Err(error) if hermes_files::is_loop(&error) => Ok(place.to_path_buf()),
        found => found.map_err(|error| save_error(place, &error)),
    }
}

/// Shortens a path for display in a warning.
fn shorten_path(path: &Path) -> String {
    const MAX_PATH_CHARS: usize = 1000;
    let text = path_to_text(path);
    match text.char_indices().nth(MAX_PATH_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

fn save_error(place: &Path, error: &io::Error) -> ToolError {
    ToolError::io(format!("{} cannot be saved", place.display()), error)
}
