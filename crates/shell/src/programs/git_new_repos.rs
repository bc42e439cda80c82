//! Repositories that a command creates itself, in directories that it creates
//! itself: they contain no foreign settings.

use std::path::{Path, PathBuf};

use hermes_core::{Effect, Scope};

use super::git::{FOREIGN_REPO_REASON, split_global};
use crate::leaf::{LeafCommand, ShellWord};

/// The directories and repositories created so far.
#[derive(Debug, Default)]
pub(super) struct NewRepositories {
    dirs: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
}

impl NewRepositories {
    /// Processes one leaf. Drops the foreign-repository finding if its
    /// repository is one of these and the leaf does not use the network.
    pub(super) fn follow(&mut self, leaf: &mut LeafCommand) {
        if leaf.program == "mkdir" {
            self.dirs.extend(leaf.effects.iter().filter_map(written_path).map(Path::to_path_buf));
            return;
        }
        if self.dirs.is_empty() {
            return;
        }
        let far = leaf.effects.iter().any(|effect| effect.scope.family() == "network");
        if let Some(place) = work_dir(leaf).filter(|_| leaf.program == "git") {
            let is_own = self.repositories.iter().any(|own| own == place);
            if creates_repository(leaf) && self.dirs.iter().any(|dir| dir == place) {
                self.repositories.push(place.to_path_buf());
            } else if is_own && !far {
                leaf.findings.retain(|found| found.reason != FOREIGN_REPO_REASON);
            }
        }
        // Writing a whole directory may bring in a repository.
        for filled in leaf.effects.iter().filter_map(written_path) {
            let is_kept = |own: &PathBuf| !own.starts_with(filled);
            self.dirs.retain(is_kept);
            self.repositories.retain(is_kept);
        }
    }
}

fn written_path(effect: &Effect) -> Option<&Path> {
    effect.resource.as_path().filter(|_| effect.scope == Scope::FILE_WRITE)
}

/// The directory in which git works.
fn work_dir(leaf: &LeafCommand) -> Option<&Path> {
    let is_git = |effect: &&Effect| effect.scope.family() == "git";
    leaf.effects.iter().find(is_git).and_then(|effect| effect.resource.as_path())
}

/// Whether the leaf creates a repository in the current directory, without
/// foreign settings.
fn creates_repository(leaf: &LeafCommand) -> bool {
    let words = leaf.words.get(1..).unwrap_or_default();
    let (global, rest) = split_global(words);
    let plain =
        |word: &ShellWord| matches!(&*word.text, "-q" | "--quiet" | "-b" | "main" | "master");
    let verb = rest.first().filter(|_| global.is_empty());
    verb.is_some_and(|verb| verb.text == "init") && rest.iter().skip(1).all(plain)
}

#[cfg(test)]
#[path = "git_new_repos_tests.rs"]
mod tests;
