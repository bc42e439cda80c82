//! The paths closed to a call on this host: by the rules of the local end, and
//! by what only this end can see, such as symlink targets and the home
//! directory.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{AccessMode, GrantExceptions, Scope};
use hermes_policy::{PathVariables, SensitivePlaces};
use parking_lot::Mutex;

/// Maximum number of paths per query. A directory walk will need the next ones
/// too.
const MAX_QUERY_PATHS: usize = 2000;

/// A path where no user file exists.
const NO_HERMES_HOME: &str = "/proc/0/hermes";

/// Asks the local end which paths its rules close to a call; `None` without a
/// response.
pub(crate) trait ClosedPathQuery: Send + Sync {
    fn query_closed(&self, scope: &Scope, paths: &[PathBuf]) -> Option<Vec<bool>>;
}

/// The protected paths of this host. Built once.
#[derive(Debug)]
pub(crate) struct HostProtectedPaths {
    /// With the home directory of this host.
    all: SensitivePlaces,
    /// Those that do not depend on the home directory.
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

    /// Whether this end closes a path that the rules know, and judge, as
    /// `written`.
    fn is_closed(&self, scope: &Scope, real: &Path, written: &Path, home: Option<&Path>) -> bool {
        let folded = hermes_policy::fold_path(real);
        let refuses = |rules: &SensitivePlaces| match scope.access() {
            AccessMode::Shared => rules.read_protection(&folded).is_some(),
            AccessMode::Exclusive => rules.write_protection(&folded).is_some(),
        };
        if scope.access() == AccessMode::Shared && holds_private_key(real) {
            return true;
        }
        // Under another name, the rules did not judge the real target; with
        // another home directory, they did not judge it as the user's.
        // Otherwise the rules decide: they may have opened it.
        let is_led = real != written;
        let is_strange = home.is_none() || home != self.home.as_deref();
        match (is_led, is_strange) {
            (true, _) => refuses(&self.all),
            (false, true) => refuses(&self.all) && !refuses(&self.home_independent),
            (false, false) => false,
        }
    }
}

/// Whether a file whose name suggests a key contains a private one. The rules
/// could not read the file.
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

/// The paths closed to one call.
pub(crate) struct ClosedPaths {
    protected: Arc<HostProtectedPaths>,
    /// The home directory that the rules know.
    home: Option<PathBuf>,
    /// The working directory, as the rules know it and canonicalized.
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

    /// Returns the path by which the rules know a canonical path.
    pub(crate) fn judged_path(&self, real: &Path) -> PathBuf {
        let (written, root) = &self.working_dirs;
        match real.strip_prefix(root) {
            // `join` with an empty path adds a slash.
            Ok(below) => written.join(below).components().collect(),
            Err(_) => real.to_path_buf(),
        }
    }

    /// Whether this end closes a path, without a query.
    pub(crate) fn is_closed_locally(&self, scope: &Scope, real: &Path, written: &Path) -> bool {
        self.protected.is_closed(scope, real, written, self.home.as_deref())
    }

    /// Whether the rules close a path, by the name that they know. The answer
    /// is for the first path; the others are cached for later.
    pub(crate) fn is_closed_by_rule(&self, scope: &Scope, places: &[PathBuf]) -> bool {
        let Some(asked) = &self.query else { return false };
        let names: Vec<PathBuf> = places.iter().map(|real| self.judged_path(real)).collect();
        // Without a response, everything is closed.
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
        if self.is_closed_locally(scope, real, &self.judged_path(real)) {
            return true;
        }
        // Collecting the paths for a query is expensive.
        self.query.is_some()
            && self
                .cached(scope, real)
                .unwrap_or_else(|| self.is_closed_by_rule(scope, &nearby_paths(real)))
    }
}

/// Returns a path, its siblings and what is below them.
fn nearby_paths(real: &Path) -> Vec<PathBuf> {
    let mut found = vec![real.to_path_buf()];
    let mut dirs: VecDeque<PathBuf> = real.parent().map(Path::to_path_buf).into_iter().collect();
    while let Some(dir) = dirs.pop_front() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            if found.len() >= MAX_QUERY_PATHS {
                return found;
            }
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                dirs.push_back(path.clone());
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
