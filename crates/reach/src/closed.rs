//! What stays closed to a call in this place: what the rules over there say of
//! the path, and what only this end can see, such as where a link leads and
//! where the home is.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hermes_core::{AccessMode, GrantExceptions, Scope};
use hermes_policy::{PathVariables, SensitivePlaces};

/// Places that are asked about at once. Who walks through a folder will want
/// to know of the next ones, too.
const BATCH: usize = 2000;

/// Where no file of a user is.
const NOWHERE: &str = "/proc/0/hermes";

/// Asks the other end which places are closed to a call by its rules; none if
/// it does not answer.
pub(crate) trait Ask: Send + Sync {
    fn ask(&self, scope: &Scope, paths: &[PathBuf]) -> Option<Vec<bool>>;
}

/// The protected places of this place. Made once.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// With the home of this place.
    all: SensitivePlaces,
    /// Those that are the same everywhere.
    general: SensitivePlaces,
    home: Option<PathBuf>,
}

impl Guarded {
    pub(crate) fn new(home: Option<PathBuf>, hermes: Option<PathBuf>) -> Self {
        let hermes = hermes.or_else(|| Some(home.as_ref()?.join(".hermes")));
        let places = |home: Option<PathBuf>, hermes: Option<PathBuf>| PathVariables {
            workspace: None,
            home,
            hermes: hermes.unwrap_or_else(|| NOWHERE.into()),
            temp: Vec::new(),
        };
        let real = home.as_ref().and_then(|home| hermes_files::real_path(home).ok());
        Self {
            all: SensitivePlaces::new(&places(real.or_else(|| home.clone()), hermes)),
            general: SensitivePlaces::new(&places(None, None)),
            home,
        }
    }

    /// Whether this end closes a place that the rules know as `written`, and
    /// have judged or will judge by that name.
    fn closes(&self, scope: &Scope, real: &Path, written: &Path, home: Option<&Path>) -> bool {
        let folded = hermes_policy::fold_path(real);
        let refuses = |rules: &SensitivePlaces| match scope.access() {
            AccessMode::Shared => rules.read_protection(&folded).is_some(),
            AccessMode::Exclusive => rules.write_protection(&folded).is_some(),
        };
        if scope.access() == AccessMode::Shared && holds_private_key(real) {
            return true;
        }
        // By another name it was not judged for what it is; in another home,
        // not for whose it is. Otherwise the rules have the say: they may have
        // laid it open.
        let is_led = real != written;
        let is_strange = home.is_none() || home != self.home.as_deref();
        match (is_led, is_strange) {
            (true, _) => refuses(&self.all),
            (false, true) => refuses(&self.all) && !refuses(&self.general),
            (false, false) => false,
        }
    }
}

/// Whether a file whose name speaks of keys has a private one in it. Who
/// judged the name could not look.
fn holds_private_key(real: &Path) -> bool {
    const FIRST: u64 = 4096;
    let name = real.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
    let speaks = [&b".pem"[..], b".key", b".ppk", b"_key", b"-key"];
    if !speaks.iter().any(|end| name.ends_with(end))
        || !fs::symlink_metadata(real).is_ok_and(|found| found.is_file())
    {
        return false;
    }
    let mut head = Vec::new();
    let read = fs::File::open(real).and_then(|file| file.take(FIRST).read_to_end(&mut head));
    let mark = b"PRIVATE KEY-----";
    read.is_ok()
        && (head.windows(mark.len()).any(|piece| piece == mark)
            || head.starts_with(b"PuTTY-User-Key-File"))
}

/// What stays closed to one call.
pub(crate) struct Closed {
    guarded: Arc<Guarded>,
    /// The home that the rules know.
    home: Option<PathBuf>,
    /// The working folder, by the name that the rules know, and by its real
    /// place.
    working: (PathBuf, PathBuf),
    asked: Option<Arc<dyn Ask>>,
    known: Mutex<HashMap<(Scope, PathBuf), bool>>,
}

impl Closed {
    pub(crate) fn new(
        guarded: Arc<Guarded>,
        home: Option<PathBuf>,
        working: (PathBuf, PathBuf),
        asked: Option<Arc<dyn Ask>>,
    ) -> Self {
        Self { guarded, home, working, asked, known: Mutex::default() }
    }

    /// The name by which the rules know a real place.
    pub(crate) fn written(&self, real: &Path) -> PathBuf {
        let (written, root) = &self.working;
        match real.strip_prefix(root) {
            // `join` with nothing adds a slash.
            Ok(below) => written.join(below).components().collect(),
            Err(_) => real.to_path_buf(),
        }
    }

    /// Whether this end closes it, without asking the other one.
    pub(crate) fn closes_here(&self, scope: &Scope, real: &Path, written: &Path) -> bool {
        self.guarded.closes(scope, real, written, self.home.as_deref())
    }

    /// What the rules say of it by the name that they know. The first of the
    /// places is meant; the others will be asked about later.
    pub(crate) fn closes_by_rule(&self, scope: &Scope, places: &[PathBuf]) -> bool {
        let Some(asked) = &self.asked else { return false };
        let names: Vec<PathBuf> = places.iter().map(|real| self.written(real)).collect();
        // Without an answer, nothing is open.
        let Some(answers) = asked.ask(scope, &names) else { return true };
        let first = answers.first().copied().unwrap_or(true);
        if answers.len() != places.len() {
            return true;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(places.iter().map(|real| (scope.clone(), real.clone())).zip(answers));
        first
    }

    fn known(&self, scope: &Scope, real: &Path) -> Option<bool> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(scope.clone(), real.to_path_buf())).copied()
    }
}
impl GrantExceptions for Closed {
    fn denies(&self, scope: &Scope, real: &Path) -> bool {
        self.closes_here(scope, real, &self.written(real))
            || self.known(scope, real).unwrap_or_else(|| self.closes_by_rule(scope, &gather(real)))
    }
}

/// A place, and what is beside it and below.
fn gather(real: &Path) -> Vec<PathBuf> {
    let mut found = vec![real.to_path_buf()];
    let mut folders: VecDeque<PathBuf> = real.parent().map(Path::to_path_buf).into_iter().collect();
    while let Some(folder) = folders.pop_front() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            if found.len() >= BATCH {
                return found;
            }
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push_back(path.clone());
            }
            if path != real {
                found.push(path);
            }
        }
    }
    found
}

#[cfg(test)]
#[path = "closed_tests.rs"]
mod tests;
