//! Repositories that a command makes itself, in folders that it makes itself:
//! nobody else has put settings there.

use std::path::{Path, PathBuf};

use hermes_core::{Effect, Scope};

use super::git::{FOREIGN_REPO_REASON, split_global};
use crate::leaf::{LeafCommand, ShellWord};

/// What has been made so far.
#[derive(Debug, Default)]
pub(super) struct NewRepositories {
    dirs: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
}

impl NewRepositories {
    /// Goes on by one leaf, and takes back what was said of its repository if
    /// that is one of these and nothing comes into it from elsewhere.
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
            if creates_repository(leaf) && self.dirs.iter().any(|folder| folder == place) {
                self.repositories.push(place.to_path_buf());
            } else if is_own && !far {
                leaf.findings.retain(|found| found.reason != FOREIGN_REPO_REASON);
            }
        }
        // What fills a whole folder may bring a repository along.
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

/// The folder in which git works.
fn work_dir(leaf: &LeafCommand) -> Option<&Path> {
    let is_git = |effect: &&Effect| effect.scope.family() == "git";
    leaf.effects.iter().find(is_git).and_then(|effect| effect.resource.as_path())
}

/// Whether it makes a repository in the folder that it is in, without settings
/// of somebody else.
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
