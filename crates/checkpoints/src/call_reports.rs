//! Changes as reported by a call while it holds the files. These reports are
//! authoritative when other processes change the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::PendingChange;

use crate::capture::FileCapture;
use crate::manifest::{CheckpointLine, PathChange, PathRecord};
use crate::state::{ContentHash, SavedState};
use crate::store::{CheckpointStore, now_nanos};
use crate::turn::{TurnRecord, call_key, call_line};

/// What a call left at a path; paths are canonical.
#[derive(Debug)]
pub(crate) enum ReportedContent {
    Absent,
    Content { len: u64, hash: ContentHash },
    MovedFrom(PathBuf),
    Unspecified,
}

impl TurnRecord {
    /// Saves the state of paths that a call holds and is about to change. This
    /// replaces what was seen there before the call held them, unless the turn
    /// has already changed it.
    pub(crate) fn record_before(
        &mut self,
        store: &CheckpointStore,
        change: &PendingChange<'_>,
        places: &[PathBuf],
    ) -> io::Result<()> {
        let key = call_key(change);
        let mut looking = FileCapture::inspecting(store.limits);
        let mut keeping = FileCapture::storing(&store.objects, store.limits);
        let mut lines = Vec::new();
        let mut held: BTreeMap<PathBuf, SavedState> = BTreeMap::new();
        for path in places.iter().flat_map(|place| self.affected_paths(place)) {
            if held.contains_key(&path) {
                continue;
            }
            let is_enclosed = self.is_in_active_tree(&path, &key);
            let state = match self.manifest.changes.get(&path) {
                None => {
                    let state = keeping.state(&path)?;
                    let first = self.active_tree_state(&path, &key);
                    let first = first.unwrap_or_else(|| state.clone());
                    lines.push(CheckpointLine::Before(PathRecord {
                        path: path.clone(),
                        state: first,
                    }));
                    state
                }
                Some(PathChange { before, after: None, .. }) if !is_enclosed => {
                    let mut state = looking.state_since(&path, before)?;
                    if !state.is_identical(before) {
                        state = keeping.state(&path)?;
                        let state = state.clone();
                        lines.push(CheckpointLine::Anew(PathRecord { path: path.clone(), state }));
                    }
                    state
                }
                Some(PathChange { before, after, .. }) => {
                    let last = after.as_ref().unwrap_or(before);
                    let state = looking.state_since(&path, last)?;
                    if !is_enclosed && !state.is_same(last) && !state.is_dir() {
                        lines.push(CheckpointLine::Broken(PathRecord {
                            path: path.clone(),
                            state: state.clone(),
                        }));
                    }
                    state
                }
            };
            held.insert(path, state);
        }
        let is_first = self.manifest.changes.values().all(|change| change.after.is_none());
        if is_first && self.manifest.first_change_at.is_none() {
            lines.insert(0, CheckpointLine::Begun(now_nanos()));
        }
        if self.has_no_log() || self.active_call(&key).is_none() {
            lines.insert(0, CheckpointLine::Call(call_line(change)));
        }
        self.write(store, lines)?;
        self.note_held(&key, held);
        Ok(())
    }

    /// Records what a call left at paths.
    pub(crate) fn record_after(
        &mut self,
        store: &CheckpointStore,
        key: &str,
        made: Vec<(PathBuf, ReportedContent)>,
    ) -> io::Result<()> {
        let mut capture = FileCapture::inspecting(store.limits);
        let mut held = BTreeMap::new();
        if let Some(running) = self.active_call(key) {
            held = std::mem::take(&mut running.held);
            running.reported.extend(held.keys().cloned());
            running.reported.extend(made.iter().map(|(path, _)| path.clone()));
        }
        let changes = &self.manifest.changes;
        let written: BTreeSet<PathBuf> = made
            .iter()
            .filter(|(path, left)| {
                let is_link = matches!(held.get(path), Some(SavedState::Link { .. }));
                matches!(left, ReportedContent::Content { .. }) && !is_link
            })
            .map(|(path, _)| path.clone())
            .collect();
        let mut look = |path: &Path| match changes.get(path) {
            // The call reports the content, so there is no need to read it.
            _ if written.contains(path) => capture.state_without_content(path),
            Some(change) => capture.state_since(path, &change.before),
            None => capture.state(path),
        };
        let mut seen = BTreeMap::new();
        for path in held.keys() {
            seen.insert(path.clone(), look(path)?);
        }
        for (path, left) in made {
            // Writes follow a symlink, so the content is at its target.
            let is_link = matches!(held.get(&path), Some(SavedState::Link { .. }));
            let path = match left {
                ReportedContent::Content { .. } if is_link => {
                    hermes_files::real_path(&path).unwrap_or(path)
                }
                _ => path,
            };
            let found = match seen.remove(&path) {
                Some(found) => found,
                None => look(&path)?,
            };
            seen.insert(path, reconcile(found, &left, &held));
        }
        let mut lines = Vec::new();
        for (path, state) in seen {
            let known = changes.get(&path);
            if known.is_none() {
                lines.push(CheckpointLine::Before(PathRecord {
                    path: path.clone(),
                    state: SavedState::Absent,
                }));
            }
            if known.is_none_or(|known| known.after.as_ref() != Some(&state)) {
                lines.push(CheckpointLine::After(PathRecord { path, state }));
            }
        }
        self.write(store, lines)
    }

    /// Returns a changed path, the directories created for it, and the target
    /// if it is a symlink.
    fn affected_paths(&self, place: &Path) -> Vec<PathBuf> {
        let is_made = |above: &&Path| match self.manifest.changes.get(*above) {
            Some(change) => change.before == SavedState::Absent,
            None => fs::symlink_metadata(above).is_err(),
        };
        let mut around: Vec<PathBuf> =
            place.ancestors().skip(1).take_while(is_made).map(PathBuf::from).collect();
        around.push(place.to_path_buf());
        let is_link = fs::symlink_metadata(place).is_ok_and(|found| found.is_symlink());
        match hermes_files::real_path(place) {
            Ok(target) if is_link && target != place => around.extend(self.affected_paths(&target)),
            _ => {}
        }
        around
    }
}

/// Combines what a call reported with what is on disk now.
fn reconcile(
    found: SavedState,
    left: &ReportedContent,
    held: &BTreeMap<PathBuf, SavedState>,
) -> SavedState {
    let (hash, len) = match left {
        ReportedContent::Unspecified => return found,
        ReportedContent::Absent => return SavedState::Absent,
        ReportedContent::Content { len, hash } => (*hash, *len),
        ReportedContent::MovedFrom(from) => match held.get(from) {
            Some(SavedState::File { hash, len, .. }) => (*hash, *len),
            _ => return found,
        },
    };
    match found {
        // Too large to compare.
        SavedState::Unkept { .. } => found,
        SavedState::File { mode, owner, attributes, linked, .. } => {
            SavedState::File { hash, len, mode, owner, attributes, linked }
        }
        _ => {
            let (mode, owner, attributes) = (0, None, BTreeMap::new());
            SavedState::File { hash, len, mode, owner, attributes, linked: None }
        }
    }
}
