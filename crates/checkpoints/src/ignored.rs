//! What git ignores, from one folder to the next. Where there is no repository
//! nothing is ignored, whatever a `.gitignore` says.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The rules that hold in a folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    is_repository: bool,
    /// Those of the innermost file.
    innermost: Option<Arc<Layer>>,
}

/// The rules of one file; those further out count where it says nothing.
#[derive(Debug)]
struct Layer {
    rules: Gitignore,
    outer: Option<Arc<Layer>>,
}

impl Rules {
    /// The rules that a folder has from those above it.
    pub(crate) fn above(folder: &Path) -> Self {
        let is_top = |at: &Path| at.join(".git").exists();
        let above: Vec<&Path> = folder.ancestors().skip(1).collect();
        let Some(top) = above.iter().position(|at| is_top(at)) else { return Self::default() };
        above.iter().take(top + 1).rev().fold(Self::default(), |rules, at| {
            rules.enter(at, is_top(at), at.join(".gitignore").exists())
        })
    }

    /// The rules in a folder that these lead to.
    pub(crate) fn enter(&self, folder: &Path, has_git: bool, has_rules: bool) -> Self {
        let mut rules = if has_git { Self::top(folder) } else { self.clone() };
        if rules.is_repository && has_rules {
            rules.add(Gitignore::new(folder.join(".gitignore")).0);
        }
        rules
    }

    /// A repository of its own, with what only its owner ignores.
    fn top(folder: &Path) -> Self {
        let mut rules = Self { is_repository: true, innermost: None };
        let mut own = GitignoreBuilder::new(folder);
        if own.add(common(folder).join("info/exclude")).is_none()
            && let Ok(own) = own.build()
        {
            rules.add(own);
        }
        rules
    }

    fn add(&mut self, rules: Gitignore) {
        if !rules.is_empty() {
            self.innermost = Some(Arc::new(Layer { rules, outer: self.innermost.take() }));
        }
    }

    /// Whether something in the folder is ignored.
    pub(crate) fn ignore(&self, path: &Path, is_folder: bool) -> bool {
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

/// The folder of a repository that all its working trees share.
fn common(folder: &Path) -> PathBuf {
    let git = folder.join(".git");
    let said = |path: PathBuf, before: &str| {
        let text = fs::read_to_string(path).ok()?;
        Some(PathBuf::from(text.strip_prefix(before)?.trim()))
    };
    // A working tree beside the first one has a file that says where.
    let Some(own) = said(git.clone(), "gitdir:") else { return git };
    let own = folder.join(own);
    said(own.join("commondir"), "").map_or(own.clone(), |shared| own.join(shared))
}

#[cfg(test)]
#[path = "ignored_tests.rs"]
mod tests;
