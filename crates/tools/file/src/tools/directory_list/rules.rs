//! What git would leave alone, decided folder by folder.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use hermes_core::ToolError;
use hermes_files::{Files, Folder, IgnoreRules};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The rules that hold in a folder: its own and those of the folders above.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// The nearest folder that has any.
    nearest: Option<Rc<Level>>,
    /// The user's own, for every repository.
    global: Rc<Gitignore>,
    /// The real path of the folder that is listed.
    root: Rc<Path>,
}

#[derive(Debug)]
struct Level {
    gitignore: Gitignore,
    ignore: Gitignore,
    exclude: Gitignore,
    is_repository: bool,
    above: Option<Rc<Level>>,
}

impl Rules {
    /// Those of the folders above `path`.
    pub(super) fn above(files: &Files<'_>, path: &Path) -> Result<Self, ToolError> {
        let root = files.real(path)?;
        let (global, _) = GitignoreBuilder::new(&root).build_global();
        let mut rules = Self { nearest: None, global: Rc::new(global), root: root.into() };
        for texts in files.ignore_rules_above(path)?.iter().rev() {
            rules.push(texts);
        }
        Ok(rules)
    }

    /// The rules that hold in the folder at `relative`, which is open.
    pub(super) fn within(&self, folder: &Folder, relative: &Path) -> Self {
        let mut rules = self.clone();
        rules.push(&IgnoreRules::of(folder, &self.place(relative)));
        rules
    }

    /// Whether an entry is to be left out. None: no rule speaks of it.
    pub(super) fn leave_out(&self, relative: &Path, is_folder: bool) -> Option<bool> {
        let path = self.place(relative);
        let levels = || std::iter::successors(self.nearest.as_deref(), |l| l.above.as_deref());
        let in_repository = levels().any(|level| level.is_repository);
        let (mut by_ignore, mut by_git, mut by_exclude) = (Match::None, Match::None, Match::None);
        // A repository's rules end at its top.
        let mut is_inside = in_repository;
        for level in levels() {
            by_ignore = by_ignore.or(level.ignore.matched(&path, is_folder));
            if is_inside {
                by_git = by_git.or(level.gitignore.matched(&path, is_folder));
                by_exclude = by_exclude.or(level.exclude.matched(&path, is_folder));
            }
            is_inside &= !level.is_repository;
        }
        let by_user =
            if in_repository { self.global.matched(&path, is_folder) } else { Match::None };
        match by_ignore.or(by_git).or(by_exclude).or(by_user) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        }
    }

    fn place(&self, relative: &Path) -> PathBuf {
        if relative.as_os_str().is_empty() {
            self.root.to_path_buf()
        } else {
            self.root.join(relative)
        }
    }

    fn push(&mut self, texts: &IgnoreRules) {
        let IgnoreRules { folder, gitignore, ignore, exclude, is_repository } = texts;
        if !is_repository && [gitignore, ignore, exclude].iter().all(|text| text.is_empty()) {
            return;
        }
        let level = Level {
            gitignore: compile(folder, gitignore),
            ignore: compile(folder, ignore),
            exclude: compile(folder, exclude),
            is_repository: *is_repository,
            above: self.nearest.take(),
        };
        self.nearest = Some(Rc::new(level));
    }
}

/// Lines that are not rules are passed over, as git does.
fn compile(folder: &Path, text: &str) -> Gitignore {
    if text.is_empty() {
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.strip_prefix('\u{FEFF}').unwrap_or(text).lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
