//! Ignore rules, resolved directory by directory as in ripgrep.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use hermes_files::IgnoreRules;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Maximum size of an ignore file; larger files are skipped.
const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// The rules that apply in a directory: its own and its parents'.
#[derive(Debug, Clone)]
pub struct DirIgnoreRules {
    /// The nearest directory with rules.
    nearest: Option<Arc<IgnoreLevel>>,
    /// The user's global gitignore, for every repository.
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

/// The ignore files and repository markers found in a directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IgnoreMarkers {
    rgignore: bool,
    ignore: bool,
    gitignore: bool,
    git: bool,
    jj: bool,
}

impl IgnoreMarkers {
    /// Records a name if it is a marker.
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
    /// Compiles the rules of the parents of `place`, a canonical path; `above`
    /// lists the nearest first.
    pub fn from_parents(place: &Path, above: &[IgnoreRules]) -> Self {
        let (global, _) = GitignoreBuilder::new(place).build_global();
        let mut nearest = None;
        for texts in above.iter().rev() {
            let IgnoreRules { dir: directory, gitignore, ignore, exclude, is_repository } = texts;
            let is_silent = [gitignore, ignore, exclude].iter().all(|text| text.is_empty());
            if is_silent && !is_repository {
                continue;
            }
            nearest = Some(Arc::new(IgnoreLevel {
                rgignore: Gitignore::empty(),
                ignore: compile(directory, ignore),
                gitignore: compile(directory, gitignore),
                exclude: compile(directory, exclude),
                is_repository: *is_repository,
                above: nearest,
            }));
        }
        Self { nearest, global: Arc::new(global) }
    }

    /// Returns the rules that apply in the directory at `place`, which contains
    /// `marks` and whose files `open` opens.
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

    /// Whether the entry at a canonical path is ignored; `None` if no rule
    /// matches.
    pub fn is_ignored(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let levels = || std::iter::successors(self.nearest.as_deref(), |l| l.above.as_deref());
        self.nearest.as_ref()?;
        let in_repository = levels().any(|level| level.is_repository);
        let mut by_rgignore = Match::None;
        let (mut by_ignore, mut by_git, mut by_exclude) = (Match::None, Match::None, Match::None);
        // A repository's rules end at its top level.
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

/// Compiles ignore rules. Skips invalid lines, as git does.
fn compile(dir: &Path, text: &str) -> Gitignore {
    if text.is_empty() {
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new(dir);
    for line in text.strip_prefix('\u{FEFF}').unwrap_or(text).lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
