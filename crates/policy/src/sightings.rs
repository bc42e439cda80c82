//! What was seen a moment ago.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::around::Around;
use crate::repositories::{Case, Kept};

/// How long a look at the files counts. A child process that starts later is
/// looked after anew.
const FRESH: Duration = Duration::from_millis(500);

/// More places are not kept.
const MOST: usize = 1024;
const MOST_CASES: usize = 16;

/// The last looks. They serve the bounds of child processes, which are made
/// for every command; what a call itself touches is always looked up anew.
#[derive(Debug, Default)]
pub(crate) struct Sightings(Mutex<Option<Seen>>);

#[derive(Debug)]
struct Seen {
    since: Instant,
    kept: Vec<(Case, Kept)>,
    around: HashMap<PathBuf, (Vec<Option<SystemTime>>, Around)>,
    places: HashMap<PathBuf, Vec<PathBuf>>,
    linked: HashMap<PathBuf, Vec<PathBuf>>,
    there: Looks,
    folders: Looks,
    empty: Looks,
    real: Looks,
}

/// Paths by how they are written: to take each apart would take longer than
/// the few looks that are made twice.
type Looks = HashMap<OsString, bool, foldhash::fast::RandomState>;

impl Sightings {
    fn with<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stale = |seen: &mut Seen| {
            let kept = seen.there.len() + seen.folders.len() + seen.real.len();
            seen.since.elapsed() >= FRESH || kept >= MOST
        };
        // In its place: it is asked for many a time with every command.
        last.take_if(is_stale);
        look(last.get_or_insert_with(|| Seen {
            since: Instant::now(),
            kept: Vec::new(),
            around: HashMap::new(),
            places: HashMap::new(),
            linked: HashMap::new(),
            there: Looks::default(),
            folders: Looks::default(),
            empty: Looks::default(),
            real: Looks::default(),
        }))
    }

    /// What stays as it is in a case, by what was seen.
    pub(crate) fn kept(&self, case: Case, look: impl FnOnce(&Case) -> Kept) -> Kept {
        let (since, known) = self.with(|seen| {
            let known = seen.kept.iter().find(|(known, _)| *known == case);
            (seen.since, known.map(|(_, kept)| kept.clone()))
        });
        known.unwrap_or_else(|| {
            let kept = look(&case);
            self.with(|seen| {
                // A part of it may be from before, and counts no longer than that.
                if seen.since == since && seen.kept.len() < MOST_CASES {
                    seen.kept.push((case, kept.clone()));
                }
            });
            kept
        })
    }

    /// The secrets around a folder, as long as the folders that they are looked
    /// for in bear the same stamps.
    pub(crate) fn around(
        &self,
        from: &Path,
        stamps: Vec<Option<SystemTime>>,
        look: impl FnOnce() -> Around,
    ) -> Around {
        self.with(|seen| match seen.around.get(from) {
            Some((then, found)) if *then == stamps => found.clone(),
            _ => seen.around.entry(from.to_owned()).insert_entry((stamps, look())).get().1.clone(),
        })
    }

    /// What was found when that folder was searched.
    pub(crate) fn places(&self, at: &Path, look: impl FnOnce() -> Vec<PathBuf>) -> Vec<PathBuf> {
        self.with(|seen| match seen.places.get(at) {
            Some(found) => found.clone(),
            None => seen.places.entry(at.to_owned()).or_insert(look()).clone(),
        })
    }

    /// The repositories that working trees from that folder up lead to.
    pub(crate) fn linked(&self, from: &Path, look: impl FnOnce() -> Vec<PathBuf>) -> Vec<PathBuf> {
        self.with(|seen| match seen.linked.get(from) {
            Some(found) => found.clone(),
            None => seen.linked.entry(from.to_owned()).or_insert(look()).clone(),
        })
    }

    /// Whether there is something at a path.
    pub(crate) fn exists(&self, path: &Path) -> bool {
        self.with(|seen| remember(&mut seen.there, path, Path::exists))
    }

    /// Whether a folder has nothing in it.
    pub(crate) fn is_empty(&self, folder: &Path) -> bool {
        let look =
            |path: &Path| std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        self.with(|seen| remember(&mut seen.empty, folder, look))
    }

    /// Whether there is a folder at a path.
    pub(crate) fn is_folder(&self, path: &Path) -> bool {
        self.with(|seen| remember(&mut seen.folders, path, Path::is_dir))
    }

    /// Whether a path is a real place: no link is in it.
    pub(crate) fn is_real(&self, path: &Path) -> bool {
        let look = |path: &Path| hermes_files::real_path(path).is_ok_and(|real| real == path);
        self.with(|seen| remember(&mut seen.real, path, look))
    }
}

fn remember(known: &mut Looks, path: &Path, look: impl FnOnce(&Path) -> bool) -> bool {
    match known.get(path.as_os_str()) {
        Some(answer) => *answer,
        None => *known.entry(path.into()).or_insert(look(path)),
    }
}

#[cfg(test)]
#[path = "sightings_tests.rs"]
mod tests;
