//! Undos, redos and restores that were cut off. What they have left half done
//! is nobody else's work: it can go on, and it can be taken back.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::history::CheckpointKind;
use crate::manifest::{CheckpointManifest, PathChange};
use crate::path_handle;
use crate::state::SavedState;

/// From what to what one of them was bringing a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InterruptedStep<'a> {
    pub(crate) from: &'a SavedState,
    /// None if it was not written down.
    pub(crate) to: Option<&'a SavedState>,
}

impl<'a> InterruptedStep<'a> {
    fn from_change(change: &'a PathChange) -> Self {
        Self { from: &change.before, to: change.after.as_ref() }
    }

    /// Whether it may have left this, `wanted` being what is to be there in
    /// the end. A mode, an owner and attributes come after the content.
    pub(crate) fn could_produce(&self, now: &SavedState, wanted: &SavedState) -> bool {
        let ends = || [Some(self.from), self.to, Some(wanted)].into_iter().flatten();
        // A folder goes before a file takes its place, and the other way round.
        let gives_way = ends().any(SavedState::is_dir) && !ends().all(SavedState::is_dir);
        ends().any(|end| now.has_same_content(end)) || (*now == SavedState::Absent && gives_way)
    }
}

/// What those that were cut off have left in a workspace, by path.
#[derive(Debug, Default)]
pub(crate) struct InterruptedRestores<'a> {
    /// What nobody has told of since.
    latest: HashMap<&'a Path, InterruptedStep<'a>>,
    /// All of it.
    all: HashMap<&'a Path, Vec<InterruptedStep<'a>>>,
}

impl<'a> InterruptedRestores<'a> {
    /// From a workspace's checkpoints, the oldest first.
    pub(crate) fn from_checkpoints(all: &'a [CheckpointManifest]) -> Self {
        let mut halfway = Self::default();
        let cut_off: HashSet<&str> =
            all.iter().filter(|m| m.is_interrupted()).map(CheckpointManifest::id).collect();
        for manifest in all {
            // One that takes another back goes over the same ground.
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

    /// How far a path was brought, if nobody has told of it since.
    pub(crate) fn step_at(&self, path: &Path) -> Option<InterruptedStep<'a>> {
        self.latest.get(path).copied()
    }

    /// Whether one of them may have left this for those who came later.
    pub(crate) fn could_have_left(&self, path: &Path, found: &SavedState) -> bool {
        let ways = self.all.get(path);
        ways.is_some_and(|ways| ways.iter().any(|way| way.could_produce(found, way.from)))
    }

    /// The folders that were made to get to a path.
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

/// Those of a workspace's checkpoints that a new one makes needless: all that
/// they were at is told by it, or by others since.
pub(crate) fn superseded<'a>(
    all: &'a [CheckpointManifest],
    new: &CheckpointManifest,
) -> Vec<&'a CheckpointManifest> {
    // What an undo of it began with is told by it alone.
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

/// Removes what one that was cut off has left half-written.
pub(crate) fn remove_leftovers(manifest: &CheckpointManifest) {
    let folders: HashSet<&Path> = manifest.changes.keys().filter_map(|p| p.parent()).collect();
    for entry in folders.into_iter().filter_map(|f| fs::read_dir(f).ok()).flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(path_handle::RESTORE_TEMP_PREFIX.as_bytes()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
