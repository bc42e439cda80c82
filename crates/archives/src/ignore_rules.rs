//! Git ignore rules, applied when packing.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use hermes_core::ToolError;
use hermes_files::{FileAccess, IgnoreRules, OpenDir};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Ignore files in effect in a directory, nearest first.
#[derive(Debug, Clone)]
pub(crate) struct PackIgnoreRules {
    nearest: Option<Rc<IgnoreLayer>>,
    /// Real path of the packed directory.
    root: Rc<Path>,
}

#[derive(Debug)]
struct IgnoreLayer {
    /// `.ignore`, `.gitignore` and git's exclude file, in order of precedence.
    sets: [Gitignore; 3],
    is_repository: bool,
    parent: Option<Rc<IgnoreLayer>>,
}

impl PackIgnoreRules {
    /// Loads the rules of the directories above `path`.
    pub(crate) fn for_ancestors(files: &FileAccess<'_>, path: &Path) -> Result<Self, ToolError> {
        let mut rules = Self { nearest: None, root: files.real_path(path)?.into() };
        for texts in files.ignore_rules_above(path)?.iter().rev() {
            rules.push_layer(texts);
        }
        Ok(rules)
    }

    /// Returns these rules extended by those of an open subdirectory.
    pub(crate) fn for_subdir(&self, dir: &OpenDir, relative: &Path) -> Self {
        let mut rules = self.clone();
        rules.push_layer(&IgnoreRules::new(dir, &self.absolute(relative)));
        rules
    }

    /// Whether an entry is ignored.
    pub(crate) fn is_ignored(&self, relative: &Path, is_folder: bool) -> bool {
        let place = self.absolute(relative);
        let mut layer = self.nearest.as_deref();
        let mut found = [Match::None, Match::None, Match::None];
        // Git's rules end at the repository root.
        let mut is_inside =
            std::iter::successors(layer, |l| l.parent.as_deref()).any(|l| l.is_repository);
        while let Some(here) = layer {
            for (at, (set, found)) in here.sets.iter().zip(&mut found).enumerate() {
                if (at == 0 || is_inside) && found.is_none() {
                    *found = set.matched(&place, is_folder);
                }
            }
            is_inside &= !here.is_repository;
            layer = here.parent.as_deref();
        }
        found.iter().find(|found| !found.is_none()).is_some_and(Match::is_ignore)
    }

    fn absolute(&self, relative: &Path) -> PathBuf {
        let is_top = relative.as_os_str().is_empty();
        if is_top { self.root.to_path_buf() } else { self.root.join(relative) }
    }

    fn push_layer(&mut self, texts: &IgnoreRules) {
        let IgnoreRules { dir: directory, gitignore, ignore, exclude, is_repository } = texts;
        let sets = [ignore, gitignore, exclude];
        if !is_repository && sets.iter().all(|text| text.is_empty()) {
            return;
        }
        self.nearest = Some(Rc::new(IgnoreLayer {
            sets: sets.map(|text| parse_gitignore(directory, text)),
            is_repository: *is_repository,
            parent: self.nearest.take(),
        }));
    }
}

/// Parses an ignore file. Invalid lines are skipped, as git does.
fn parse_gitignore(dir: &Path, text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new(dir);
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
