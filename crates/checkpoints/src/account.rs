//! What a call itself tells of its changes, while it holds the files: the
//! account that counts when others are at the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hermes_core::PendingChange;

use crate::capture::Capture;
use crate::manifest::{Change, Line, Seen};
use crate::state::{Hash, State};
use crate::store::{Store, now};
use crate::turn::{Turn, call_line};

/// What a call has left at a place, the places being real.
#[derive(Debug)]
pub(crate) enum Left {
    Nothing,
    Content { len: u64, hash: Hash },
    MovedFrom(PathBuf),
    Unsaid,
}

impl Turn {
    /// Keeps what is at places that a call holds and is about to change. What
    /// was seen there before the call held them does not count any more,
    /// unless the turn had changed it already.
    pub(crate) fn hold(
        &mut self,
        store: &Store,
        change: &PendingChange<'_>,
        places: &[PathBuf],
    ) -> io::Result<()> {
        let mut looking = Capture::looking(store.limits);
        let mut keeping = Capture::keeping(&store.objects, store.limits);
        let mut lines = Vec::new();
        let mut held: BTreeMap<PathBuf, State> = BTreeMap::new();
        for path in places.iter().flat_map(|place| self.around(place)) {
            if held.contains_key(&path) {
                continue;
            }
            let is_enclosed = self.is_enclosed(&path, change.call_id);
            let state = match self.manifest.changes.get(&path) {
                None => {
                    let state = keeping.state(&path)?;
                    let first = self.enclosing_leaf(&path, change.call_id);
                    let first = first.unwrap_or_else(|| state.clone());
                    lines.push(Line::Before(Seen { path: path.clone(), state: first }));
                    state
                }
                Some(Change { before, after: None, .. }) if !is_enclosed => {
                    let mut state = looking.state_since(&path, before)?;
                    if !state.is_alike(before) {
                        state = keeping.state(&path)?;
                        let state = state.clone();
                        lines.push(Line::Anew(Seen { path: path.clone(), state }));
                    }
                    state
                }
                Some(Change { before, after, .. }) => {
                    let last = after.as_ref().unwrap_or(before);
                    let state = looking.state_since(&path, last)?;
                    if !is_enclosed && !state.is_same(last) && !state.is_folder() {
                        lines.push(Line::Broken(Seen { path: path.clone(), state: state.clone() }));
                    }
                    state
                }
            };
            held.insert(path, state);
        }
        let is_first = self.manifest.changes.values().all(|change| change.after.is_none());
        if is_first && self.manifest.begun.is_none() {
            lines.insert(0, Line::Begun(now()));
        }
        if self.is_unwritten() || self.running(change.call_id).is_none() {
            lines.insert(0, Line::Call(call_line(change)));
        }
        self.write(store, lines)?;
        self.announce(change.call_id, held);
        Ok(())
    }

    /// Writes down what a call has left at places.
    pub(crate) fn leave(
        &mut self,
        store: &Store,
        call_id: &str,
        made: Vec<(PathBuf, Left)>,
    ) -> io::Result<()> {
        let mut capture = Capture::looking(store.limits);
        let mut held = BTreeMap::new();
        if let Some(running) = self.running(call_id) {
            held = std::mem::take(&mut running.held);
            running.told.extend(held.keys().cloned());
            running.told.extend(made.iter().map(|(path, _)| path.clone()));
        }
        let changes = &self.manifest.changes;
        let written: BTreeSet<PathBuf> = made
            .iter()
            .filter(|(path, left)| {
                let is_link = matches!(held.get(path), Some(State::Link { .. }));
                matches!(left, Left::Content { .. }) && !is_link
            })
            .map(|(path, _)| path.clone())
            .collect();
        let mut look = |path: &Path| match changes.get(path) {
            // Its content is told; there is no need to read it.
            _ if written.contains(path) => capture.outline(path),
            Some(change) => capture.state_since(path, &change.before),
            None => capture.state(path),
        };
        let mut seen = BTreeMap::new();
        for path in held.keys() {
            seen.insert(path.clone(), look(path)?);
        }
        for (path, left) in made {
            // A link is written through; what it leads to has the content.
            let is_link = matches!(held.get(&path), Some(State::Link { .. }));
            let path = match left {
                Left::Content { .. } if is_link => hermes_files::real_path(&path).unwrap_or(path),
                _ => path,
            };
            let found = match seen.remove(&path) {
                Some(found) => found,
                None => look(&path)?,
            };
            seen.insert(path, told(found, &left, &held));
        }
        let mut lines = Vec::new();
        for (path, state) in seen {
            let known = changes.get(&path);
            if known.is_none() {
                lines.push(Line::Before(Seen { path: path.clone(), state: State::Absent }));
            }
            if known.is_none_or(|known| known.after.as_ref() != Some(&state)) {
                lines.push(Line::After(Seen { path, state }));
            }
        }
        self.write(store, lines)
    }

    /// A place that is changed, the folders that are made for it, and what it
    /// leads to if it is a link.
    fn around(&self, place: &Path) -> Vec<PathBuf> {
        let is_made = |above: &&Path| match self.manifest.changes.get(*above) {
            Some(change) => change.before == State::Absent,
            None => fs::symlink_metadata(above).is_err(),
        };
        let mut around: Vec<PathBuf> =
            place.ancestors().skip(1).take_while(is_made).map(PathBuf::from).collect();
        around.push(place.to_path_buf());
        let is_link = fs::symlink_metadata(place).is_ok_and(|found| found.is_symlink());
        match hermes_files::real_path(place) {
            Ok(target) if is_link && target != place => around.extend(self.around(&target)),
            _ => {}
        }
        around
    }
}

/// What a call left, by its own word and by what is found there now.
fn told(found: State, left: &Left, held: &BTreeMap<PathBuf, State>) -> State {
    let (hash, len) = match left {
        Left::Unsaid => return found,
        Left::Nothing => return State::Absent,
        Left::Content { len, hash } => (*hash, *len),
        Left::MovedFrom(from) => match held.get(from) {
            Some(State::File { hash, len, .. }) => (*hash, *len),
            _ => return found,
        },
    };
    match found {
        // Too large to be compared.
        State::Unkept { .. } => found,
        State::File { mode, owner, attributes, linked, .. } => {
            State::File { hash, len, mode, owner, attributes, linked }
        }
        _ => {
            let (mode, owner, attributes) = (0, None, BTreeMap::new());
            State::File { hash, len, mode, owner, attributes, linked: None }
        }
    }
}
