//! Git ignore rules, applied directory by directory. Outside a repository
//! nothing is ignored, even with a `.gitignore`, and neither are tracked files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::tracked::{IndexCache, TrackedFiles};

/// The ignore rules in effect in a directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct GitIgnoreRules {
    repository: Option<Arc<GitWorkTree>>,
    /// Rules of the innermost ignore file.
    innermost: Option<Arc<IgnoreFileLayer>>,
    /// Whether the directory and everything in it is ignored.
    is_ignored: bool,
}

/// A repository whose rules apply.
#[derive(Debug)]
struct GitWorkTree {
    top: PathBuf,
    /// Its git directory.
    git_dir: PathBuf,
    /// Tracked files, loaded on first use.
    tracked: OnceLock<Arc<TrackedFiles>>,
}

/// Rules of one ignore file; outer ones apply where it has no match.
#[derive(Debug)]
struct IgnoreFileLayer {
    rules: Gitignore,
    outer: Option<Arc<IgnoreFileLayer>>,
}

impl GitIgnoreRules {
    /// Returns the rules that a directory inherits from its ancestors.
    pub(crate) fn inherited(dir: &Path) -> Self {
        let is_top = |at: &Path| at.join(".git").exists();
        let above: Vec<&Path> = dir.ancestors().skip(1).collect();
        let Some(top) = above.iter().position(|at| is_top(at)) else { return Self::default() };
        above.iter().take(top + 1).rev().fold(Self::default(), |rules, at| {
            rules.enter(at, is_top(at), at.join(".gitignore").exists())
        })
    }

    /// Returns the rules inside `folder`, given those of its parent.
    pub(crate) fn enter(&self, dir: &Path, has_git: bool, has_rules: bool) -> Self {
        let mut rules = if has_git { Self::for_repository(dir) } else { self.clone() };
        if rules.repository.is_some() && has_rules {
            rules.add(Gitignore::new(dir.join(".gitignore")).0);
        }
        rules
    }

    /// Starts a new repository with the rules of its `info/exclude`.
    fn for_repository(dir: &Path) -> Self {
        let git = git_dir_of(dir);
        let shared = common_git_dir(&git);
        let repository = GitWorkTree { top: dir.into(), git_dir: git, tracked: OnceLock::new() };
        let mut rules = Self { repository: Some(Arc::new(repository)), ..Self::default() };
        let mut own = GitignoreBuilder::new(dir);
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

    /// Returns the rules to pass to a subdirectory.
    pub(crate) fn child(&self, is_ignored: bool) -> Self {
        Self { is_ignored, ..self.clone() }
    }

    /// Whether git tracks an ignored path, or anything below it.
    pub(crate) fn is_tracked(&self, path: &Path, is_folder: bool, indexes: &IndexCache) -> bool {
        let Some(repository) = self.repository.as_deref() else { return false };
        let Ok(name) = path.strip_prefix(&repository.top) else { return false };
        let tracked = repository.tracked.get_or_init(|| indexes.load(&repository.git_dir));
        tracked.contains(name, is_folder)
    }

    /// Whether a rule ignores a path in this directory.
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

/// Returns the git directory of a working tree.
fn git_dir_of(dir: &Path) -> PathBuf {
    let git = dir.join(".git");
    // In linked worktrees and submodules, `.git` is a file that names the
    // directory.
    read_pointer(&git, "gitdir:").map_or(git, |own| dir.join(own))
}

/// Returns the git directory that all worktrees of a repository share.
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
