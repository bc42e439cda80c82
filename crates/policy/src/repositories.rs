//! What of a repository later programs run or trust: its hooks, its settings,
//! and where it says that both are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sightings::Sightings;

/// What a call has to do with a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// It may commit, by whatever program: index, objects, refs and logs.
    Some,
    /// It is git that runs, and it may change settings.
    Git,
}

/// All that what stays as it is depends on, besides the rules and the files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// The trees that can be written.
    pub(crate) write: Vec<PathBuf>,
    /// The working folder.
    pub(crate) cwd: PathBuf,
    /// What the call says that it deletes.
    pub(crate) deleted: Vec<PathBuf>,
    /// Whether git runs that writes, and may change settings.
    pub(crate) git_runs: bool,
    pub(crate) settings: bool,
    /// Whether git clears away what it does not know.
    pub(crate) sweeps: bool,
}

/// What stays as it is, by how it is held; see `Confinement`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) read_only: Vec<PathBuf>,
    pub(crate) nested: Vec<PathBuf>,
    pub(crate) absent: Vec<PathBuf>,
    pub(crate) unwelcome: Vec<PathBuf>,
}

/// In a repository: run or obeyed, and nothing that git writes by itself.
const TRUSTED: &[&str] = &["hooks", "info/attributes"];

/// The same, unless git itself changes it.
const BOOKS: &[&str] = &["config", "config.worktree", "commondir", "gitdir"];

/// Where the hooks are.
const HOOKS: &str = "hooks";
/// Settings of one working tree. An empty file says nothing.
const SETTINGS: &str = "config.worktree";
/// Leads to another repository, and with it to other settings and hooks.
const POINTER: &str = "commondir";

/// How far below a folder repositories are looked for, in how many folders
/// and among how many names, and how many are kept.
pub(crate) const LEVELS: usize = 3;
const FOLDERS: usize = 256;
const NAMES: usize = 16_384;
const MOST: usize = 32;
/// How far in the folder for temporary files, which has many of others.
pub(crate) const TEMPORARY_LEVELS: usize = 2;

/// Folders that are full of other things.
const PASSED: &[&str] = &["node_modules", "target", "__pycache__", ".venv", "venv"];

impl Kept {
    /// Keeps the repository of a folder that the call works in or below.
    pub(crate) fn around(&mut self, git: &Path, used: Use, seen: &Sightings) {
        if !seen.is_folder(git) {
            // A file says where the repository is.
            if seen.exists(git) {
                self.read_only.push(git.to_owned());
            }
            return;
        }
        self.read_only.push(git.join(HOOKS));
        self.read_only.extend(trusted(git, used, seen));
        self.forestall(git, used, seen);
        for part in seen.places(&git.join("modules"), || parts(git)) {
            self.read_only.extend(trusted(&part, used, seen));
            self.forestall(&part, used, seen);
            let hooks = part.join(HOOKS);
            if !is_record(&part) && !seen.exists(&hooks) {
                self.absent.push(hooks);
            }
        }
    }

    /// Keeps what is not there of a repository from being made, and would lead
    /// git elsewhere. The record of a working tree has its pointer, which is
    /// among what is there.
    fn forestall(&mut self, git: &Path, used: Use, seen: &Sightings) {
        let pointer = git.join(POINTER);
        if !is_record(git) || !seen.exists(&pointer) {
            // Whether or not it is there: our own stands there half of the time,
            // and the bounds are to be the same.
            self.absent.push(pointer);
        }
        let settings = git.join(SETTINGS);
        if used != Use::Git && !seen.exists(&settings) {
            self.absent.push(settings);
        }
    }

    /// Keeps a repository that lies among the temporary files of everybody.
    /// Others come and go there, so that nothing is put beside them: what has
    /// no hooks is kept as a whole, unless git itself runs.
    pub(crate) fn among(&mut self, git: &Path, used: Use, git_runs: bool, seen: &Sightings) {
        self.nested.extend(trusted(git, used, seen));
        if !git_runs && !seen.exists(&git.join(HOOKS)) {
            self.nested.push(git.to_owned());
            return;
        }
        let pointer = git.join(POINTER);
        if seen.is_folder(git) && !seen.exists(&pointer) {
            self.unwelcome.push(pointer);
        }
    }

    /// Keeps a repository that lies somewhere below.
    pub(crate) fn within(&mut self, git: &Path, used: Use, seen: &Sightings) {
        if !seen.is_folder(git) {
            self.nested.extend((used != Use::Git).then(|| git.to_owned()));
            return;
        }
        self.nested.extend(trusted(git, used, seen));
        let hooks = git.join(HOOKS);
        if !seen.exists(&hooks) {
            self.absent.push(hooks);
        }
        self.forestall(git, used, seen);
    }

    /// Leaves out what is not to be kept.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&Path) -> bool) {
        let lists = [&mut self.read_only, &mut self.nested, &mut self.absent, &mut self.unwelcome];
        for list in lists {
            list.retain(|path| is_kept(path));
        }
    }
}

/// How long a file may be that says where something is.
const LONGEST: u64 = 16 * 1024;

/// Where a file called `.git` leads: the folder of this working tree, and the
/// repository that it has in common with others.
#[derive(Debug)]
struct Link {
    own: PathBuf,
    common: PathBuf,
}

impl Link {
    fn read(git: &Path) -> Option<Self> {
        let text = text(git)?;
        let own = place(git.parent()?, text.strip_prefix("gitdir:")?.trim())?;
        let common = text_of(&own, POINTER).and_then(|to| place(&own, to.trim()));
        Some(Self { common: common.unwrap_or_else(|| own.clone()), own })
    }

    /// Whether the repository knows of that working tree. A file that leads to
    /// it is soon made; what is in the repository is not.
    fn is_mutual(&self, git: &Path) -> bool {
        let Some(folder) = git.parent().and_then(|folder| fs::canonicalize(folder).ok()) else {
            return false;
        };
        if self.own == self.common {
            let settings = text_of(&self.own, "config").unwrap_or_default();
            let mut lines = settings.lines().filter_map(|line| line.trim().split_once('='));
            return lines.any(|(name, value)| {
                name.trim() == "worktree" && place(&self.own, value.trim()) == Some(folder.clone())
            });
        }
        let is_record = self.own.parent() == Some(&self.common.join("worktrees"));
        let back = text_of(&self.own, "gitdir").and_then(|to| place(&self.own, to.trim()));
        is_record && back == Some(folder.join(".git"))
    }
}

/// The repositories that a file called `.git` leads to, and those that they
/// are kept within.
pub(crate) fn linked(git: &Path) -> Vec<PathBuf> {
    let Some(link) = Link::read(git) else { return Vec::new() };
    let is_repository = |folder: &&Path| folder.file_name().is_some_and(|name| name == ".git");
    let mut found: Vec<PathBuf> =
        link.common.ancestors().filter(is_repository).map(Path::to_path_buf).collect();
    found.extend([link.common, link.own]);
    found.sort();
    found.dedup();
    found
}

/// Where git writes for a working tree whose repository is elsewhere, if that
/// knows of it.
pub(crate) fn elsewhere(git: &Path) -> Option<PathBuf> {
    let link = Link::read(git)?;
    link.is_mutual(git).then_some(link.common)
}

fn text(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    (about.is_file() && about.len() <= LONGEST).then(|| fs::read_to_string(path).ok())?
}

fn text_of(folder: &Path, name: &str) -> Option<String> {
    text(&folder.join(name))
}

fn place(from: &Path, to: &str) -> Option<PathBuf> {
    fs::canonicalize(from.join(to)).ok()
}

/// What is there of it and stays as it is.
fn trusted(git: &Path, used: Use, seen: &Sightings) -> Vec<PathBuf> {
    let books = if used == Use::Git { &[] } else { BOOKS };
    let is_forestalled = |name: &&&str| **name == POINTER && !is_record(git);
    let books = books.iter().filter(|name| !is_forestalled(name));
    let paths = TRUSTED.iter().chain(books).map(|name| git.join(name));
    paths.filter(|path| seen.exists(path)).collect()
}

/// Whether it is what a repository has written down of a working tree.
fn is_record(git: &Path) -> bool {
    let is_among = git.parent().and_then(Path::file_name).is_some_and(|it| it == "worktrees");
    is_among && !git.ends_with(".git")
}

/// The repositories below a folder, but for its own: the nearest ones.
pub(crate) fn below(folder: &Path, levels: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search(folder, levels, |place, level, name| {
        if name == ".git" && level > 0 {
            found.push(place.join(name));
        }
        if found.len() < MOST { Some(name != ".git") } else { None }
    });
    found
}

/// The repositories of submodules and the records of working trees, which are
/// kept within another repository.
fn parts(git: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search(&git.join("modules"), LEVELS, |place, _, name| {
        if name == "HEAD" {
            found.push(place.to_owned());
        }
        let is_deeper = !matches!(name, "objects" | "refs" | "logs" | "hooks" | "info");
        if found.len() < MOST { Some(is_deeper) } else { None }
    });
    let trees = fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten();
    found.extend(trees.take(MOST).map(|entry| entry.path()));
    found
}

/// Goes through the names below a folder, level by level, and into those that
/// `look` wants to see more of; nothing ends it.
pub(crate) fn search(
    folder: &Path,
    levels: usize,
    mut look: impl FnMut(&Path, usize, &str) -> Option<bool>,
) {
    let (mut names, mut folders) = (NAMES, FOLDERS);
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
                    && !PASSED.contains(&name)
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
