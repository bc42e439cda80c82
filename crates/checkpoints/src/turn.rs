//! One turn in one workspace: the states that its calls found and left.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::PendingChange;

use crate::capture::{FileCapture, descendants, unsaved_dir_state};
use crate::history::CheckpointKind;
use crate::limits::CheckpointLimits;
use crate::manifest::{
    CallLine, CheckpointLine, CheckpointLog, CheckpointManifest, LogHeader, PathChange, PathRecord,
    TreeLine, is_absent,
};
use crate::objects::create_private_dir;
use crate::prune::{ListingPointer, remove};
use crate::state::{ContentHash, SavedState, UnsavedReason};
use crate::store::{CheckpointStore, LOG_EXTENSION, find_log, now_nanos};
use crate::tree::{TreeLister, TreeListing};

/// Maximum number of entries saved below one changing directory.
const MAX_DIR_ENTRIES: usize = 50_000;

/// Granularity of file times.
pub(crate) const FILE_TIME_GRANULARITY_NANOS: i64 = 20_000_000;

/// A stored tree listing.
#[derive(Debug, Clone)]
pub(crate) struct RecordedTree {
    pub(crate) listing: Arc<TreeListing>,
    pub(crate) hash: ContentHash,
    pub(crate) generation: u64,
    /// When the walk began.
    pub(crate) started: i64,
    /// Paths skipped by the walk.
    pub(crate) skipped: Vec<PathBuf>,
}

impl RecordedTree {
    /// Stores a listing and makes it the last one of its workspace.
    pub(crate) fn store(
        store: &CheckpointStore,
        dir: &Path,
        listing: TreeListing,
        generation: u64,
        started: i64,
        spared: Vec<PathBuf>,
    ) -> io::Result<Self> {
        let hash = listing.store(&store.objects)?;
        let known = store.pointer(dir);
        if known.is_none_or(|known| (known.listing, known.generation) != (hash, generation)) {
            create_private_dir(dir)?;
            store.write_pointer(dir, &ListingPointer { listing: hash, generation })?;
        }
        Ok(Self { listing: Arc::new(listing), hash, generation, started, skipped: spared })
    }
}

/// A running call.
#[derive(Debug, Default)]
pub(crate) struct ActiveCall {
    id: String,
    /// Time before the call started.
    pub(crate) since: i64,
    /// The tree before an open-ended call.
    pub(crate) tree: Option<RecordedTree>,
    /// Whether it reports its changes itself.
    pub(crate) reports_changes: bool,
    /// States right before it changes the paths.
    pub(crate) held: BTreeMap<PathBuf, SavedState>,
    /// Paths that it reported as changed.
    pub(crate) reported: HashSet<PathBuf>,
}

/// One turn in one workspace.
#[derive(Debug)]
pub(crate) struct TurnRecord {
    pub(crate) manifest: CheckpointManifest,
    /// `None` until something is written.
    log: Option<CheckpointLog>,
    is_new: bool,
    /// Number of other logs in the workspace.
    sibling_count: usize,
    active_calls: Vec<ActiveCall>,
}

impl TurnRecord {
    /// Loads the turn from its log, or creates a new one.
    pub(crate) fn load_or_new(
        store: &CheckpointStore,
        id: &str,
        change: &PendingChange<'_>,
        workspace: &Path,
    ) -> Self {
        let dir = store.workspace_dir(workspace);
        let (there, others) = find_log(&dir, id).unwrap_or_default();
        let left = there.and_then(|path| {
            let manifest = CheckpointManifest::load(&path).ok().flatten()?;
            Some((manifest, CheckpointLog::reopen(path).ok()?))
        });
        let (manifest, log) = match left {
            Some((manifest, log)) => (manifest, Some(log)),
            None => {
                let workspace = workspace.to_path_buf();
                let (session, turn) = (change.session, change.turn);
                (
                    CheckpointManifest::new(
                        id.into(),
                        workspace,
                        session,
                        turn,
                        CheckpointKind::Turn,
                        now_nanos(),
                    ),
                    None,
                )
            }
        };
        Self { manifest, log, is_new: false, sibling_count: others, active_calls: Vec::new() }
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.active_calls.is_empty()
    }

    /// Ends a call and returns its record.
    pub(crate) fn end_call(&mut self, key: &str) -> Option<ActiveCall> {
        let at = self.active_calls.iter().position(|running| running.id == key)?;
        Some(self.active_calls.remove(at))
    }

    /// Returns the record of a running call; `None` once it has been abandoned.
    pub(crate) fn active_call(&mut self, key: &str) -> Option<&mut ActiveCall> {
        self.active_calls.iter_mut().find(|running| running.id == key)
    }

    /// Whether no log exists yet.
    pub(crate) fn has_no_log(&self) -> bool {
        self.log.is_none()
    }

    /// Whether a path is in the tree of another running call.
    pub(crate) fn is_in_active_tree(&self, path: &Path, key: &str) -> bool {
        let is_other = |running: &ActiveCall| running.id != key && running.tree.is_some();
        path.starts_with(self.manifest.workspace()) && self.active_calls.iter().any(is_other)
    }

    /// Returns the state of a path before another running call.
    pub(crate) fn active_tree_state(&self, path: &Path, key: &str) -> Option<SavedState> {
        let path = path.strip_prefix(self.manifest.workspace()).ok()?;
        let others = self.active_calls.iter().filter(|running| running.id != key);
        let mut trees = others.filter_map(|running| running.tree.as_ref());
        trees.find_map(|sight| Some(sight.listing.entries.get(path)?.state.clone()))
    }

    /// Whether the last call started the checkpoint; resets the flag.
    pub(crate) fn is_new(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// Returns and resets the number of bytes added to its log.
    pub(crate) fn take_added(&mut self) -> u64 {
        self.log.as_mut().map_or(0, CheckpointLog::take_added)
    }

    /// Returns the number of other checkpoints of the workspace at its start.
    pub(crate) fn sibling_count(&self) -> usize {
        self.sibling_count
    }

    /// Saves a path that is about to change, and everything below it.
    pub(crate) fn record_place(
        &self,
        place: &Path,
        capture: &mut FileCapture<'_>,
        limits: CheckpointLimits,
        met: &mut Vec<PathRecord>,
    ) -> io::Result<()> {
        // Parent directories that will be created are removed by an undo.
        for above in place.ancestors().skip(1) {
            if fs::symlink_metadata(above).is_ok() || self.manifest.changes.contains_key(above) {
                break;
            }
            met.push(PathRecord { path: above.to_path_buf(), state: SavedState::Absent });
        }
        let state = self.first_state(place, capture)?;
        let target = match &state {
            SavedState::Link { .. } => hermes_files::real_path(place).ok(),
            _ => None,
        };
        let is_folder = state.is_dir();
        let inside = if is_folder {
            descendants(place, MAX_DIR_ENTRIES.min(limits.tree_entries))
        } else {
            Some(Vec::new())
        };
        match inside {
            None => {
                let state = unsaved_dir_state(place, UnsavedReason::TooMany)?;
                met.push(PathRecord { path: place.to_path_buf(), state });
            }
            Some(inside) => {
                met.push(PathRecord { path: place.to_path_buf(), state });
                for path in inside {
                    let state = self.first_state(&path, capture)?;
                    met.push(PathRecord { path, state });
                }
            }
        }
        match target {
            Some(target) if target != place => self.record_place(&target, capture, limits, met),
            _ => Ok(()),
        }
    }

    /// [`Self::record_place`] for paths in the workspace, except those that the
    /// listing has saved.
    pub(crate) fn record_unlisted(
        &self,
        place: &Path,
        listing: Option<&TreeListing>,
        capture: &mut FileCapture<'_>,
        limits: CheckpointLimits,
        met: &mut Vec<PathRecord>,
    ) -> io::Result<()> {
        let workspace = self.manifest.workspace();
        let is_listed = |path: &Path| {
            let path = path.strip_prefix(workspace).unwrap_or(path);
            listing.is_some_and(|listing| listing.entries.contains_key(path))
        };
        let mut ahead = vec![place.to_path_buf()];
        while let Some(path) = ahead.pop() {
            // Deleting a repository's history requires an approval instead.
            if path.iter().any(|part| part == ".git") {
                continue;
            }
            if !is_listed(&path) {
                self.record_place(&path, capture, limits, met)?;
            } else if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
                let inside = fs::read_dir(&path).into_iter().flatten().flatten();
                ahead.extend(inside.map(|entry| entry.path()));
            }
        }
        Ok(())
    }

    /// Returns the state of a path at the start of the turn, as far as known.
    fn first_state(&self, path: &Path, capture: &mut FileCapture<'_>) -> io::Result<SavedState> {
        if let Some(change) = self.manifest.changes.get(path) {
            return Ok(change.before.clone());
        }
        // A running command may have changed the file already, so use the tree
        // saved before it.
        match self.active_tree_state(path, "") {
            Some(state) => Ok(state),
            None => capture.state(path),
        }
    }

    /// Records the saved states before the call runs.
    pub(crate) fn begin_call(
        &mut self,
        store: &CheckpointStore,
        change: &PendingChange<'_>,
        met: Vec<PathRecord>,
        tree: Option<RecordedTree>,
        workspace: &Path,
        since: i64,
    ) -> io::Result<()> {
        let mut lines = vec![CheckpointLine::Call(call_line(change))];
        let is_new = |seen: &PathRecord| !self.manifest.changes.contains_key(&seen.path);
        lines.extend(met.into_iter().filter(is_new).map(CheckpointLine::Before));
        if let Some(sight) = &tree {
            lines.push(CheckpointLine::Tree(TreeLine {
                root: workspace.to_path_buf(),
                listing: sight.hash,
                is_partial: sight.listing.is_partial,
                call: call_key(change),
                at: sight.started,
                spared: sight.skipped.clone(),
                is_open: true,
            }));
        }
        self.write(store, lines)?;
        let id = call_key(change);
        self.active_calls.push(ActiveCall { id, since, tree, ..ActiveCall::default() });
        Ok(())
    }

    /// Records the states of paths that a call is about to change.
    pub(crate) fn note_held(&mut self, key: &str, held: BTreeMap<PathBuf, SavedState>) {
        match self.active_call(key) {
            Some(running) => running.held.extend(held),
            None => {
                let id = key.to_owned();
                self.active_calls.push(ActiveCall {
                    id,
                    reports_changes: true,
                    held,
                    ..ActiveCall::default()
                });
            }
        }
    }

    pub(crate) fn write(
        &mut self,
        store: &CheckpointStore,
        lines: Vec<CheckpointLine>,
    ) -> io::Result<()> {
        match &mut self.log {
            Some(log) => log.write(&lines)?,
            None => {
                self.log = Some(create_log(store, &self.manifest.header, &lines)?);
                self.is_new = true;
            }
        }
        lines.into_iter().for_each(|line| self.manifest.apply_line(line));
        Ok(())
    }

    /// Compares a path, and everything below it, after a call.
    pub(crate) fn compare_place(
        &self,
        place: &Path,
        capture: &mut FileCapture<'_>,
        limits: CheckpointLimits,
        seen: &mut Vec<(PathBuf, PathChange)>,
    ) -> io::Result<()> {
        let changes = &self.manifest.changes;
        let mut look = |path: &Path, before: &SavedState| -> io::Result<SavedState> {
            let after = capture.state_since(path, before)?;
            seen.push((path.to_path_buf(), PathChange::new(before.clone(), Some(after.clone()))));
            Ok(after)
        };
        let made = place.ancestors().skip(1).map_while(|above| Some((above, changes.get(above)?)));
        for (above, change) in made.filter(|(_, change)| change.before == SavedState::Absent) {
            look(above, &change.before)?;
        }
        let mut target = None;
        for (path, change) in changes.range(place.to_path_buf()..) {
            if !path.starts_with(place) {
                break;
            }
            look(path, &change.before)?;
            if path == place && matches!(change.before, SavedState::Link { .. }) {
                target = hermes_files::real_path(path).ok();
            }
        }
        let is_whole =
            changes.get(place).is_some_and(|c| !matches!(c.before, SavedState::Unkept { .. }));
        let is_folder = fs::symlink_metadata(place).is_ok_and(|found| found.is_dir());
        if is_whole && is_folder {
            let inside =
                descendants(place, MAX_DIR_ENTRIES.min(limits.tree_entries)).unwrap_or_default();
            for path in inside.iter().filter(|path| !changes.contains_key(*path)) {
                look(path, &SavedState::Absent)?;
            }
        }
        match target {
            Some(target) if target != place => self.compare_place(&target, capture, limits, seen),
            _ => Ok(()),
        }
    }

    /// Compares the paths that an interrupted call was changing.
    pub(crate) fn compare_held(
        &self,
        call: &ActiveCall,
        capture: &mut FileCapture<'_>,
        seen: &mut Vec<(PathBuf, PathChange)>,
    ) -> io::Result<()> {
        let changes = &self.manifest.changes;
        for (path, change) in call.held.keys().filter_map(|path| changes.get_key_value(path)) {
            let after = capture.state_since(path, &change.before)?;
            seen.push((path.clone(), PathChange::new(change.before.clone(), Some(after))));
        }
        Ok(())
    }

    /// Compares two listings of the workspace.
    pub(crate) fn compare_trees(
        &self,
        target: &TreeLister<'_>,
        before: &RecordedTree,
        after: &TreeListing,
        capture: &mut FileCapture<'_>,
        seen: &mut Vec<(PathBuf, PathChange)>,
    ) -> io::Result<()> {
        let workspace = target.root;
        let old = &before.listing.entries;
        let is_rule = |path: &Path| path.file_name().is_some_and(|name| name == ".gitignore");
        let rules_changed = old
            .iter()
            .filter(|(path, _)| is_rule(path))
            .any(|(path, leaf)| after.entries.get(path).is_none_or(|now| now.state != leaf.state));
        let mut shown = HashSet::new();
        let mut tell = |path: PathBuf, was: &SavedState, is: SavedState| {
            let was = self.manifest.changes.get(&path).map_or(was, |change| &change.before);
            seen.push((path.clone(), PathChange::new(was.clone(), Some(is))));
            shown.insert(path);
        };
        for (path, leaf) in old {
            let is = match after.entries.get(path) {
                Some(now) => now.state.clone(),
                None if after.is_partial && target.is_past_deadline() => continue,
                // It may exist and be ignored now.
                None => capture.state_since(&workspace.join(path), &leaf.state)?,
            };
            if !is.is_identical(&leaf.state) {
                tell(workspace.join(path), &leaf.state, is);
            }
        }
        for (path, leaf) in &after.entries {
            if before.listing.is_partial {
                break;
            }
            // A file that existed and was ignored was not created by the call.
            let is_older = || {
                let found = crate::path_handle::PathHandle::resolve(&workspace.join(path));
                let found = found.ok().flatten().and_then(|spot| spot.stat().ok().flatten());
                found.is_some_and(|found| {
                    found.stamp.changed < before.started - FILE_TIME_GRANULARITY_NANOS
                })
            };
            let is_made = || match before.listing.has_ignored(path) {
                Some(is_there) => !is_there && (!rules_changed || !is_older()),
                // Git may track it now.
                None => !is_older(),
            };
            if !old.contains_key(path) && is_made() {
                tell(workspace.join(path), &SavedState::Absent, leaf.state.clone());
            }
        }
        // Nested calls of the command have reported these.
        for (path, change) in self.manifest.changes.iter().filter(|(p, _)| p.starts_with(workspace))
        {
            if !shown.contains(path) {
                let after = capture.state_since(path, &change.before)?;
                seen.push((path.clone(), PathChange::new(change.before.clone(), Some(after))));
            }
        }
        Ok(())
    }

    /// Returns git-ignored paths that were deleted and not saved.
    pub(crate) fn deleted_ignored(
        &self,
        workspace: &Path,
        before: &TreeListing,
        after: &TreeListing,
    ) -> Vec<PathBuf> {
        let changes = &self.manifest.changes;
        let is_unkept = |above: &Path| {
            changes.get(above).is_some_and(|change| change.before.unsaved_reason().is_some())
        };
        // Paths that the call named are recorded as deleted, saved or not.
        let is_known =
            |place: &Path| changes.contains_key(place) || place.ancestors().skip(1).any(is_unkept);
        let missing = before.ignored.difference(&after.ignored);
        let missing = missing.filter(|path| !after.entries.contains_key(*path));
        let places = missing.map(|path| workspace.join(path));
        places.filter(|place| !is_known(place) && is_absent(place)).collect()
    }

    /// Records the results of a call and that it has finished.
    pub(crate) fn finish_call(
        &mut self,
        key: &str,
        mut seen: Vec<(PathBuf, PathChange)>,
        gone: Vec<PathBuf>,
        capture: &mut FileCapture<'_>,
    ) -> io::Result<()> {
        if self.active_calls.is_empty() {
            // These were hidden by a parent symlink that no longer exists.
            let shown: HashSet<PathBuf> = seen.iter().map(|(path, _)| path.clone()).collect();
            for (path, change) in &self.manifest.changes {
                if change.after.is_none() && !shown.contains(path) {
                    let after = Some(capture.state_since(path, &change.before)?);
                    seen.push((path.clone(), PathChange::new(change.before.clone(), after)));
                }
            }
        }
        let mut lines = Vec::new();
        for (path, change) in seen {
            let known = self.manifest.changes.get(&path);
            let Some(after) = change.after else { continue };
            if known.is_none() {
                lines.push(CheckpointLine::Before(PathRecord {
                    path: path.clone(),
                    state: change.before,
                }));
            }
            if change.is_interleaved {
                lines.push(CheckpointLine::Broken(PathRecord {
                    path: path.clone(),
                    state: after.clone(),
                }));
            }
            if known.is_none_or(|known| known.after.as_ref() != Some(&after)) {
                lines.push(CheckpointLine::After(PathRecord { path, state: after }));
            }
        }
        lines.extend(gone.into_iter().map(CheckpointLine::Gone));
        if self.manifest.trees.iter().any(|tree| tree.is_open && tree.call == key) {
            lines.push(CheckpointLine::Through(key.to_owned()));
        }
        if let Some(log) = &mut self.log {
            log.write(&lines)?;
        }
        lines.into_iter().for_each(|line| self.manifest.apply_line(line));
        self.remove_if_empty()
    }

    /// Removes the checkpoint of a turn that changed nothing. A turn that
    /// deleted unsaved files keeps it, so an undo does not revert the turn
    /// before it instead.
    pub(crate) fn remove_if_empty(&mut self) -> io::Result<()> {
        let has_changed = self.manifest.is_cut_off()
            || self.manifest.changes().next().is_some()
            || self.manifest.missing_paths().next().is_some();
        if self.active_calls.is_empty() && !has_changed {
            if let Some(log) = self.log.take() {
                remove(&log.path)?;
            }
            self.manifest.changes.clear();
            self.manifest.calls.clear();
            self.manifest.trees.clear();
            self.manifest.deleted_unsaved.clear();
            self.manifest.first_change_at = None;
        }
        Ok(())
    }
}

/// Identifies a call within its turn. Sub-agents take part in a turn as tasks of
/// their own, and models number the calls of each conversation from the start.
pub(crate) fn call_key(change: &PendingChange<'_>) -> String {
    format!("{}/{}", change.task, change.call_id)
}

/// Returns the log line of a call.
pub(crate) fn call_line(change: &PendingChange<'_>) -> CallLine {
    CallLine {
        id: change.call_id.to_owned(),
        tool: change.tool.to_owned(),
        task: change.task.to_owned(),
    }
}

/// Creates a log in its workspace's directory, with its first lines.
pub(crate) fn create_log(
    store: &CheckpointStore,
    head: &LogHeader,
    first: &[CheckpointLine],
) -> io::Result<CheckpointLog> {
    let dir = store.workspace_dir(&head.workspace);
    let path = dir.join(format!("{:020}-{}.{LOG_EXTENSION}", head.at, head.id));
    match CheckpointLog::create(path.clone(), head, first) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private_dir(&dir)?;
            CheckpointLog::create(path, head, first)
        }
        made => made,
    }
}
