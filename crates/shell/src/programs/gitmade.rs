//! Repositories that a command makes itself, in folders that it makes itself:
//! nobody else has put settings there.

use std::path::{Path, PathBuf};

use hermes_core::{Effect, Scope};

use super::git::{FOREIGN, split_global};
use crate::leaf::{Leaf, Word};

/// What has been made so far.
#[derive(Debug, Default)]
pub(super) struct Made {
    folders: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
}

impl Made {
    /// Goes on by one leaf, and takes back what was said of its repository if
    /// that is one of these and nothing comes into it from elsewhere.
    pub(super) fn follow(&mut self, leaf: &mut Leaf) {
        if leaf.program == "mkdir" {
            self.folders.extend(leaf.effects.iter().filter_map(written).map(Path::to_path_buf));
            return;
        }
        if self.folders.is_empty() {
            return;
        }
        let far = leaf.effects.iter().any(|effect| effect.scope.family() == "network");
        if let Some(place) = place(leaf).filter(|_| leaf.program == "git") {
            let is_own = self.repositories.iter().any(|own| own == place);
            if is_new(leaf) && self.folders.iter().any(|folder| folder == place) {
                self.repositories.push(place.to_path_buf());
            } else if is_own && !far {
                leaf.findings.retain(|found| found.reason != FOREIGN);
            }
        }
        // What fills a whole folder may bring a repository along.
        for filled in leaf.effects.iter().filter_map(written) {
            let is_kept = |own: &PathBuf| !own.starts_with(filled);
            self.folders.retain(is_kept);
            self.repositories.retain(is_kept);
        }
    }
}

fn written(effect: &Effect) -> Option<&Path> {
    effect.resource.as_path().filter(|_| effect.scope == Scope::FILE_WRITE)
}

/// The folder in which git works.
fn place(leaf: &Leaf) -> Option<&Path> {
    let is_git = |effect: &&Effect| effect.scope.family() == "git";
    leaf.effects.iter().find(is_git).and_then(|effect| effect.resource.as_path())
}

/// Whether it makes a repository in the folder that it is in, without settings
/// of somebody else.
fn is_new(leaf: &Leaf) -> bool {
    let words = leaf.words.get(1..).unwrap_or_default();
    let (global, rest) = split_global(words);
    let plain = |word: &Word| matches!(&*word.text, "-q" | "--quiet" | "-b" | "main" | "master");
    let verb = rest.first().filter(|_| global.is_empty());
    verb.is_some_and(|verb| verb.text == "init") && rest.iter().skip(1).all(plain)
}

#[cfg(test)]
#[path = "gitmade_tests.rs"]
mod tests;
