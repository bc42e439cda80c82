//! The parts of a Git repository that later programs run or trust (hooks and
//! settings), and the pointers that locate them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scan_cache::FsScanCache;

/// How a call uses a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RepositoryUse {
    /// Any program may commit: write the index, objects, refs and logs.
    Commit,
    /// Git runs and may change settings.
    ChangeSettings,
}

/// Cache key for [`FrozenPaths`]: everything they depend on besides the rules
/// and the file system.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrozenPathsKey {
    /// The writable trees.
    pub(crate) write: Vec<PathBuf>,
    /// The working directory.
    pub(crate) cwd: PathBuf,
    /// The paths that the call declares it deletes.
    pub(crate) deleted: Vec<PathBuf>,
    /// Whether git runs with write access, and whether it may change settings.
    pub(crate) git_runs: bool,
    pub(crate) may_change_settings: bool,
    /// Whether git removes untracked files.
    pub(crate) only_git_clean: bool,
}

/// Paths that must not change, by how they are enforced; see `Confinement`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FrozenPaths {
    pub(crate) read_only: Vec<PathBuf>,
    pub(crate) frozen_nested: Vec<PathBuf>,
    pub(crate) masked_missing: Vec<PathBuf>,
    pub(crate) quarantined: Vec<PathBuf>,
}

/// Files in a repository that programs run or obey and that git never writes on
/// its own.
const ALWAYS_FROZEN_FILES: &[&str] = &["hooks", "info/attributes"];

/// Like [`ALWAYS_FROZEN_FILES`], but writable when git itself changes settings.
const SETTINGS_FILES: &[&str] = &["config", "config.worktree", "commondir", "gitdir"];

/// The directory with the hooks.
const HOOKS_DIR: &str = "hooks";
/// Settings of one working tree. An empty file has no effect.
const WORKTREE_SETTINGS_FILE: &str = "config.worktree";
/// Points to another repository, and so to other settings and hooks.
const COMMONDIR_FILE: &str = "commondir";

/// Limits of the search for repositories: depth below a directory, directories
/// and names visited, and repositories kept.
pub(crate) const MAX_SEARCH_DEPTH: usize = 3;
const MAX_SEARCHED_DIRS: usize = 256;
const MAX_SEARCHED_NAMES: usize = 16_384;
const MAX_REPOSITORIES: usize = 32;
/// Search depth in the directory for temporary files, which other users share.
pub(crate) const MAX_TEMP_SEARCH_DEPTH: usize = 2;

/// Directories not worth searching.
const SKIPPED_DIRS: &[&str] = &["node_modules", "target", "__pycache__", ".venv", "venv"];

impl FrozenPaths {
    /// Freezes the repository that contains the call's working directory.
    pub(crate) fn freeze_enclosing(&mut self, git: &Path, used: RepositoryUse, seen: &FsScanCache) {
        if !seen.is_dir(git) {
            // A `.git` file points to the repository.
            if seen.exists(git) {
                self.read_only.push(git.to_owned());
            }
            return;
        }
        self.read_only.push(git.join(HOOKS_DIR));
        self.read_only.extend(frozen_files(git, used, seen));
        self.mask_missing_settings(git, used, seen);
        for part in seen.found_paths(&git.join("modules"), || nested_repositories(git)) {
            self.read_only.extend(frozen_files(&part, used, seen));
            self.mask_missing_settings(&part, used, seen);
            let hooks = part.join(HOOKS_DIR);
            if !is_worktree_record(&part) && !seen.exists(&hooks) {
                self.masked_missing.push(hooks);
            }
        }
    }

    /// Masks missing files of a repository that would redirect git if created.
    /// The record of a working tree has a pointer, which exists and is frozen.
    fn mask_missing_settings(&mut self, git: &Path, used: RepositoryUse, seen: &FsScanCache) {
        let pointer = git.join(COMMONDIR_FILE);
        if !is_worktree_record(git) || !seen.exists(&pointer) {
            // Added whether or not it exists: our own placeholder comes and
            // goes, and the confinement must stay the same.
            self.masked_missing.push(pointer);
        }
        let settings = git.join(WORKTREE_SETTINGS_FILE);
        if used != RepositoryUse::ChangeSettings && !seen.exists(&settings) {
            self.masked_missing.push(settings);
        }
    }

    /// Freezes a repository in the shared directory for temporary files.
    /// Entries there come and go, so no placeholders are mounted: a repository
    /// without hooks is frozen as a whole, unless git itself runs.
    pub(crate) fn freeze_temporary(
        &mut self,
        git: &Path,
        used: RepositoryUse,
        git_runs: bool,
        seen: &FsScanCache,
    ) {
        self.frozen_nested.extend(frozen_files(git, used, seen));
        if !git_runs && !seen.exists(&git.join(HOOKS_DIR)) {
            self.frozen_nested.push(git.to_owned());
            return;
        }
        let pointer = git.join(COMMONDIR_FILE);
        if seen.is_dir(git) && !seen.exists(&pointer) {
            self.quarantined.push(pointer);
        }
    }

    /// Freezes a repository nested below a writable tree.
    pub(crate) fn freeze_below(&mut self, git: &Path, used: RepositoryUse, seen: &FsScanCache) {
        if !seen.is_dir(git) {
            self.frozen_nested
                .extend((used != RepositoryUse::ChangeSettings).then(|| git.to_owned()));
            return;
        }
        self.frozen_nested.extend(frozen_files(git, used, seen));
        let hooks = git.join(HOOKS_DIR);
        if !seen.exists(&hooks) {
            self.masked_missing.push(hooks);
        }
        self.mask_missing_settings(git, used, seen);
    }

    /// Keeps only the paths that match the predicate.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&Path) -> bool) {
        let lists = [
            &mut self.read_only,
            &mut self.frozen_nested,
            &mut self.masked_missing,
            &mut self.quarantined,
        ];
        for list in lists {
            list.retain(|path| is_kept(path));
        }
    }
}

/// Maximum size of a pointer file (`.git`, `commondir`, `gitdir`).
const MAX_POINTER_BYTES: u64 = 16 * 1024;

/// The target of a `.git` file: the directory of this working tree, and the
/// repository that it shares with others.
#[derive(Debug)]
struct GitLink {
    worktree_dir: PathBuf,
    common_dir: PathBuf,
}

impl GitLink {
    fn read(git: &Path) -> Option<Self> {
        let text = read_text(git)?;
        let own = resolve_from(git.parent()?, text.strip_prefix("gitdir:")?.trim())?;
        let common =
            read_text_in(&own, COMMONDIR_FILE).and_then(|to| resolve_from(&own, to.trim()));
        Some(Self { common_dir: common.unwrap_or_else(|| own.clone()), worktree_dir: own })
    }

    /// Whether the repository refers back to that working tree. A pointer to a
    /// repository is easy to forge; an entry in the repository is not.
    fn is_mutual(&self, git: &Path) -> bool {
        let Some(dir) = git.parent().and_then(|dir| fs::canonicalize(dir).ok()) else {
            return false;
        };
        if self.worktree_dir == self.common_dir {
            let settings = read_text_in(&self.worktree_dir, "config").unwrap_or_default();
            let mut lines = settings.lines().filter_map(|line| line.trim().split_once('='));
            return lines.any(|(name, value)| {
                name.trim() == "worktree"
                    && resolve_from(&self.worktree_dir, value.trim()) == Some(dir.clone())
            });
        }
        let is_record = self.worktree_dir.parent() == Some(&self.common_dir.join("worktrees"));
        let back = read_text_in(&self.worktree_dir, "gitdir")
            .and_then(|to| resolve_from(&self.worktree_dir, to.trim()));
        is_record && back == Some(dir.join(".git"))
    }
}

/// Returns the repositories that a `.git` file points to, and the repositories
/// that contain those.
pub(crate) fn linked_repositories(git: &Path) -> Vec<PathBuf> {
    let Some(link) = GitLink::read(git) else { return Vec::new() };
    let is_repository = |dir: &&Path| dir.file_name().is_some_and(|name| name == ".git");
    let mut found: Vec<PathBuf> =
        link.common_dir.ancestors().filter(is_repository).map(Path::to_path_buf).collect();
    found.extend([link.common_dir, link.worktree_dir]);
    found.sort();
    found.dedup();
    found
}

/// Returns where git writes for a working tree whose repository is elsewhere,
/// if that repository refers back to it.
pub(crate) fn linked_worktree_dir(git: &Path) -> Option<PathBuf> {
    let link = GitLink::read(git)?;
    link.is_mutual(git).then_some(link.common_dir)
}

fn read_text(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    (about.is_file() && about.len() <= MAX_POINTER_BYTES).then(|| fs::read_to_string(path).ok())?
}

fn read_text_in(dir: &Path, name: &str) -> Option<String> {
    read_text(&dir.join(name))
}

fn resolve_from(from: &Path, to: &str) -> Option<PathBuf> {
    fs::canonicalize(from.join(to)).ok()
}

/// Returns the existing files of the repository that must not change.
fn frozen_files(git: &Path, used: RepositoryUse, seen: &FsScanCache) -> Vec<PathBuf> {
    let books = if used == RepositoryUse::ChangeSettings { &[] } else { SETTINGS_FILES };
    let is_forestalled = |name: &&&str| **name == COMMONDIR_FILE && !is_worktree_record(git);
    let books = books.iter().filter(|name| !is_forestalled(name));
    let paths = ALWAYS_FROZEN_FILES.iter().chain(books).map(|name| git.join(name));
    paths.filter(|path| seen.exists(path)).collect()
}

/// Whether the path is a repository's record of a linked working tree.
fn is_worktree_record(git: &Path) -> bool {
    let is_among = git.parent().and_then(Path::file_name).is_some_and(|it| it == "worktrees");
    is_among && !git.ends_with(".git")
}

/// Returns the nearest repositories below a directory, excluding its own.
pub(crate) fn repositories_below(dir: &Path, levels: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search_names(dir, levels, |place, level, name| {
        if name == ".git" && level > 0 {
            found.push(place.join(name));
        }
        if found.len() < MAX_REPOSITORIES { Some(name != ".git") } else { None }
    });
    found
}

/// Returns the submodule repositories and working tree records inside a
/// repository.
fn nested_repositories(git: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search_names(&git.join("modules"), MAX_SEARCH_DEPTH, |place, _, name| {
        if name == "HEAD" {
            found.push(place.to_owned());
        }
        let is_deeper = !matches!(name, "objects" | "refs" | "logs" | "hooks" | "info");
        if found.len() < MAX_REPOSITORIES { Some(is_deeper) } else { None }
    });
    let trees = fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten();
    found.extend(trees.take(MAX_REPOSITORIES).map(|entry| entry.path()));
    found
}

/// Visits the names below a directory breadth-first. `look` returns whether to
/// descend into an entry; `None` ends the search.
pub(crate) fn search_names(
    dir: &Path,
    levels: usize,
    mut look: impl FnMut(&Path, usize, &str) -> Option<bool>,
) {
    let (mut names, mut dirs) = (MAX_SEARCHED_NAMES, MAX_SEARCHED_DIRS);
    let mut places = vec![dir.to_owned()];
    for level in 0..=levels {
        let mut deeper = Vec::new();
        for place in places {
            for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
                names -= 1;
                if names == 0 {
                    return;
                }
                let name = entry.file_name();
                // Names that git creates are valid UTF-8.
                let name = name.to_str().unwrap_or_default();
                let Some(goes_on) = look(&place, level, name) else { return };
                if goes_on
                    && dirs > 0
                    && level < levels
                    && !SKIPPED_DIRS.contains(&name)
                    && entry.file_type().is_ok_and(|kind| kind.is_dir())
                {
                    dirs -= 1;
                    deeper.push(entry.path());
                }
            }
        }
        places = deeper;
    }
}

#[cfg(test)]
#[path = "repositories_tests.rs"]
mod tests;
