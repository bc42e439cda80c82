//! The child process's view of the user's home directory: only visible entries
//! are mounted, so nothing can be uncovered, and caches get a writable overlay.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hermes_core::{OverlayMount, PartialDir};

use crate::pattern::is_within;
use crate::permissions::PermissionPolicy;

/// Directories in the home directory where package managers and build tools
/// keep data that they can fetch or build again.
const CACHE_DIRS: &[&str] = &[
    ".bun",
    ".bundle",
    ".cabal",
    ".cache",
    ".cargo",
    ".composer",
    ".conan",
    ".conan2",
    ".conda",
    ".cpan",
    ".cpanm",
    ".deno",
    ".docker-cache",
    ".dotnet",
    ".dub",
    ".electron-gyp",
    ".expo",
    ".fnm",
    ".gem",
    ".ghcup",
    ".gradle",
    ".hex",
    ".ivy2",
    ".jbang",
    ".julia",
    ".keras",
    ".konan",
    ".lein",
    ".local",
    ".m2",
    ".mix",
    ".node-gyp",
    ".npm",
    ".npm-global",
    ".nuget",
    ".nvm",
    ".opam",
    ".pdm",
    ".pip",
    ".pixi",
    ".pnpm-store",
    ".poetry",
    ".pub-cache",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sbt",
    ".sdkman",
    ".stack",
    ".swiftpm",
    ".terraform.d",
    ".texlive",
    ".vcpkg",
    ".virtualenvs",
    ".volta",
    ".yarn",
    "go",
];

/// Overlaid even if missing: the directories that common package managers write
/// to first.
const COMMON_CACHE_DIRS: &[&str] = &[
    ".bun", ".cache", ".cargo", ".gradle", ".ivy2", ".local", ".m2", ".npm", ".nuget", ".rustup",
    ".yarn", "go",
];

/// Configuration files of package managers that include credentials: child
/// processes see them with the credentials redacted.
const REDACTED_FILES: &[&str] = &[".npmrc", ".m2/settings.xml", ".gradle/gradle.properties"];

/// Directory of the upper layers, below the hermes home.
const OVERLAY_STORE: &str = "sandbox/overlays";

/// Maximum number of directory entries read.
const MAX_ENTRIES: usize = 4096;

impl PermissionPolicy {
    /// Returns the home directory if child processes get a view of it: it must
    /// not itself be the workspace.
    fn viewed_home(&self) -> Option<&Path> {
        let places = self.path_variables();
        let home = places.home.as_deref().filter(|home| home.parent().is_some())?;
        let is_worked_in = places.workspace.iter().any(|it| is_within(home, it));
        (!is_worked_in && home.is_dir()).then_some(home)
    }

    /// Returns the configuration files that child processes see redacted.
    pub(crate) fn redacted_files(&self) -> Vec<PathBuf> {
        let Some(home) = self.viewed_home() else { return Vec::new() };
        REDACTED_FILES.iter().map(|name| home.join(name)).filter(|file| file.is_file()).collect()
    }

    /// Returns the directories that views are built from; a change in one of
    /// them rebuilds the views.
    pub(crate) fn view_directories(&self) -> impl Iterator<Item = &Path> {
        let home = self.path_variables().home.as_deref();
        let inside = move |path: &&PathBuf| home.is_some_and(|home| path.starts_with(home));
        self.sensitive().name_directories().iter().filter(inside).map(PathBuf::as_path)
    }

    /// Returns the overlays of package manager caches, with their hidden paths.
    pub(crate) fn overlays(&self, cwd: &Path) -> Vec<OverlayMount> {
        let Some(home) = self.viewed_home() else { return Vec::new() };
        let places = self.path_variables();
        let workspace = places.workspace.as_deref().unwrap_or(cwd);
        let is_place_to_work = |target: &Path| {
            let mut all = places.workspace.iter().map(PathBuf::as_path).chain([cwd]);
            all.any(|it| is_within(it, target))
                || places.temp.iter().any(|it| is_within(it, target))
        };
        let redacted = self.redacted_files();
        let mut overlays = Vec::new();
        for name in CACHE_DIRS {
            let target = home.join(name);
            let is_there = fs::symlink_metadata(&target).is_ok_and(|about| about.is_dir());
            let is_missing = fs::symlink_metadata(&target).is_err();
            let is_wanted = is_there || is_missing && COMMON_CACHE_DIRS.contains(name);
            if !is_wanted || is_place_to_work(&target) || places.hermes == target {
                continue;
            }
            let secrets = self.sensitive().named_secrets().iter().chain([&places.hermes]);
            let is_open =
                |path: &Path| self.opened_sensitive_paths().iter().any(|open| open.matches(path));
            let is_shown = |path: &Path| is_open(path) || redacted.iter().any(|it| it == path);
            let hidden = secrets
                .filter(|path| path.starts_with(&target) && **path != target && !is_shown(path))
                .filter_map(|path| path.strip_prefix(&target).ok().map(Path::to_path_buf));
            overlays.push(OverlayMount {
                hidden: hidden.collect(),
                home: home.to_owned(),
                workspace: workspace.to_owned(),
                store: places.hermes.join(OVERLAY_STORE),
                target,
            });
        }
        overlays
    }

    /// Returns the views of the home directory and of its subdirectories that
    /// contain secrets.
    pub(crate) fn views(&self, present: &[PathBuf], overlays: &[OverlayMount]) -> Vec<PartialDir> {
        let Some(home) = self.viewed_home() else { return Vec::new() };
        let is_open =
            |path: &Path| self.opened_sensitive_paths().iter().any(|open| open.matches(path));
        let is_overlaid = |path: &Path| overlays.iter().any(|it| path.starts_with(&it.target));
        let ours = &self.path_variables().hermes;
        let workspace = self.path_variables().workspace.as_deref();
        let is_project = |path: &Path| workspace.is_some_and(|it| is_within(path, it));
        let linked = self.sensitive().linked_targets();
        let named = self.sensitive().named_secrets().iter().chain(present).chain(&linked);
        let hidden: BTreeSet<&Path> = named
            .map(PathBuf::as_path)
            .filter(|path| path.starts_with(home) && *path != home && !is_within(path, ours))
            .filter(|path| !is_open(path) && !is_overlaid(path) && !is_project(path))
            .collect();
        let mut opened: BTreeSet<&Path> = BTreeSet::from([home]);
        for path in &hidden {
            let above = path.ancestors().skip(1).take_while(|above| *above != home);
            opened.extend(
                above.filter(|above| fs::symlink_metadata(above).is_ok_and(|about| about.is_dir())),
            );
        }
        // A path in a hidden directory needs no view.
        opened.retain(|path| !path.ancestors().any(|above| hidden.contains(above)));
        let view = |dir: &Path| {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MAX_ENTRIES);
            let mut open: Vec<PathBuf> = entries
                .map(|entry| entry.path())
                .filter(|path| !hidden.contains(path.as_path()))
                .collect();
            open.sort();
            PartialDir { dir: dir.to_owned(), open }
        };
        opened.into_iter().map(view).collect()
    }
}
