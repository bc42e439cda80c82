//! What of a repository later programs run or trust: its hooks, its settings,
//! and where it says that both are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scan_cache::FsScanCache;

/// What a call has to do with a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RepositoryUse {
    /// It may commit, by whatever program: index, objects, refs and logs.
    Commit,
    /// It is git that runs, and it may change settings.
    ChangeSettings,
}

/// All that what stays as it is depends on, besides the rules and the files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrozenPathsKey {
    /// The trees that can be written.
    pub(crate) write: Vec<PathBuf>,
    /// The working folder.
    pub(crate) cwd: PathBuf,
    /// What the call says that it deletes.
    pub(crate) deleted: Vec<PathBuf>,
    /// Whether git runs that writes, and may change settings.
    pub(crate) git_runs: bool,
    pub(crate) may_change_settings: bool,
    /// Whether git clears away what it does not know.
    pub(crate) only_git_clean: bool,
}

/// What stays as it is, by how it is held; see `Confinement`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FrozenPaths {
    pub(crate) read_only: Vec<PathBuf>,
    pub(crate) frozen_nested: Vec<PathBuf>,
    pub(crate) masked_missing: Vec<PathBuf>,
    pub(crate) quarantined: Vec<PathBuf>,
}

/// In a repository: run or obeyed, and nothing that git writes by itself.
const ALWAYS_FROZEN_FILES: &[&str] = &["hooks", "info/attributes"];

/// The same, unless git itself changes it.
const SETTINGS_FILES: &[&str] = &["config", "config.worktree", "commondir", "gitdir"];

/// Where the hooks are.
const HOOKS_DIR: &str = "hooks";
/// Settings of one working tree. An empty file says nothing.
const WORKTREE_SETTINGS_FILE: &str = "config.worktree";
/// Leads to another repository, and with it to other settings and hooks.
const COMMONDIR_FILE: &str = "commondir";

/// How far below a folder repositories are looked for, in how many folders
/// and among how many names, and how many are kept.
pub(crate) const MAX_SEARCH_DEPTH: usize = 3;
const MAX_SEARCHED_DIRS: usize = 256;
const MAX_SEARCHED_NAMES: usize = 16_384;
const MAX_REPOSITORIES: usize = 32;
/// How far in the folder for temporary files, which has many of others.
pub(crate) const MAX_TEMP_SEARCH_DEPTH: usize = 2;

/// Folders that are full of other things.
const SKIPPED_DIRS: &[&str] = &["node_modules", "target", "__pycache__", ".venv", "venv"];

impl FrozenPaths {
    /// Keeps the repository of a folder that the call works in or below.
    pub(crate) fn freeze_enclosing(&mut self, git: &Path, used: RepositoryUse, seen: &FsScanCache) {
        if !seen.is_dir(git) {
            // A file says where the repository is.
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

    /// Keeps what is not there of a repository from being made, and would lead
    /// git elsewhere. The record of a working tree has its pointer, which is
    /// among what is there.
    fn mask_missing_settings(&mut self, git: &Path, used: RepositoryUse, seen: &FsScanCache) {
        let pointer = git.join(COMMONDIR_FILE);
        if !is_worktree_record(git) || !seen.exists(&pointer) {
            // Whether or not it is there: our own stands there half of the time,
            // and the bounds are to be the same.
            self.masked_missing.push(pointer);
        }
        let settings = git.join(WORKTREE_SETTINGS_FILE);
        if used != RepositoryUse::ChangeSettings && !seen.exists(&settings) {
            self.masked_missing.push(settings);
        }
    }

    /// Keeps a repository that lies among the temporary files of everybody.
    /// Others come and go there, so that nothing is put beside them: what has
    /// no hooks is kept as a whole, unless git itself runs.
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

    /// Keeps a repository that lies somewhere below.
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

    /// Leaves out what is not to be kept.
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

/// How long a file may be that says where something is.
const MAX_POINTER_BYTES: u64 = 16 * 1024;

/// Where a file called `.git` leads: the folder of this working tree, and the
/// repository that it has in common with others.
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

    /// Whether the repository knows of that working tree. A file that leads to
    /// it is soon made; what is in the repository is not.
    fn is_mutual(&self, git: &Path) -> bool {
        let Some(folder) = git.parent().and_then(|folder| fs::canonicalize(folder).ok()) else {
            return false;
        };
        if self.worktree_dir == self.common_dir {
            let settings = read_text_in(&self.worktree_dir, "config").unwrap_or_default();
            let mut lines = settings.lines().filter_map(|line| line.trim().split_once('='));
            return lines.any(|(name, value)| {
                name.trim() == "worktree"
                    && resolve_from(&self.worktree_dir, value.trim()) == Some(folder.clone())
            });
        }
        let is_record = self.worktree_dir.parent() == Some(&self.common_dir.join("worktrees"));
        let back = read_text_in(&self.worktree_dir, "gitdir")
            .and_then(|to| resolve_from(&self.worktree_dir, to.trim()));
        is_record && back == Some(folder.join(".git"))
    }
}

/// The repositories that a file called `.git` leads to, and those that they
/// are kept within.
pub(crate) fn linked_repositories(git: &Path) -> Vec<PathBuf> {
    let Some(link) = GitLink::read(git) else { return Vec::new() };
    let is_repository = |folder: &&Path| folder.file_name().is_some_and(|name| name == ".git");
    let mut found: Vec<PathBuf> =
        link.common_dir.ancestors().filter(is_repository).map(Path::to_path_buf).collect();
    found.extend([link.common_dir, link.worktree_dir]);
    found.sort();
    found.dedup();
    found
}

/// Where git writes for a working tree whose repository is elsewhere, if that
/// knows of it.
pub(crate) fn linked_worktree_dir(git: &Path) -> Option<PathBuf> {
    let link = GitLink::read(git)?;
    link.is_mutual(git).then_some(link.common_dir)
}

fn read_text(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    (about.is_file() && about.len() <= MAX_POINTER_BYTES).then(|| fs::read_to_string(path).ok())?
}

fn read_text_in(folder: &Path, name: &str) -> Option<String> {
    read_text(&folder.join(name))
}

fn resolve_from(from: &Path, to: &str) -> Option<PathBuf> {
    fs::canonicalize(from.join(to)).ok()
}

/// What is there of it and stays as it is.
fn frozen_files(git: &Path, used: RepositoryUse, seen: &FsScanCache) -> Vec<PathBuf> {
    let books = if used == RepositoryUse::ChangeSettings { &[] } else { SETTINGS_FILES };
    let is_forestalled = |name: &&&str| **name == COMMONDIR_FILE && !is_worktree_record(git);
    let books = books.iter().filter(|name| !is_forestalled(name));
    let paths = ALWAYS_FROZEN_FILES.iter().chain(books).map(|name| git.join(name));
    paths.filter(|path| seen.exists(path)).collect()
}

/// Whether it is what a repository has written down of a working tree.
fn is_worktree_record(git: &Path) -> bool {
    let is_among = git.parent().and_then(Path::file_name).is_some_and(|it| it == "worktrees");
    is_among && !git.ends_with(".git")
}

/// The repositories below a folder, but for its own: the nearest ones.
pub(crate) fn repositories_below(folder: &Path, levels: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search_names(folder, levels, |place, level, name| {
        if name == ".git" && level > 0 {
            found.push(place.join(name));
        }
        if found.len() < MAX_REPOSITORIES { Some(name != ".git") } else { None }
    });
    found
}

/// The repositories of submodules and the records of working trees, which are
/// kept within another repository.
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

/// Goes through the names below a folder, level by level, and into those that
/// `look` wants to see more of; nothing ends it.
pub(crate) fn search_names(
    folder: &Path,
    levels: usize,
    mut look: impl FnMut(&Path, usize, &str) -> Option<bool>,
) {
    let (mut names, mut folders) = (MAX_SEARCHED_NAMES, MAX_SEARCHED_DIRS);
    let mut places = vec![folder.to_owned()];
    for level in 0..=levels {
        let mut deeper = Vec::new();
        for place in places {
            for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
                names -= 1;
                if names == 0 {
                    return;
                }
                let name = entry.file_name();
                // What git makes itself has a plain name.
                let name = name.to_str().unwrap_or_default();
                let Some(goes_on) = look(&place, level, name) else { return };
                if goes_on
                    && folders > 0
                    && level < levels
                    && !SKIPPED_DIRS.contains(&name)
                    && entry.file_type().is_ok_and(|kind| kind.is_dir())
                {
                    folders -= 1;
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
