//! Interrupted undos, redos and restores. Their partial changes are not
//! mistaken for foreign ones: they can be continued and reverted.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::history::CheckpointKind;
use crate::manifest::{CheckpointManifest, PathChange};
use crate::path_handle;
use crate::state::SavedState;

/// The states between which an interrupted operation was moving a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InterruptedStep<'a> {
    pub(crate) from: &'a SavedState,
    /// `None` if it was not recorded.
    pub(crate) to: Option<&'a SavedState>,
}

impl<'a> InterruptedStep<'a> {
    fn from_change(change: &'a PathChange) -> Self {
        Self { from: &change.before, to: change.after.as_ref() }
    }

    /// Whether the operation may have left `now` on the way to `wanted`. Mode,
    /// owner and attributes are applied after the content.
    pub(crate) fn could_produce(&self, now: &SavedState, wanted: &SavedState) -> bool {
        let ends = || [Some(self.from), self.to, Some(wanted)].into_iter().flatten();
        // A directory is removed before a file replaces it, and vice versa.
        let gives_way = ends().any(SavedState::is_dir) && !ends().all(SavedState::is_dir);
        ends().any(|end| now.has_same_content(end)) || (*now == SavedState::Absent && gives_way)
    }
}

/// Partial changes of interrupted operations in a workspace, by path.
#[derive(Debug, Default)]
pub(crate) struct InterruptedRestores<'a> {
    /// Steps that no later checkpoint has superseded.
    latest: HashMap<&'a Path, InterruptedStep<'a>>,
    /// All steps.
    all: HashMap<&'a Path, Vec<InterruptedStep<'a>>>,
}

impl<'a> InterruptedRestores<'a> {
    /// Collects the steps from a workspace's checkpoints, oldest first.
    pub(crate) fn from_checkpoints(all: &'a [CheckpointManifest]) -> Self {
        let mut halfway = Self::default();
        let cut_off: HashSet<&str> =
            all.iter().filter(|m| m.is_interrupted()).map(CheckpointManifest::id).collect();
        for manifest in all {
            // A redo that reverts an interrupted undo covers the same paths.
            let goes_back =
                matches!(manifest.kind(), CheckpointKind::Redo(id) if cut_off.contains(&**id));
            for (path, change) in &manifest.changes {
                let (path, way) = (path.as_path(), InterruptedStep::from_change(change));
                if !manifest.is_interrupted() {
                    if !change.is_unchanged() {
                        halfway.latest.remove(path);
                    }
                    continue;
                }
                halfway.all.entry(path).or_default().push(way);
                let known = halfway.latest.entry(path).or_insert(way);
                if !goes_back {
                    *known = way;
                }
            }
        }
        halfway
    }

    /// Returns the step of a path, unless a later checkpoint changed it.
    pub(crate) fn step_at(&self, path: &Path) -> Option<InterruptedStep<'a>> {
        self.latest.get(path).copied()
    }

    /// Whether an interrupted operation may have left `found` at a path.
    pub(crate) fn could_have_left(&self, path: &Path, found: &SavedState) -> bool {
        let ways = self.all.get(path);
        ways.is_some_and(|ways| ways.iter().any(|way| way.could_produce(found, way.from)))
    }

    /// Yields the parent directories that were created for a path.
    pub(crate) fn created_parents(
        &self,
        path: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a SavedState)> + '_ {
        let above = path.ancestors().skip(1).map_while(|above| Some((above, self.step_at(above)?)));
        above.filter_map(|(above, way)| {
            let made = way.to.filter(|to| to.is_dir() && *way.from == SavedState::Absent)?;
            Some((above, made))
        })
    }
}

/// Returns the interrupted checkpoints that a new one makes redundant: all
/// their paths are recorded by it or by later ones.
pub(crate) fn superseded<'a>(
    all: &'a [CheckpointManifest],
    new: &CheckpointManifest,
) -> Vec<&'a CheckpointManifest> {
    // Only this checkpoint records the state before the undo.
    let is_named = |id: &str| {
        all.iter().chain([new]).any(|by| match by.kind() {
            CheckpointKind::Undo(turns) => turns.iter().any(|turn| turn == id),
            CheckpointKind::Redo(other) => other == id,
            _ => false,
        })
    };
    let mut needless = Vec::new();
    for (at, old) in all.iter().enumerate() {
        if !old.is_interrupted() || old.id() == new.id() || is_named(old.id()) {
            continue;
        }
        let later = || all.iter().skip(at + 1).chain([new]);
        if old.changes.keys().all(|path| later().any(|m| m.changes.contains_key(path))) {
            needless.push(old);
        }
    }
    needless
}

/// Removes temporary files of an interrupted operation.
pub(crate) fn remove_leftovers(manifest: &CheckpointManifest) {
    let dirs: HashSet<&Path> = manifest.changes.keys().filter_map(|p| p.parent()).collect();
    for entry in dirs.into_iter().filter_map(|f| fs::read_dir(f).ok()).flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(path_handle::RESTORE_TEMP_PREFIX.as_bytes()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
