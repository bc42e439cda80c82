//! What is different between two looks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use hermes_core::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Request;
use super::sensor::Hints;
use super::snapshot::{Snapshot, Sort, Stamp};

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    Create,
    Modify,
    Delete,
    Rename,
}

const NOTHING: Stamp =
    Stamp { kind: Sort::Other, size: 0, modified: 0, mode: 0, identity: (0, 0), born: None };

/// One change: what was there and what is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) event: Event,
    pub(super) path: PathBuf,
    /// Where a renamed entry was.
    pub(super) from: Option<PathBuf>,
    /// At `path`, or at `from`.
    before: Option<Stamp>,
    /// At `path`.
    after: Option<Stamp>,
    /// What a renamed entry took the place of.
    replaced: Option<Stamp>,
}

impl Change {
    fn plain(event: Event, path: &Path, before: Option<Stamp>, after: Option<Stamp>) -> Self {
        Self { event, path: path.to_path_buf(), from: None, before, after, replaced: None }
    }

    /// What is known of the entry.
    pub(super) fn stamp(&self) -> Stamp {
        self.after.or(self.before).unwrap_or(NOTHING)
    }

    /// The size of a file that is there.
    pub(super) fn size(&self) -> Option<u64> {
        self.after.filter(|stamp| stamp.kind == Sort::File).map(|stamp| stamp.size)
    }

    /// Takes the change out of a snapshot, so that it is found again.
    pub(super) fn revert(&self, state: &mut Snapshot) {
        let Some(from) = &self.from else {
            match self.before {
                // Nothing says that the content is another; the time does.
                Some(before) if self.after == Some(before) => {
                    state.insert(self.path.clone(), Stamp { modified: i128::MIN, ..before });
                }
                Some(before) => drop(state.insert(self.path.clone(), before)),
                None => drop(state.remove(&self.path)),
            }
            return;
        };
        let below: Vec<(PathBuf, Stamp)> = state
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

/// The changes that were asked for, in the order of their paths.
pub(super) fn compare(
    old: &Snapshot,
    new: &Snapshot,
    hints: &Hints,
    request: &Request,
) -> Vec<Change> {
    let mut gone: BTreeMap<&Path, Stamp> = BTreeMap::new();
    let mut come: BTreeMap<&Path, Stamp> = BTreeMap::new();
    let mut changed: BTreeMap<&Path, (Stamp, Stamp)> = BTreeMap::new();
    for (path, stamp) in old {
        match new.get(path) {
            None => drop(gone.insert(path, *stamp)),
            // A folder where a file was is not that file.
            Some(now) if stamp.kind != now.kind => {
                gone.insert(path, *stamp);
                come.insert(path, *now);
            }
            Some(now) if !stamp.is_like(now) => drop(changed.insert(path, (*stamp, *now))),
            // Written to, and still of the same size and time.
            Some(now) if now.kind == Sort::File && hints.written.contains(path) => {
                changed.insert(path, (*stamp, *now));
            }
            Some(_) => {}
        }
    }
    come.extend(
        new.iter().filter(|(path, _)| !old.contains_key(*path)).map(|(p, s)| (p.as_path(), *s)),
    );
    let renamed = pair(&mut gone, &mut come, &mut changed, hints);
    // What goes makes room for what comes.
    let deleted =
        gone.iter().map(|(path, old)| Change::plain(Event::Delete, path, Some(*old), None));
    let mut all: Vec<Change> = deleted.chain(renamed).collect();
    all.extend(come.iter().map(|(path, new)| Change::plain(Event::Create, path, None, Some(*new))));
    all.extend(
        changed
            .iter()
            .map(|(path, (old, new))| Change::plain(Event::Modify, path, Some(*old), Some(*new))),
    );
    // Nothing is left of it but that it was there.
    let fleeting = hints.fleeting.iter();
    let fleeting =
        fleeting.filter(|(path, _)| !old.contains_key(*path) && !new.contains_key(*path));
    all.extend(fleeting.flat_map(|(path, kind)| {
        let stamp = Some(Stamp { kind: *kind, ..NOTHING });
        [Event::Create, Event::Delete].map(|event| Change::plain(event, path, stamp, None))
    }));
    let mut chosen: Vec<Change> =
        all.into_iter().flat_map(|change| choose(change, request)).collect();
    chosen.sort_by(|a, b| a.path.cmp(&b.path));
    chosen
}

/// Whether a folder is the one that was elsewhere before. Where nobody knows
/// when they were made, its time tells, or something that is still in it.
fn is_same_folder(
    from: (&Path, &Stamp),
    to: (&Path, &Stamp),
    gone: &BTreeMap<&Path, Stamp>,
    come: &BTreeMap<&Path, Stamp>,
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

/// Finds what has only another name now. A new file may have got the number
/// of one that was deleted, so size and time must agree as well, unless the
/// system has told of the renaming.
fn pair(
    gone: &mut BTreeMap<&Path, Stamp>,
    come: &mut BTreeMap<&Path, Stamp>,
    changed: &mut BTreeMap<&Path, (Stamp, Stamp)>,
    hints: &Hints,
) -> Vec<Change> {
    let mut by_identity: HashMap<(u64, u64), Vec<&Path>> = HashMap::new();
    for (path, stamp) in gone.iter().rev() {
        by_identity.entry(stamp.identity).or_default().push(path);
    }
    let moved_onto = changed.iter().filter(|(_, (old, new))| old.identity != new.identity);
    let targets: BTreeMap<&Path, (Stamp, Option<Stamp>)> = come
        .iter()
        .map(|(path, new)| (*path, (*new, None)))
        .chain(moved_onto.map(|(path, (old, new))| (*path, (*new, Some(*old)))))
        .collect();
    let mut found = Vec::new();
    for (to, (now, replaced)) in targets {
        let Some(candidates) = by_identity.get_mut(&now.identity) else { continue };
        let fits = |from: &&Path| {
            gone.get(from).is_some_and(|old| {
                let told = hints.renamed.contains(&((*from).to_path_buf(), to.to_path_buf()));
                let alike = || match now.kind {
                    Sort::Folder => is_same_folder((from, old), (to, &now), gone, come),
                    _ => old.size == now.size && old.modified == now.modified,
                };
                old.kind == now.kind && (told || alike())
            })
        };
        let Some(at) = candidates.iter().rposition(fits) else { continue };
        let from = candidates.remove(at);
        let before = gone.remove(from);
        come.remove(to);
        changed.remove(to);
        found.push(Change {
            event: Event::Rename,
            path: to.to_path_buf(),
            from: Some(from.to_path_buf()),
            before,
            after: Some(now),
            replaced,
        });
    }
    drop_implied(found)
}

/// What moved with its folder is not told by itself.
fn drop_implied(found: Vec<Change>) -> Vec<Change> {
    let folders: BTreeSet<(PathBuf, PathBuf)> = found
        .iter()
        .filter(|change| change.stamp().kind == Sort::Folder)
        .filter_map(|change| Some((change.from.clone()?, change.path.clone())))
        .collect();
    let is_implied = |change: &Change| {
        let Some(from) = &change.from else { return false };
        let above = from.ancestors().skip(1).zip(change.path.ancestors().skip(1));
        let mut names = from.iter().rev().zip(change.path.iter().rev());
        above
            .take_while(|_| names.next().is_some_and(|(old, new)| old == new))
            .any(|(old, new)| folders.contains(&(old.to_path_buf(), new.to_path_buf())))
    };
    found.into_iter().filter(|change| !is_implied(change)).collect()
}

/// The change as far as it was asked for. Who does not ask for renamings
/// sees something go and something come.
fn choose(change: Change, request: &Request) -> Vec<Change> {
    let Some(from) = &change.from else {
        let wanted = request.wants(change.event) && request.matches(&change.path);
        return if wanted { vec![change] } else { Vec::new() };
    };
    if request.wants(Event::Rename) {
        let wanted = request.matches(from) || request.matches(&change.path);
        return if wanted { vec![change] } else { Vec::new() };
    }
    let arrival = if change.replaced.is_some() { Event::Modify } else { Event::Create };
    [
        Change::plain(Event::Delete, from, change.before, None),
        Change::plain(arrival, &change.path, change.replaced, change.after),
    ]
    .into_iter()
    .filter(|part| request.wants(part.event) && request.matches(&part.path))
    .collect()
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
