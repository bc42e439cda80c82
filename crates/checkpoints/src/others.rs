//! What other turns did to the files of a command while it ran. They have told
//! so themselves, and it is not taken for the command's.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_core::ToolError;

use crate::manifest::{Change, Manifest};
use crate::state::State;
use crate::store::{Store, logs};
use crate::turn::Turn;

/// What others did, by path and in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Others {
    changes: HashMap<PathBuf, Vec<Change>>,
}

/// What is left of a change for the command.
enum Share {
    Nothing,
    All,
    /// Up to this state; then others went on.
    UpTo(State),
    /// All of it, with what others did in between.
    Mixed,
}

impl Store {
    /// What turns other than this one have done since a moment.
    pub(crate) fn others_since(&self, id: &str, since: i64) -> Result<Others, ToolError> {
        let mut turns: Vec<Manifest> = Vec::new();
        for folder in self.folders()? {
            let there = logs(&folder).map_err(|error| self.failed("list", &folder, &error))?;
            // Times of files lag behind, so that what was done before never counts.
            let is_recent = |path: &PathBuf| {
                fs::metadata(path).is_ok_and(|found| {
                    let at = found.mtime().saturating_mul(1_000_000_000);
                    at.saturating_add(found.mtime_nsec()) > since
                })
            };
            let read = there.iter().filter(|path| is_recent(path));
            turns.extend(read.filter_map(|path| Manifest::load(path).ok().flatten()));
        }
        turns.retain(|turn| turn.id() != id);
        turns.sort_by_key(Manifest::at);
        let mut others = Others::default();
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

impl Others {
    /// Whether others have told of all that was done to a path.
    pub(crate) fn have_done(&self, path: &Path, before: &State, after: &State) -> bool {
        let theirs = self.changes.get(path);
        theirs.is_some_and(|theirs| matches!(share(theirs, before, after), Share::Nothing))
    }

    /// Takes out of what a call of a turn has made what others have.
    pub(crate) fn take_out(&self, turn: &Turn, seen: &mut Vec<(PathBuf, Change)>) {
        seen.retain_mut(|(path, change)| {
            let (Some(theirs), Some(after)) = (self.changes.get(path), &change.after) else {
                return true;
            };
            let known = turn.manifest.changes.get(path);
            let before = known.and_then(|known| known.after.as_ref()).unwrap_or(&change.before);
            match share(theirs, before, after) {
                Share::Nothing => change.after = Some(before.clone()),
                Share::All => {}
                Share::UpTo(state) => change.after = Some(state),
                Share::Mixed => change.is_broken = true,
            }
            known.is_some() || !change.is_none()
        });
    }
}

/// What of a change from one state to another is not told by others.
fn share(theirs: &[Change], before: &State, after: &State) -> Share {
    let mut from = before;
    let mut is_first = true;
    for change in theirs {
        if change.before.is_alike(from) && !change.is_none() {
            is_first = false;
            match &change.after {
                Some(after) => from = after,
                // Whoever is at it tells when it is done.
                None => return Share::Nothing,
            }
        }
    }
    if from.is_alike(after) {
        return Share::Nothing;
    }
    let mut to = after;
    for change in theirs.iter().rev() {
        if change.after.as_ref().is_some_and(|after| after.is_alike(to)) {
            to = &change.before;
        }
    }
    match is_first {
        _ if to.is_alike(from) => Share::Nothing,
        // Nobody has kept what others left there before.
        false => Share::Mixed,
        true if to.is_alike(after) => Share::All,
        true => Share::UpTo(to.clone()),
    }
}

#[cfg(test)]
#[path = "others_tests.rs"]
mod tests;
