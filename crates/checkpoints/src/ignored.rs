//! What git ignores, from one folder to the next. Where there is no repository
//! nothing is ignored, whatever a `.gitignore` says; and what git tracks is not
//! ignored either.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::tracked::{IndexCache, TrackedFiles};

/// The rules that hold in a folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct GitIgnoreRules {
    repository: Option<Arc<GitWorkTree>>,
    /// Those of the innermost file.
    innermost: Option<Arc<IgnoreFileLayer>>,
    /// Whether the folder is ignored with all that is in it.
    is_ignored: bool,
}

/// A repository whose rules hold.
#[derive(Debug)]
struct GitWorkTree {
    top: PathBuf,
    /// The folder of git's own.
    git_dir: PathBuf,
    /// What it tracks, once somebody has asked.
    tracked: OnceLock<Arc<TrackedFiles>>,
}

/// The rules of one file; those further out count where it says nothing.
#[derive(Debug)]
struct IgnoreFileLayer {
    rules: Gitignore,
    outer: Option<Arc<IgnoreFileLayer>>,
}

impl GitIgnoreRules {
    /// The rules that a folder has from those above it.
    pub(crate) fn inherited(folder: &Path) -> Self {
        let is_top = |at: &Path| at.join(".git").exists();
        let above: Vec<&Path> = folder.ancestors().skip(1).collect();
        let Some(top) = above.iter().position(|at| is_top(at)) else { return Self::default() };
        above.iter().take(top + 1).rev().fold(Self::default(), |rules, at| {
            rules.enter(at, is_top(at), at.join(".gitignore").exists())
        })
    }

    /// The rules in a folder that these lead to.
    pub(crate) fn enter(&self, folder: &Path, has_git: bool, has_rules: bool) -> Self {
        let mut rules = if has_git { Self::for_repository(folder) } else { self.clone() };
        if rules.repository.is_some() && has_rules {
            rules.add(Gitignore::new(folder.join(".gitignore")).0);
        }
        rules
    }

    /// A repository of its own, with what only its owner ignores.
    fn for_repository(folder: &Path) -> Self {
        let git = git_dir_of(folder);
        let shared = common_git_dir(&git);
        let repository = GitWorkTree { top: folder.into(), git_dir: git, tracked: OnceLock::new() };
        let mut rules = Self { repository: Some(Arc::new(repository)), ..Self::default() };
        let mut own = GitignoreBuilder::new(folder);
        if own.add(shared.join("info/exclude")).is_none()
            && let Ok(own) = own.build()
        {
            rules.add(own);
        }
        rules
    }

    fn add(&mut self, rules: Gitignore) {
        if !rules.is_empty() {
            self.innermost =
                Some(Arc::new(IgnoreFileLayer { rules, outer: self.innermost.take() }));
        }
    }

    /// The rules that lead to a folder in this one.
    pub(crate) fn child(&self, is_ignored: bool) -> Self {
        Self { is_ignored, ..self.clone() }
    }

    /// Whether git tracks something that is ignored, or something in it.
    pub(crate) fn is_tracked(&self, path: &Path, is_folder: bool, indexes: &IndexCache) -> bool {
        let Some(repository) = self.repository.as_deref() else { return false };
        let Ok(name) = path.strip_prefix(&repository.top) else { return false };
        let tracked = repository.tracked.get_or_init(|| indexes.load(&repository.git_dir));
        tracked.contains(name, is_folder)
    }

    /// Whether a rule says that something in the folder is ignored.
    pub(crate) fn is_path_ignored(&self, path: &Path, is_folder: bool) -> bool {
        if self.is_ignored {
            return true;
        }
        let mut next = self.innermost.as_deref();
        while let Some(layer) = next {
            let found = layer.rules.matched(path, is_folder);
            if !found.is_none() {
                return found.is_ignore();
            }
            next = layer.outer.as_deref();
        }
        false
    }
}

/// The folder of git's own for a working tree.
fn git_dir_of(folder: &Path) -> PathBuf {
    let git = folder.join(".git");
    // A working tree beside the first one, and a submodule, have a file that
    // says where.
    read_pointer(&git, "gitdir:").map_or(git, |own| folder.join(own))
}

/// The folder of a repository that all its working trees share.
fn common_git_dir(own: &Path) -> PathBuf {
    read_pointer(&own.join("commondir"), "").map_or(own.into(), |shared| own.join(shared))
}

fn read_pointer(path: &Path, before: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(path).ok()?;
    Some(PathBuf::from(text.strip_prefix(before)?.trim()))
}

#[cfg(test)]
#[path = "ignored_tests.rs"]
mod tests;
