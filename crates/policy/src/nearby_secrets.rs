//! The secrets around a working folder: those that are there, those that may
//! come to be, and our own home, of which children see no more than they need.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use hermes_core::{OverlayMount, PartialDir, PendingSecrets};

use crate::pattern::{fold_path, is_within};
use crate::permissions::PermissionPolicy;
use crate::repositories::{self, MAX_SEARCH_DEPTH};
use crate::sensitive_places::SensitivePlaces;

/// How many names of a folder are looked at.
const MAX_NAMES: usize = 4096;

/// How many secrets further down are kept.
const MAX_DEEP_SECRETS: usize = 64;

/// What is known of the secrets around a folder.
#[derive(Debug, Clone)]
pub(crate) struct NearbySecrets {
    pub(crate) present: Vec<PathBuf>,
    pub(crate) pending: Arc<PendingSecrets>,
    pub(crate) partial_dirs: Vec<PartialDir>,
    /// Caches in the home that children change without changing the user's.
    pub(crate) overlays: Vec<OverlayMount>,
    /// Files that they see without credentials.
    pub(crate) redacted: Vec<PathBuf>,
}

impl PermissionPolicy {
    /// The secret places that are there, with those in the working folder, at
    /// the top of the workspace and some way down; and what may come to be. A
    /// burst of calls looks once, unless something was made meanwhile.
    pub(crate) fn nearby_secrets(&self, cwd: &Path) -> NearbySecrets {
        let places = self.path_variables();
        let mut folders = vec![cwd.to_path_buf()];
        folders.extend(places.workspace.clone());
        folders.dedup();
        let seen = folders.iter().chain(&places.home).map(PathBuf::as_path);
        let stamps = seen.chain(self.view_directories()).map(modified_time).collect();
        self.scan_cache().nearby_secrets(cwd, stamps, || self.scan_nearby_secrets(cwd, folders))
    }

    fn scan_nearby_secrets(&self, cwd: &Path, mut folders: Vec<PathBuf>) -> NearbySecrets {
        let is_secret = |path: &Path| self.sensitive().read_protection(&fold_path(path)).is_some();
        let mut present = self.sensitive().present_secrets();
        for folder in &folders {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
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
        for folder in self.repository_search_roots(cwd) {
            repositories::search_names(&folder, MAX_SEARCH_DEPTH, |place, level, name| {
                if level > 0 && awaited.matches_name(name) {
                    deep.push(place.join(name));
                }
                if deep.len() < MAX_DEEP_SECRETS { Some(name != ".git") } else { None }
            });
        }
        deep.retain(|path| is_secret(path));
        // Where there is one, there may be more of them.
        folders.extend(deep.iter().filter_map(|path| path.parent()).map(Path::to_path_buf));
        folders.sort();
        folders.dedup();
        present.extend(deep);
        let overlays = self.overlays(cwd);
        let mut enclosed = self.views(&present, &overlays);
        enclosed.extend(self.hermes_home_view());
        let is_enclosed = |path: &Path| {
            let is_overlaid = overlays.iter().any(|it| is_within(path, &it.target));
            is_overlaid || enclosed.iter().any(|it| is_within(path, &it.folder))
        };
        let may_come = |path: &&PathBuf| {
            !path.exists() && !is_enclosed(path) && !SensitivePlaces::is_container_socket(path)
        };
        let is_open =
            |path: &Path| self.opened_sensitive_paths().iter().any(|open| open.matches(path));
        let may_come = self.sensitive().named_secrets().iter().filter(may_come);
        awaited.paths = may_come.filter(|path| !is_open(path)).cloned().collect();
        // Whoever lays one open by name means all that is called so.
        folders.retain(|folder| !is_open(&folder.join(".env")));
        awaited.dirs = folders;
        let redacted = self.redacted_files();
        NearbySecrets {
            present,
            pending: Arc::new(awaited),
            partial_dirs: enclosed,
            overlays,
            redacted,
        }
    }

    /// Our own home, and what can be seen of it; none if a profile lays it open
    /// as a whole or it is not there.
    fn hermes_home_view(&self) -> Option<PartialDir> {
        let folder = self.path_variables().hermes.clone();
        let is_open =
            |path: &Path| self.opened_sensitive_paths().iter().any(|open| open.matches(path));
        if is_open(&folder) || is_open(&folder.join("secrets.json")) {
            return None;
        }
        let mut open = Vec::new();
        for entry in std::fs::read_dir(&folder).ok()?.flatten().take(MAX_NAMES) {
            let path = entry.path();
            // What begins with a dot is on its way to another name.
            let is_fleeting = entry.file_name().to_string_lossy().starts_with('.');
            let is_secret = self.sensitive().read_protection(&fold_path(&path)).is_some();
            if is_open(&path) || !(is_fleeting || is_secret) {
                open.push(path);
            }
        }
        open.sort();
        Some(PartialDir { folder, open })
    }
}

/// When something was last made or removed in a folder.
fn modified_time(folder: &Path) -> Option<SystemTime> {
    std::fs::metadata(folder).ok()?.modified().ok()
}
