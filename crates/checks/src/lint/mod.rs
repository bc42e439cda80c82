//! Linters: which ones a project has, how they are called, what they say.

pub mod edits;
mod json;
mod table;
mod text;

use std::path::{Path, PathBuf};

use crate::Said;
use crate::finding::Finding;
use crate::install::{Home, install};
use crate::survey::{Folder, Survey};

pub use edits::Edit;
pub use table::LINTERS;

/// A linter.
#[derive(Debug, Clone, Copy)]
pub struct Linter {
    /// Its name, as a caller writes it.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The files that it looks at: endings, or `=Name`.
    pub endings: &'static [&'static str],
    /// Whether a folder says that it is used.
    marked: fn(&Folder) -> bool,
    /// Files of which the nearest tells where it is to run; none for the
    /// folder of the path.
    roots: &'static [&'static str],
    /// The words of its command, without the program.
    words: fn(&Task) -> Vec<String>,
    /// How what can be mended is.
    fixes: Option<Fixes>,
    /// Reads what it has printed; none if that makes no sense.
    read: fn(&Said<'_>) -> Option<Vec<Finding>>,
    /// Whether it looks at whole projects only.
    is_whole: bool,
    /// How it is used when no file says so.
    usual: Usual,
    /// Where it comes from.
    home: Home,
    /// As what.
    package: &'static str,
}

/// Whether a linter is used although no file of the project says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Usual {
    /// It is the one for its files: used, and missed if it is not there.
    Expected,
    /// Used if it is there and no other is for these files.
    IfThere,
    /// Only if it is asked for by name.
    Never,
}

/// How what a linter finds is mended.
#[derive(Debug, Clone, Copy)]
enum Fixes {
    /// It does that, called with these words.
    Words(fn(&Task) -> Vec<String>),
    /// It tells what to write instead.
    Edits(fn(&Said<'_>) -> Vec<Vec<Edit>>),
}

/// What a linter is to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The path, from the folder that it runs in; or the files, if others look
    /// at some of those that are there. None if the project names them itself.
    pub targets: Vec<String>,
    /// The same for each file at or below it, for linters that want names.
    pub files: Vec<String>,
}

/// A linter that is to run.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Which.
    pub linter: &'static Linter,
    /// Why it was chosen, in words.
    pub why: &'static str,
    /// Its program; none if it is missing.
    pub program: Option<PathBuf>,
    /// Where it runs.
    pub folder: PathBuf,
    /// What it looks at.
    pub task: Task,
    /// All files there are its.
    scope: PathBuf,
    /// The command that installs it.
    pub install: String,
}

/// Files whose names are given to one command.
const NAMES: usize = 400;

impl Choice {
    /// The words of its command, without the program.
    pub fn words(&self) -> Vec<String> {
        (self.linter.words)(&self.task)
    }

    /// Whether something can be mended.
    pub fn can_mend(&self) -> bool {
        self.linter.fixes.is_some()
    }

    /// The words that have it mend what it can; none if it does not.
    pub fn fixes(&self) -> Option<Vec<String>> {
        match self.linter.fixes {
            Some(Fixes::Words(words)) => Some(words(&self.task)),
            _ => None,
        }
    }

    /// What is to be written instead, in groups that go together.
    pub fn edits(&self, said: &Said<'_>) -> Vec<Vec<Edit>> {
        match self.linter.fixes {
            Some(Fixes::Edits(read)) => read(said),
            _ => Vec::new(),
        }
    }

    /// Reads what it has printed. None if it has failed.
    pub fn read(&self, said: &Said<'_>, code: i32) -> Option<Vec<Finding>> {
        let found = (self.linter.read)(said)?;
        // Where nothing is found, the code tells whether it has looked.
        let is_well = code == 0 || !found.is_empty();
        is_well.then_some(found)
    }

    /// Whether it has ended with this code before it had looked at all.
    pub fn is_partial(&self, code: i32) -> bool {
        // Of mypy: an error that nothing can be checked behind.
        self.linter.name == "mypy" && code == 2
    }

    /// The same for the files that it was chosen for, and no others beside them.
    fn by_name(mut self) -> Self {
        self.task.targets = self.task.files.clone();
        self
    }

    /// Whether it may tell of more than was asked for.
    pub fn is_whole(&self) -> bool {
        self.linter.is_whole
    }
}

/// The linters for what was asked: the one of this name, or those that the
/// project uses. Where only folders below the path say that they use one, it
/// looks at each of these by itself. An unknown name is an error with all names.
pub fn choose(survey: &Survey, name: Option<&str>) -> Result<Vec<Choice>, Vec<&'static str>> {
    if let Some(name) = name {
        let wanted = name.to_ascii_lowercase();
        let found = LINTERS.iter().find(|linter| linter.name == wanted || linter.program == wanted);
        let linter =
            found.ok_or_else(|| LINTERS.iter().map(|linter| linter.name).collect::<Vec<_>>())?;
        let parts = parts(survey, linter, "asked for");
        return Ok(if parts.is_empty() {
            vec![choice(survey, linter, "asked for")]
        } else {
            parts
        });
    }
    let here: Vec<_> = LINTERS.iter().filter(|linter| survey.has(linter.endings)).collect();
    let mut chosen: Vec<Choice> = Vec::new();
    for linter in &here {
        match is_marked(survey, linter) {
            true => chosen.push(choice(survey, linter, "configured")),
            false => chosen.extend(parts(survey, linter, "configured")),
        }
    }
    for linter in here.into_iter().filter(|linter| linter.usual != Usual::Never) {
        let Some(rest) = unserved(survey, linter, &chosen) else { continue };
        let is_rest = rest.files.len() < survey.files.len();
        let choice = |linter, why| match is_rest {
            true => choice(&rest, linter, why).by_name(),
            false => choice(&rest, linter, why),
        };
        let usual = choice(linter, "usual for these files");
        if usual.program.is_some() {
            chosen.push(usual);
        } else if linter.usual == Usual::Expected {
            // One that is there is better than one that is not.
            let other = LINTERS.iter().find(|other| {
                other.usual == Usual::IfThere && shares(other, linter) && finds(survey, other)
            });
            chosen.push(other.map_or(usual, |other| choice(other, "installed")));
        }
    }
    Ok(chosen)
}

/// Whether the folder of the path, or one above it, says that it is used.
fn is_marked(survey: &Survey, linter: &Linter) -> bool {
    survey.folders.iter().any(|folder| (linter.marked)(folder))
}

/// The linter in each of the folders below that say that they use it; none if
/// the whole says so.
fn parts(survey: &Survey, linter: &'static Linter, why: &'static str) -> Vec<Choice> {
    if is_marked(survey, linter) {
        return Vec::new();
    }
    let parts = survey.parts(linter.marked).into_iter().map(|folder| survey.part(folder));
    let parts = parts.filter(|part| part.has(linter.endings));
    parts.map(|part| choice(&part, linter, why)).collect()
}

/// The files of a linter that none of those for the same files looks at; none
/// if there are no such files.
fn unserved(survey: &Survey, linter: &Linter, chosen: &[Choice]) -> Option<Survey> {
    let serving = || chosen.iter().filter(|choice| shares(choice.linter, linter));
    // One that looks at whole projects needs one around the files.
    let is_lost = linter.is_whole && survey.nearest(linter.roots).is_none();
    if is_lost && serving().next().is_some() {
        return None;
    }
    let mut rest = survey.clone();
    rest.files.retain(|file| {
        !survey.is_one(file, linter.endings)
            || !serving().any(|other| file.starts_with(&other.scope))
    });
    rest.has(linter.endings).then_some(rest)
}

fn shares(one: &Linter, other: &Linter) -> bool {
    one.endings.iter().any(|ending| other.endings.contains(ending))
}

fn finds(survey: &Survey, linter: &Linter) -> bool {
    find(survey, linter).is_some()
}

fn find(survey: &Survey, linter: &Linter) -> Option<PathBuf> {
    // Clippy is a program that only cargo can start.
    if linter.name == "clippy" {
        return survey.program("cargo-clippy").and(survey.program("cargo"));
    }
    let other = (linter.name == "markdownlint").then_some("markdownlint");
    survey.program(linter.program).or_else(|| other.and_then(|name| survey.program(name)))
}

fn choice(survey: &Survey, linter: &'static Linter, why: &'static str) -> Choice {
    let folder = survey.nearest(linter.roots).map_or(survey.here(), |folder| &folder.path);
    let target = below(&survey.path, folder);
    // What a project says itself is lost if a path is given.
    let root = survey.folders.iter().find(|root| root.path == folder);
    let is_told = target == "." && root.is_some_and(|root| table::names_files(linter.name, root));
    let targets = if is_told { Vec::new() } else { vec![target] };
    let files = survey.of(linter.endings).take(NAMES).map(|file| below(file, folder)).collect();
    Choice {
        linter,
        why,
        program: find(survey, linter),
        folder: folder.to_owned(),
        task: Task { targets, files },
        scope: survey.path.clone(),
        install: install(survey, linter.home, linter.package),
    }
}

/// A path from a folder on, in a form that no program takes for an option.
pub(crate) fn below(path: &Path, folder: &Path) -> String {
    match path.strip_prefix(folder) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => format!("./{}", rest.display()),
        Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
#[path = "lint_tests.rs"]
mod tests;
