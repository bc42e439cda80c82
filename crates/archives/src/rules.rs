//! What git leaves alone, for archives that leave it out as well.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use hermes_core::ToolError;
use hermes_files::{FileAccess, OpenDir, IgnoreRules};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The ignore files that hold in a folder, the nearest first.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    nearest: Option<Rc<Layer>>,
    /// The real place of the folder that is packed.
    root: Rc<Path>,
}

#[derive(Debug)]
struct Layer {
    /// `.ignore`, `.gitignore` and git's own list, in the order in which they
    /// are asked.
    sets: [Gitignore; 3],
    is_repository: bool,
    above: Option<Rc<Layer>>,
}

impl Rules {
    /// Those of the folders above `path`.
    pub(crate) fn above(files: &FileAccess<'_>, path: &Path) -> Result<Self, ToolError> {
        let mut rules = Self { nearest: None, root: files.real_path(path)?.into() };
        for texts in files.ignore_rules_above(path)?.iter().rev() {
            rules.add(texts);
        }
        Ok(rules)
    }

    /// Those that hold in a folder below, which is open.
    pub(crate) fn within(&self, folder: &OpenDir, relative: &Path) -> Self {
        let mut rules = self.clone();
        rules.add(&IgnoreRules::new(folder, &self.place(relative)));
        rules
    }

    /// Whether an entry is left out.
    pub(crate) fn leave_out(&self, relative: &Path, is_folder: bool) -> bool {
        let place = self.place(relative);
        let mut layer = self.nearest.as_deref();
        let mut found = [Match::None, Match::None, Match::None];
        // Git's rules end at the top of the repository.
        let mut is_inside =
            std::iter::successors(layer, |l| l.above.as_deref()).any(|l| l.is_repository);
        while let Some(here) = layer {
            for (at, (set, found)) in here.sets.iter().zip(&mut found).enumerate() {
                if (at == 0 || is_inside) && found.is_none() {
                    *found = set.matched(&place, is_folder);
                }
            }
            is_inside &= !here.is_repository;
            layer = here.above.as_deref();
        }
        found.iter().find(|found| !found.is_none()).is_some_and(Match::is_ignore)
    }

    fn place(&self, relative: &Path) -> PathBuf {
        let is_top = relative.as_os_str().is_empty();
        if is_top { self.root.to_path_buf() } else { self.root.join(relative) }
    }

    fn add(&mut self, texts: &IgnoreRules) {
        let IgnoreRules { dir: folder, gitignore, ignore, exclude, is_repository } = texts;
        let sets = [ignore, gitignore, exclude];
        if !is_repository && sets.iter().all(|text| text.is_empty()) {
            return;
        }
        self.nearest = Some(Rc::new(Layer {
            sets: sets.map(|text| compile(folder, text)),
            is_repository: *is_repository,
            above: self.nearest.take(),
        }));
    }
}

/// A line that is no rule is passed over, as git does.
fn compile(folder: &Path, text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
