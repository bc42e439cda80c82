//! Differences between two snapshots.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use hermes_core::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WatchRequest;
use super::event_source::ChangeHints;
use super::snapshot::{EntryStamp, EntryType, TreeSnapshot};

/// Kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WatchEvent {
    Create,
    Modify,
    Delete,
    Rename,
}

const EMPTY_STAMP: EntryStamp = EntryStamp {
    kind: EntryType::Other,
    size: 0,
    modified: 0,
    mode: 0,
    identity: (0, 0),
    born: None,
};

/// One change, with the entry before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WatchChange {
    pub(super) event: WatchEvent,
    pub(super) path: PathBuf,
    /// Previous path of a renamed entry.
    pub(super) from: Option<PathBuf>,
    /// State before, at `path` or at `from`.
    before: Option<EntryStamp>,
    /// State after, at `path`.
    after: Option<EntryStamp>,
    /// The entry that a rename replaced.
    replaced: Option<EntryStamp>,
}

impl WatchChange {
    fn without_rename(
        event: WatchEvent,
        path: &Path,
        before: Option<EntryStamp>,
        after: Option<EntryStamp>,
    ) -> Self {
        Self { event, path: path.to_path_buf(), from: None, before, after, replaced: None }
    }

    /// Returns the latest known state of the entry.
    pub(super) fn stamp(&self) -> EntryStamp {
        self.after.or(self.before).unwrap_or(EMPTY_STAMP)
    }

    /// Returns the size, if the entry is an existing file.
    pub(super) fn size(&self) -> Option<u64> {
        self.after.filter(|stamp| stamp.kind == EntryType::File).map(|stamp| stamp.size)
    }

    /// Removes the change from a snapshot, so the next comparison finds it
    /// again.
    pub(super) fn revert(&self, state: &mut TreeSnapshot) {
        let Some(from) = &self.from else {
            match self.before {
                // The stamps are equal; an impossible time makes them differ.
                Some(before) if self.after == Some(before) => {
                    state.insert(self.path.clone(), EntryStamp { modified: i128::MIN, ..before });
                }
                Some(before) => drop(state.insert(self.path.clone(), before)),
                None => drop(state.remove(&self.path)),
            }
            return;
        };
        let below: Vec<(PathBuf, EntryStamp)> = state
            .range(self.path.clone()..)
            .take_while(|(path, _)| path.starts_with(&self.path))
            .map(|(path, stamp)| (path.clone(), *stamp))
            .collect();
        for (path, stamp) in below {
            state.remove(&path);
            let rest = path.strip_prefix(&self.path).unwrap_or(Path::new(""));
            let old = if rest.as_os_str().is_empty() { from.clone() } else { from.join(rest) };
            state.insert(old, stamp);
        }
        if let Some(before) = self.before {
            state.insert(from.clone(), before);
        }
        if let Some(replaced) = self.replaced {
            state.insert(self.path.clone(), replaced);
        }
    }
}

/// Returns the requested changes, sorted by path.
pub(super) fn compare(
    old: &TreeSnapshot,
    new: &TreeSnapshot,
    hints: &ChangeHints,
    request: &WatchRequest,
) -> Vec<WatchChange> {
    let mut gone: BTreeMap<&Path, EntryStamp> = BTreeMap::new();
    let mut come: BTreeMap<&Path, EntryStamp> = BTreeMap::new();
    let mut changed: BTreeMap<&Path, (EntryStamp, EntryStamp)> = BTreeMap::new();
    for (path, stamp) in old {
        match new.get(path) {
            None => drop(gone.insert(path, *stamp)),
            // A change of type is a delete and a create.
            Some(now) if stamp.kind != now.kind => {
                gone.insert(path, *stamp);
                come.insert(path, *now);
            }
            Some(now) if !stamp.is_equivalent(now) => drop(changed.insert(path, (*stamp, *now))),
            // Written, but with the same size and time.
            Some(now) if now.kind == EntryType::File && hints.written.contains(path) => {
                changed.insert(path, (*stamp, *now));
            }
            Some(_) => {}
        }
    }
    come.extend(
        new.iter().filter(|(path, _)| !old.contains_key(*path)).map(|(p, s)| (p.as_path(), *s)),
    );
    let renamed = pair_renames(&mut gone, &mut come, &mut changed, hints);
    // Deletes come first, so paths are free for creates.
    let deleted = gone
        .iter()
        .map(|(path, old)| WatchChange::without_rename(WatchEvent::Delete, path, Some(*old), None));
    let mut all: Vec<WatchChange> = deleted.chain(renamed).collect();
    all.extend(come.iter().map(|(path, new)| {
        WatchChange::without_rename(WatchEvent::Create, path, None, Some(*new))
    }));
    all.extend(changed.iter().map(|(path, (old, new))| {
        WatchChange::without_rename(WatchEvent::Modify, path, Some(*old), Some(*new))
    }));
    // Created and deleted between two scans.
    let fleeting = hints.transient.iter();
    let fleeting =
        fleeting.filter(|(path, _)| !old.contains_key(*path) && !new.contains_key(*path));
    all.extend(fleeting.flat_map(|(path, kind)| {
        let stamp = Some(EntryStamp { kind: *kind, ..EMPTY_STAMP });
        [WatchEvent::Create, WatchEvent::Delete]
            .map(|event| WatchChange::without_rename(event, path, stamp, None))
    }));
    let mut chosen: Vec<WatchChange> =
        all.into_iter().flat_map(|change| select_requested(change, request)).collect();
    chosen.sort_by(|a, b| a.path.cmp(&b.path));
    chosen
}

/// Whether a directory is the same one as before a move. Without birth times,
/// compares modification times, or looks for an entry that is still in it.
fn is_same_dir(
    from: (&Path, &EntryStamp),
    to: (&Path, &EntryStamp),
    gone: &BTreeMap<&Path, EntryStamp>,
    come: &BTreeMap<&Path, EntryStamp>,
) -> bool {
    if let (Some(before), Some(now)) = (from.1.born, to.1.born) {
        return before == now;
    }
    let below = gone.range(from.0..).skip(1).take_while(|(path, _)| path.starts_with(from.0));
    let mut still = below.filter_map(|(path, old)| {
        let now = come.get(&*to.0.join(path.strip_prefix(from.0).ok()?))?;
        Some(now.identity == old.identity)
    });
    from.1.modified == to.1.modified || still.any(|is_same| is_same)
}

/// Finds renames. A new file may reuse the inode of a deleted one, so size and
/// time must match as well, unless the system reported the rename.
fn pair_renames(
    gone: &mut BTreeMap<&Path, EntryStamp>,
    come: &mut BTreeMap<&Path, EntryStamp>,
    changed: &mut BTreeMap<&Path, (EntryStamp, EntryStamp)>,
    hints: &ChangeHints,
) -> Vec<WatchChange> {
    let mut by_identity: HashMap<(u64, u64), Vec<&Path>> = HashMap::new();
    for (path, stamp) in gone.iter().rev() {
        by_identity.entry(stamp.identity).or_default().push(path);
    }
    let moved_onto = changed.iter().filter(|(_, (old, new))| old.identity != new.identity);
    let targets: BTreeMap<&Path, (EntryStamp, Option<EntryStamp>)> = come
        .iter()
        .map(|(path, new)| (*path, (*new, None)))
        .chain(moved_onto.map(|(path, (old, new))| (*path, (*new, Some(*old)))))
        .collect();
    let mut found = Vec::new();
    for (to, (now, replaced)) in targets {
        let Some(candidates) = by_identity.get_mut(&now.identity) else { continue };
        let fits = |from: &&Path| {
            gone.get(from).is_some_and(|old| {
                let shown = hints.renamed.contains(&((*from).to_path_buf(), to.to_path_buf()));
                let alike = || match now.kind {
                    EntryType::Directory => is_same_dir((from, old), (to, &now), gone, come),
                    _ => old.size == now.size && old.modified == now.modified,
                };
                old.kind == now.kind && (shown || alike())
            })
        };
        let Some(at) = candidates.iter().rposition(fits) else { continue };
        let from = candidates.remove(at);
        let before = gone.remove(from);
        come.remove(to);
        changed.remove(to);
        found.push(WatchChange {
            event: WatchEvent::Rename,
            path: to.to_path_buf(),
            from: Some(from.to_path_buf()),
            before,
            after: Some(now),
            replaced,
        });
    }
    drop_implied(found)
}

/// Drops renames implied by the rename of their directory.
fn drop_implied(found: Vec<WatchChange>) -> Vec<WatchChange> {
    let dirs: BTreeSet<(PathBuf, PathBuf)> = found
        .iter()
        .filter(|change| change.stamp().kind == EntryType::Directory)
        .filter_map(|change| Some((change.from.clone()?, change.path.clone())))
        .collect();
    let is_implied = |change: &WatchChange| {
        let Some(from) = &change.from else { return false };
        let above = from.ancestors().skip(1).zip(change.path.ancestors().skip(1));
        let mut names = from.iter().rev().zip(change.path.iter().rev());
        above
            .take_while(|_| names.next().is_some_and(|(old, new)| old == new))
            .any(|(old, new)| dirs.contains(&(old.to_path_buf(), new.to_path_buf())))
    };
    found.into_iter().filter(|change| !is_implied(change)).collect()
}

/// Filters a change by the request. If renames are not requested, a rename
/// becomes a delete and a create.
fn select_requested(change: WatchChange, request: &WatchRequest) -> Vec<WatchChange> {
    let Some(from) = &change.from else {
        let wanted = request.wants(change.event) && request.matches(&change.path);
        return if wanted { vec![change] } else { Vec::new() };
    };
    if request.wants(WatchEvent::Rename) {
        let wanted = request.matches(from) || request.matches(&change.path);
        return if wanted { vec![change] } else { Vec::new() };
    }
    let arrival = if change.replaced.is_some() { WatchEvent::Modify } else { WatchEvent::Create };
    [
        WatchChange::without_rename(WatchEvent::Delete, from, change.before, None),
        WatchChange::without_rename(arrival, &change.path, change.replaced, change.after),
    ]
    .into_iter()
    .filter(|part| request.wants(part.event) && request.matches(&part.path))
    .collect()
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
