//! Interrupted commands, whose results were never recorded. The tree saved
//! before them is compared with its current state.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_core::{CancellationToken, ToolError};

use crate::capture::FileCapture;
use crate::damage::DamagedCheckpoint;
use crate::manifest::{CheckpointManifest, PathChange, TreeLine};
use crate::moved::{self, CallStart};
use crate::state::SavedState;
use crate::store::CheckpointStore;
use crate::tracked::IndexCache;
use crate::tree::{TreeLister, TreeListing};
use crate::turn::FILE_TIME_GRANULARITY_NANOS;

/// One tree of an interrupted turn, before and now.
struct InterruptedTree<'a> {
    tree: &'a TreeLine,
    then: TreeListing,
    now: TreeListing,
    /// Later checkpoints, oldest first.
    later: &'a [CheckpointManifest],
    /// Trees saved later.
    later_trees: Vec<TreeListing>,
}

impl CheckpointStore {
    /// Adds the changes left by interrupted turns to the checkpoints of one
    /// workspace, oldest first.
    pub(crate) fn complete_interrupted(
        &self,
        all: &mut [CheckpointManifest],
    ) -> Result<(), ToolError> {
        // Newest first: the state a later turn found is what an earlier one
        // left.
        for at in (0..all.len()).rev() {
            let (earlier, later) = all.split_at_mut(at + 1);
            let Some(turn) = earlier.last_mut().filter(|turn| turn.is_cut_off()) else { continue };
            match self.changes_left_by(turn, later)? {
                None => turn.is_lost = true,
                Some(left) => left.into_iter().for_each(|(path, before)| {
                    let change = turn.changes.entry(path).or_insert(PathChange::new(before, None));
                    if change.is_unchanged() {
                        change.after = None;
                    }
                }),
            }
        }
        Ok(())
    }

    /// Returns the turns whose changes cannot be determined.
    pub(crate) fn unrecoverable_among(
        &self,
        turns: &[&CheckpointManifest],
    ) -> Vec<DamagedCheckpoint> {
        let lost = turns.iter().filter(|turn| turn.is_lost);
        lost.map(|turn| DamagedCheckpoint {
            id: turn.id().to_owned(),
            path: self.workspace_dir(turn.workspace()),
            why: "it was interrupted, and the tree saved before it is missing or damaged".into(),
            at: turn.at_nanos(),
        })
        .collect()
    }

    /// Returns the paths that an interrupted turn changed and their previous
    /// states, or `None` if a saved tree is missing.
    fn changes_left_by(
        &self,
        turn: &CheckpointManifest,
        later: &[CheckpointManifest],
    ) -> Result<Option<Vec<(PathBuf, SavedState)>>, ToolError> {
        let mut left = Vec::new();
        for tree in turn.trees.iter().filter(|tree| tree.is_open) {
            let Ok(then) = TreeListing::load(&self.objects, tree.listing) else { return Ok(None) };
            let now = self.relist(tree, &then)?;
            let kept = later.iter().flat_map(|turn| &turn.trees);
            let kept = kept.filter(|other| other.root == tree.root);
            let later_trees = kept
                .filter_map(|other| TreeListing::load(&self.objects, other.listing).ok())
                .collect();
            let remains = InterruptedTree { tree, then, now, later, later_trees };
            let mut seen = self.differences(&remains)?;
            let others = self.concurrent_since(turn.id(), tree.at)?;
            seen.retain(|(path, change)| {
                let after = change.after.as_ref().unwrap_or(&change.before);
                !others.accounts_for(path, &change.before, after)
            });
            let from = CallStart { at: tree.at, tree: Some(&remains.then), root: &tree.root };
            moved::mark_moved_in(&mut seen, turn, from);
            left.extend(seen.into_iter().map(|(path, change)| (path, change.before)));
        }
        Ok(Some(left))
    }

    /// Lists the same tree in its current state.
    fn relist(&self, tree: &TreeLine, then: &TreeListing) -> Result<TreeListing, ToolError> {
        let cancel = CancellationToken::new();
        let target = TreeLister {
            root: &tree.root,
            skipped: &tree.spared,
            max_entries: self.limits.tree_entries,
            deadline: None,
            cancel: &cancel,
            indexes: &IndexCache::default(),
        };
        target.list(&mut FileCapture::inspecting(self.limits), then)
    }

    fn differences(
        &self,
        remains: &InterruptedTree<'_>,
    ) -> Result<Vec<(PathBuf, PathChange)>, ToolError> {
        let mut capture = FileCapture::inspecting(self.limits);
        let mut seen = Vec::new();
        for path in remains.paths() {
            let place = remains.tree.root.join(path);
            let before =
                remains.then.entries.get(path).map_or(&SavedState::Absent, |leaf| &leaf.state);
            let after = match (remains.next_known_state(&place), remains.now.entries.get(path)) {
                (Some(state), _) => state.clone(),
                (None, Some(leaf)) => leaf.state.clone(),
                // It may exist and be ignored now.
                (None, None) => capture
                    .state_since(&place, before)
                    .map_err(|error| ToolError::io(place.display(), &error))?,
            };
            if !after.is_identical(before) {
                seen.push((place, PathChange::new(before.clone(), Some(after))));
            }
        }
        Ok(seen)
    }
}

impl InterruptedTree<'_> {
    /// Paths that existed before or were created since.
    fn paths(&self) -> BTreeSet<&PathBuf> {
        let mut paths: BTreeSet<&PathBuf> = self.then.entries.keys().collect();
        // With a partial listing, new paths cannot be determined.
        if !self.then.is_partial {
            paths.extend(self.now.entries.keys().filter(|path| self.is_new(path)));
            // Paths that were created and have been deleted since.
            let kept = self.later_trees.iter().flat_map(|listing| listing.entries.keys());
            paths.extend(kept.filter(|path| !self.now.entries.contains_key(*path)));
        }
        paths
    }

    /// Whether a path was created after the tree was saved. Older ones were
    /// skipped then because git ignored them.
    fn is_new(&self, path: &Path) -> bool {
        if self.then.has_ignored(path) == Some(true) {
            return false;
        }
        let found = fs::symlink_metadata(self.tree.root.join(path));
        let changed = found.map_or(i64::MAX, |found| {
            found.ctime().saturating_mul(1_000_000_000).saturating_add(found.ctime_nsec())
        });
        changed >= self.tree.at - FILE_TIME_GRANULARITY_NANOS
    }

    /// Returns the state that the next checkpoint found at a path, if recorded.
    fn next_known_state(&self, place: &Path) -> Option<&SavedState> {
        self.later.iter().find_map(|turn| Some(&turn.changes.get(place)?.before))
    }
}
