//! Secrets near a working directory: those that exist, those that may appear
//! later, and the hermes home, of which child processes see only what they
//! need.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use hermes_core::{OverlayMount, PartialDir, PendingSecrets};

use crate::pattern::{fold_path, is_within};
use crate::permissions::PermissionPolicy;
use crate::repositories::{self, MAX_SEARCH_DEPTH};
use crate::sensitive_places::SensitivePlaces;

/// Maximum number of directory entries examined.
const MAX_NAMES: usize = 4096;

/// Maximum number of secrets kept from subdirectories.
const MAX_DEEP_SECRETS: usize = 64;

/// Secrets near a directory.
#[derive(Debug, Clone)]
pub(crate) struct NearbySecrets {
    pub(crate) present: Vec<PathBuf>,
    pub(crate) pending: Arc<PendingSecrets>,
    pub(crate) partial_dirs: Vec<PartialDir>,
    /// Caches in the home directory whose changes by child processes go to an
    /// overlay.
    pub(crate) overlays: Vec<OverlayMount>,
    /// Files that child processes see with credentials redacted.
    pub(crate) redacted: Vec<PathBuf>,
}

impl PermissionPolicy {
    /// Returns the secrets that exist, including those in the working
    /// directory, at the top of the workspace and some levels down, and those
    /// that may appear later. A burst of calls scans once, unless a directory
    /// changes.
    pub(crate) fn nearby_secrets(&self, cwd: &Path) -> NearbySecrets {
        let places = self.path_variables();
        let mut dirs = vec![cwd.to_path_buf()];
        dirs.extend(places.workspace.clone());
        dirs.dedup();
        let seen = dirs.iter().chain(&places.home).map(PathBuf::as_path);
        let stamps = seen.chain(self.view_directories()).map(modified_time).collect();
        self.scan_cache().nearby_secrets(cwd, stamps, || self.scan_nearby_secrets(cwd, dirs))
    }

    fn scan_nearby_secrets(&self, cwd: &Path, mut dirs: Vec<PathBuf>) -> NearbySecrets {
        let is_secret = |path: &Path| self.sensitive().read_protection(&fold_path(path)).is_some();
        let mut present = self.sensitive().present_secrets();
        for dir in &dirs {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let paths = entries.take(MAX_NAMES).map(|entry| entry.path());
            present.extend(paths.filter(|path| is_secret(path)));
        }
        let (names, except) = SensitivePlaces::secret_name_patterns();
        let mut awaited = PendingSecrets {
            name_patterns: names,
            excluded_patterns: except,
            ..PendingSecrets::default()
        };
        let mut deep = Vec::new();
        for dir in self.repository_search_roots(cwd) {
            repositories::search_names(&dir, MAX_SEARCH_DEPTH, |place, level, name| {
                if level > 0 && awaited.matches_name(name) {
                    deep.push(place.join(name));
                }
                if deep.len() < MAX_DEEP_SECRETS { Some(name != ".git") } else { None }
            });
        }
        deep.retain(|path| is_secret(path));
        // A directory with one secret may get more.
        dirs.extend(deep.iter().filter_map(|path| path.parent()).map(Path::to_path_buf));
        dirs.sort();
        dirs.dedup();
        present.extend(deep);
        let overlays = self.overlays(cwd);
        let mut enclosed = self.views(&present, &overlays);
        enclosed.extend(self.hermes_home_view());
        let is_enclosed = |path: &Path| {
            let is_overlaid = overlays.iter().any(|it| is_within(path, &it.target));
            is_overlaid || enclosed.iter().any(|it| is_within(path, &it.dir))
        };
        let may_come = |path: &&PathBuf| {
            !path.exists() && !is_enclosed(path) && !SensitivePlaces::is_container_socket(path)
        };
        let is_open =
            |path: &Path| self.opened_sensitive_paths().iter().any(|open| open.matches(path));
        let may_come = self.sensitive().named_secrets().iter().filter(may_come);
        awaited.paths = may_come.filter(|path| !is_open(path)).cloned().collect();
        // Opening one `.env` file by name opens all files of that name.
        dirs.retain(|dir| !is_open(&dir.join(".env")));
        awaited.dirs = dirs;
        let redacted = self.redacted_files();
        NearbySecrets {
            present,
            pending: Arc::new(awaited),
            partial_dirs: enclosed,
            overlays,
            redacted,
        }
    }

    /// Returns the hermes home with the entries that are visible; `None` if it
    /// does not exist or the profile opens it entirely.
    fn hermes_home_view(&self) -> Option<PartialDir> {
        let dir = self.path_variables().hermes.clone();
        let is_open =
            |path: &Path| self.opened_sensitive_paths().iter().any(|open| open.matches(path));
        if is_open(&dir) || is_open(&dir.join("secrets.json")) {
            return None;
        }
        let mut open = Vec::new();
        for entry in std::fs::read_dir(&dir).ok()?.flatten().take(MAX_NAMES) {
            let path = entry.path();
            // A leading dot marks a temporary file that is about to be renamed.
            let is_fleeting = entry.file_name().to_string_lossy().starts_with('.');
            let is_secret = self.sensitive().read_protection(&fold_path(&path)).is_some();
            if is_open(&path) || !(is_fleeting || is_secret) {
                open.push(path);
            }
        }
        open.sort();
        Some(PartialDir { dir, open })
    }
}

/// Returns when an entry was last created or removed in a directory.
fn modified_time(dir: &Path) -> Option<SystemTime> {
    std::fs::metadata(dir).ok()?.modified().ok()
}
