//! What the ignore files say, decided folder by folder as ripgrep does.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use hermes_files::IgnoreRules;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// An ignore file that is longer than this is no ignore file.
const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// The rules that hold in a folder: its own and those of the folders above.
#[derive(Debug, Clone)]
pub struct DirIgnoreRules {
    /// The nearest folder that has any.
    nearest: Option<Arc<IgnoreLevel>>,
    /// The user's own, for every repository.
    global: Arc<Gitignore>,
}

#[derive(Debug)]
struct IgnoreLevel {
    rgignore: Gitignore,
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    is_repository: bool,
    above: Option<Arc<IgnoreLevel>>,
}

/// Which of the names that matter here a folder has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IgnoreMarkers {
    rgignore: bool,
    ignore: bool,
    gitignore: bool,
    git: bool,
    jj: bool,
}

impl IgnoreMarkers {
    /// Takes note of a name.
    pub fn note(&mut self, name: &[u8]) {
        match name {
            b".rgignore" => self.rgignore = true,
            b".ignore" => self.ignore = true,
            b".gitignore" => self.gitignore = true,
            b".git" => self.git = true,
            b".jj" => self.jj = true,
            _ => {}
        }
    }

    fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl DirIgnoreRules {
    /// Those of the folders above `place`, a real path, the nearest first.
    pub fn from_parents(place: &Path, above: &[IgnoreRules]) -> Self {
        let (global, _) = GitignoreBuilder::new(place).build_global();
        let mut nearest = None;
        for texts in above.iter().rev() {
            let IgnoreRules { dir: folder, gitignore, ignore, exclude, is_repository } = texts;
            let is_silent = [gitignore, ignore, exclude].iter().all(|text| text.is_empty());
            if is_silent && !is_repository {
                continue;
            }
            nearest = Some(Arc::new(IgnoreLevel {
                rgignore: Gitignore::empty(),
                ignore: compile(folder, ignore),
                gitignore: compile(folder, gitignore),
                exclude: compile(folder, exclude),
                is_repository: *is_repository,
                above: nearest,
            }));
        }
        Self { nearest, global: Arc::new(global) }
    }

    /// The rules that hold in the folder at `place`, which has these marks and
    /// whose files `open` opens.
    #[must_use]
    pub fn for_dir(
        &self,
        place: &Path,
        marks: IgnoreMarkers,
        open: impl Fn(&Path) -> io::Result<File>,
    ) -> Self {
        if marks.is_empty() {
            return self.clone();
        }
        let text = |is_there: bool, name: &str| {
            if is_there { read_text(open(Path::new(name))) } else { String::new() }
        };
        let level = IgnoreLevel {
            rgignore: compile(place, &text(marks.rgignore, ".rgignore")),
            ignore: compile(place, &text(marks.ignore, ".ignore")),
            gitignore: compile(place, &text(marks.gitignore, ".gitignore")),
            exclude: compile(place, &text(marks.git, ".git/info/exclude")),
            is_repository: marks.git || marks.jj,
            above: self.nearest.clone(),
        };
        Self { nearest: Some(Arc::new(level)), global: Arc::clone(&self.global) }
    }

    /// Whether the entry at a real path is to be left out. None: no rule
    /// speaks of it.
    pub fn is_ignored(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let levels = || std::iter::successors(self.nearest.as_deref(), |l| l.above.as_deref());
        self.nearest.as_ref()?;
        let in_repository = levels().any(|level| level.is_repository);
        let mut by_rgignore = Match::None;
        let (mut by_ignore, mut by_git, mut by_exclude) = (Match::None, Match::None, Match::None);
        // A repository's rules end at its top.
        let mut is_inside = in_repository;
        for level in levels() {
            by_rgignore = by_rgignore.or(level.rgignore.matched(path, is_folder));
            by_ignore = by_ignore.or(level.ignore.matched(path, is_folder));
            if is_inside {
                by_git = by_git.or(level.gitignore.matched(path, is_folder));
                by_exclude = by_exclude.or(level.exclude.matched(path, is_folder));
            }
            is_inside &= !level.is_repository;
        }
        let by_user =
            if in_repository { self.global.matched(path, is_folder) } else { Match::None };
        match by_rgignore.or(by_ignore).or(by_git).or(by_exclude).or(by_user) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        }
    }
}

fn read_text(opened: io::Result<File>) -> String {
    let text = |file: File| {
        let mut bytes = Vec::new();
        file.take(MAX_IGNORE_FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
        let fits = bytes.len() as u64 <= MAX_IGNORE_FILE_BYTES;
        fits.then(|| String::from_utf8_lossy(&bytes).into_owned())
    };
    opened.ok().and_then(text).unwrap_or_default()
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
