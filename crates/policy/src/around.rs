//! The secrets around a working folder: those that are there, those that may
//! come to be, and our own home, of which children see no more than they need.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use hermes_core::{PendingSecrets, PartialDir, OverlayMount};

use crate::pattern::{fold, is_within};
use crate::permissions::Permissions;
use crate::repositories::{self, LEVELS};
use crate::sensitive::Sensitive;

/// How many names of a folder are looked at.
const MOST_NAMES: usize = 4096;

/// How many secrets further down are kept.
const MOST: usize = 64;

/// What is known of the secrets around a folder.
#[derive(Debug, Clone)]
pub(crate) struct Around {
    pub(crate) present: Vec<PathBuf>,
    pub(crate) awaited: Arc<PendingSecrets>,
    pub(crate) enclosed: Vec<PartialDir>,
    /// Caches in the home that children change without changing the user's.
    pub(crate) overlays: Vec<OverlayMount>,
    /// Files that they see without credentials.
    pub(crate) redacted: Vec<PathBuf>,
}

impl Permissions {
    /// The secret places that are there, with those in the working folder, at
    /// the top of the workspace and some way down; and what may come to be. A
    /// burst of calls looks once, unless something was made meanwhile.
    pub(crate) fn around(&self, cwd: &Path) -> Around {
        let places = self.places();
        let mut folders = vec![cwd.to_path_buf()];
        folders.extend(places.workspace.clone());
        folders.dedup();
        let seen = folders.iter().chain(&places.home).map(PathBuf::as_path);
        let stamps = seen.chain(self.view_directories()).map(changed).collect();
        self.sightings().around(cwd, stamps, || self.look_around(cwd, folders))
    }

    fn look_around(&self, cwd: &Path, mut folders: Vec<PathBuf>) -> Around {
        let is_secret = |path: &Path| self.sensitive().refuses_read(&fold(path)).is_some();
        let mut present = self.sensitive().present();
        for folder in &folders {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let paths = entries.take(MOST_NAMES).map(|entry| entry.path());
            present.extend(paths.filter(|path| is_secret(path)));
        }
        let (names, except) = Sensitive::anywhere();
        let mut awaited = PendingSecrets { name_patterns: names, excluded_patterns: except, ..PendingSecrets::default() };
        let mut deep = Vec::new();
        for folder in self.searched(cwd) {
            repositories::search(&folder, LEVELS, |place, level, name| {
                if level > 0 && awaited.matches_name(name) {
                    deep.push(place.join(name));
                }
                if deep.len() < MOST { Some(name != ".git") } else { None }
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
        enclosed.extend(self.enclosure());
        let is_enclosed = |path: &Path| {
            let is_overlaid = overlays.iter().any(|it| is_within(path, &it.target));
            is_overlaid || enclosed.iter().any(|it| is_within(path, &it.folder))
        };
        let may_come =
            |path: &&PathBuf| !path.exists() && !is_enclosed(path) && !Sensitive::is_engine(path);
        let is_open = |path: &Path| self.laid_open().iter().any(|open| open.matches(path));
        let may_come = self.sensitive().named().iter().filter(may_come);
        awaited.paths = may_come.filter(|path| !is_open(path)).cloned().collect();
        // Whoever lays one open by name means all that is called so.
        folders.retain(|folder| !is_open(&folder.join(".env")));
        awaited.dirs = folders;
        let redacted = self.redacted_files();
        Around { present, awaited: Arc::new(awaited), enclosed, overlays, redacted }
    }

    /// Our own home, and what can be seen of it; none if a profile lays it open
    /// as a whole or it is not there.
    fn enclosure(&self) -> Option<PartialDir> {
        let folder = self.places().hermes.clone();
        let is_open = |path: &Path| self.laid_open().iter().any(|open| open.matches(path));
        if is_open(&folder) || is_open(&folder.join("secrets.json")) {
            return None;
        }
        let mut open = Vec::new();
        for entry in std::fs::read_dir(&folder).ok()?.flatten().take(MOST_NAMES) {
            let path = entry.path();
            // What begins with a dot is on its way to another name.
            let is_fleeting = entry.file_name().to_string_lossy().starts_with('.');
            let is_secret = self.sensitive().refuses_read(&fold(&path)).is_some();
            if is_open(&path) || !(is_fleeting || is_secret) {
                open.push(path);
            }
        }
        open.sort();
        Some(PartialDir { folder, open })
    }
}

/// When something was last made or removed in a folder.
fn changed(folder: &Path) -> Option<SystemTime> {
    std::fs::metadata(folder).ok()?.modified().ok()
}
