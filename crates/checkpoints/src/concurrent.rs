//! Changes that other turns made to the same files while a command ran. Those
//! turns recorded them, so they are not attributed to the command.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;

use crate::manifest::{CheckpointManifest, PathChange};
use crate::state::SavedState;
use crate::store::{CheckpointStore, logs};
use crate::turn::TurnRecord;

/// Changes of other turns, by path and in chronological order.
#[derive(Debug, Default)]
pub(crate) struct ConcurrentChanges {
    changes: HashMap<PathBuf, Vec<PathChange>>,
}

/// The part of a change that is attributed to the command.
enum ChangeShare {
    Nothing,
    All,
    /// The change up to this state; other turns made the rest.
    UpTo(SavedState),
    /// The whole change, interleaved with changes of other turns.
    Mixed,
}

impl CheckpointStore {
    /// Returns the changes that turns other than `id` made since `since`.
    pub(crate) fn concurrent_since(
        &self,
        id: &str,
        since: i64,
    ) -> Result<ConcurrentChanges, ToolError> {
        let mut turns: Vec<CheckpointManifest> = Vec::new();
        for dir in self.workspace_dirs()? {
            let there = logs(&dir).map_err(|error| self.io_error("list", &dir, &error))?;
            // File times lag behind the clock, so earlier changes never count.
            let is_recent = |path: &PathBuf| {
                fs::metadata(path).is_ok_and(|found| {
                    let at = found.mtime().saturating_mul(1_000_000_000);
                    at.saturating_add(found.mtime_nsec()) > since
                })
            };
            let read = there.iter().filter(|path| is_recent(path));
            turns.extend(read.filter_map(|path| CheckpointManifest::load(path).ok().flatten()));
        }
        turns.retain(|turn| turn.id() != id);
        turns.sort_by_key(CheckpointManifest::at_nanos);
        let mut others = ConcurrentChanges::default();
        for turn in turns {
            let is_at_it = turn.is_interrupted();
            for (path, mut change) in turn.changes {
                change.after = change.after.filter(|_| !is_at_it);
                others.changes.entry(path).or_default().push(change);
            }
        }
        Ok(others)
    }
}

impl ConcurrentChanges {
    /// Whether other turns recorded the whole change of a path.
    pub(crate) fn accounts_for(
        &self,
        path: &Path,
        before: &SavedState,
        after: &SavedState,
    ) -> bool {
        let theirs = self.changes.get(path);
        theirs.is_some_and(|theirs| {
            matches!(remaining_share(theirs, before, after), ChangeShare::Nothing)
        })
    }

    /// Removes changes that other turns made from the changes seen by a call.
    pub(crate) fn subtract_from(&self, turn: &TurnRecord, seen: &mut Vec<(PathBuf, PathChange)>) {
        seen.retain_mut(|(path, change)| {
            let (Some(theirs), Some(after)) = (self.changes.get(path), &change.after) else {
                return true;
            };
            let known = turn.manifest.changes.get(path);
            let before = known.and_then(|known| known.after.as_ref()).unwrap_or(&change.before);
            match remaining_share(theirs, before, after) {
                ChangeShare::Nothing => change.after = Some(before.clone()),
                ChangeShare::All => {}
                ChangeShare::UpTo(state) => change.after = Some(state),
                ChangeShare::Mixed => change.is_interleaved = true,
            }
            known.is_some() || !change.is_unchanged()
        });
    }
}

/// Returns the part of a change that other turns have not recorded.
fn remaining_share(theirs: &[PathChange], before: &SavedState, after: &SavedState) -> ChangeShare {
    let mut from = before;
    let mut is_first = true;
    for change in theirs {
        if change.before.is_identical(from) && !change.is_unchanged() {
            is_first = false;
            match &change.after {
                Some(after) => from = after,
                // The other turn records the change when it finishes.
                None => return ChangeShare::Nothing,
            }
        }
    }
    if from.is_identical(after) {
        return ChangeShare::Nothing;
    }
    let mut to = after;
    for change in theirs.iter().rev() {
        if change.after.as_ref().is_some_and(|after| after.is_identical(to)) {
            to = &change.before;
        }
    }
    match is_first {
        _ if to.is_identical(from) => ChangeShare::Nothing,
        // The intermediate state that other turns left was not saved.
        false => ChangeShare::Mixed,
        true if to.is_identical(after) => ChangeShare::All,
        true => ChangeShare::UpTo(to.clone()),
    }
}

#[cfg(test)]
#[path = "concurrent_tests.rs"]
mod tests;
