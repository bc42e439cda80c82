//! What stays closed to a call in this place: what the rules over there say of
//! the path, and what only this end can see, such as where a link leads and
//! where the home is.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{AccessMode, GrantExceptions, Scope};
use hermes_policy::{PathVariables, SensitivePlaces};
use parking_lot::Mutex;

/// Places that are asked about at once. Who walks through a folder will want
/// to know of the next ones, too.
const MAX_QUERY_PATHS: usize = 2000;

/// Where no file of a user is.
const NO_HERMES_HOME: &str = "/proc/0/hermes";

/// Asks the other end which places are closed to a call by its rules; none if
/// it does not answer.
pub(crate) trait ClosedPathQuery: Send + Sync {
    fn query_closed(&self, scope: &Scope, paths: &[PathBuf]) -> Option<Vec<bool>>;
}

/// The protected places of this place. Made once.
#[derive(Debug)]
pub(crate) struct HostProtectedPaths {
    /// With the home of this place.
    all: SensitivePlaces,
    /// Those that are the same everywhere.
    home_independent: SensitivePlaces,
    home: Option<PathBuf>,
}

impl HostProtectedPaths {
    pub(crate) fn new(home: Option<PathBuf>, hermes: Option<PathBuf>) -> Self {
        let hermes = hermes.or_else(|| Some(home.as_ref()?.join(".hermes")));
        let places = |home: Option<PathBuf>, hermes: Option<PathBuf>| PathVariables {
            workspace: None,
            home,
            hermes: hermes.unwrap_or_else(|| NO_HERMES_HOME.into()),
            temp: Vec::new(),
        };
        let real = home.as_ref().and_then(|home| hermes_files::real_path(home).ok());
        Self {
            all: SensitivePlaces::new(&places(real.or_else(|| home.clone()), hermes)),
            home_independent: SensitivePlaces::new(&places(None, None)),
            home,
        }
    }

    /// Whether this end closes a place that the rules know as `written`, and
    /// have judged or will judge by that name.
    fn is_closed(&self, scope: &Scope, real: &Path, written: &Path, home: Option<&Path>) -> bool {
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
            (false, true) => refuses(&self.all) && !refuses(&self.home_independent),
            (false, false) => false,
        }
    }
}

/// Whether a file whose name speaks of keys has a private one in it. Who
/// judged the name could not look.
fn holds_private_key(real: &Path) -> bool {
    const KEY_HEAD_BYTES: u64 = 4096;
    let name = real.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
    let speaks = [&b".pem"[..], b".key", b".ppk", b"_key", b"-key"];
    if !speaks.iter().any(|end| name.ends_with(end))
        || !fs::symlink_metadata(real).is_ok_and(|found| found.is_file())
    {
        return false;
    }
    let mut head = Vec::new();
    let read =
        fs::File::open(real).and_then(|file| file.take(KEY_HEAD_BYTES).read_to_end(&mut head));
    let mark = b"PRIVATE KEY-----";
    read.is_ok()
        && (head.windows(mark.len()).any(|piece| piece == mark)
            || head.starts_with(b"PuTTY-User-Key-File"))
}

/// What stays closed to one call.
pub(crate) struct ClosedPaths {
    protected: Arc<HostProtectedPaths>,
    /// The home that the rules know.
    home: Option<PathBuf>,
    /// The working folder, by the name that the rules know, and by its real
    /// place.
    working_dirs: (PathBuf, PathBuf),
    query: Option<Arc<dyn ClosedPathQuery>>,
    cache: Mutex<HashMap<(Scope, PathBuf), bool>>,
}

impl ClosedPaths {
    pub(crate) fn new(
        guarded: Arc<HostProtectedPaths>,
        home: Option<PathBuf>,
        working: (PathBuf, PathBuf),
        asked: Option<Arc<dyn ClosedPathQuery>>,
    ) -> Self {
        Self {
            protected: guarded,
            home,
            working_dirs: working,
            query: asked,
            cache: Mutex::default(),
        }
    }

    /// The name by which the rules know a real place.
    pub(crate) fn judged_path(&self, real: &Path) -> PathBuf {
        let (written, root) = &self.working_dirs;
        match real.strip_prefix(root) {
            // `join` with nothing adds a slash.
            Ok(below) => written.join(below).components().collect(),
            Err(_) => real.to_path_buf(),
        }
    }

    /// Whether this end closes it, without asking the other one.
    pub(crate) fn is_closed_locally(&self, scope: &Scope, real: &Path, written: &Path) -> bool {
        self.protected.is_closed(scope, real, written, self.home.as_deref())
    }

    /// What the rules say of it by the name that they know. The first of the
    /// places is meant; the others will be asked about later.
    pub(crate) fn is_closed_by_rule(&self, scope: &Scope, places: &[PathBuf]) -> bool {
        let Some(asked) = &self.query else { return false };
        let names: Vec<PathBuf> = places.iter().map(|real| self.judged_path(real)).collect();
        // Without an answer, nothing is open.
        let Some(answers) = asked.query_closed(scope, &names) else { return true };
        let first = answers.first().copied().unwrap_or(true);
        if answers.len() != places.len() {
            return true;
        }
        let mut known = self.cache.lock();
        known.extend(places.iter().map(|real| (scope.clone(), real.clone())).zip(answers));
        first
    }

    fn cached(&self, scope: &Scope, real: &Path) -> Option<bool> {
        let known = self.cache.lock();
        known.get(&(scope.clone(), real.to_path_buf())).copied()
    }
}
impl GrantExceptions for ClosedPaths {
    fn denies(&self, scope: &Scope, real: &Path) -> bool {
        self.is_closed_locally(scope, real, &self.judged_path(real))
            || self
                .cached(scope, real)
                .unwrap_or_else(|| self.is_closed_by_rule(scope, &nearby_paths(real)))
    }
}

/// A place, and what is beside it and below.
fn nearby_paths(real: &Path) -> Vec<PathBuf> {
    let mut found = vec![real.to_path_buf()];
    let mut folders: VecDeque<PathBuf> = real.parent().map(Path::to_path_buf).into_iter().collect();
    while let Some(folder) = folders.pop_front() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            if found.len() >= MAX_QUERY_PATHS {
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
#[path = "closed_paths_tests.rs"]
mod tests;
