//! Linters: which ones a project has, how they are called, what they say.

pub mod edits;
mod json;
mod table;
mod text;

use std::path::{Path, PathBuf};

use crate::CheckOutput;
use crate::finding::LintFinding;
use crate::install::{PackageSource, install_command};
use crate::survey::{ProjectDir, ProjectSurvey};

pub use edits::LintEdit;
pub use table::LINTERS;

/// A linter.
#[derive(Debug, Clone, Copy)]
pub struct Linter {
    /// Its name, as a caller writes it.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The files that it looks at: endings, or `=Name`.
    pub file_patterns: &'static [&'static str],
    /// Whether a folder says that it is used.
    is_configured: fn(&ProjectDir) -> bool,
    /// Files of which the nearest tells where it is to run; none for the
    /// folder of the path.
    root_markers: &'static [&'static str],
    /// The words of its command, without the program.
    args: fn(&LintTask) -> Vec<String>,
    /// How what can be mended is.
    fix_method: Option<FixMethod>,
    /// Reads what it has printed; none if that makes no sense.
    parse: fn(&CheckOutput<'_>) -> Option<Vec<LintFinding>>,
    /// Whether it looks at whole projects only.
    is_whole_project: bool,
    /// How it is used when no file says so.
    default_use: LinterDefault,
    /// Where it comes from.
    source: PackageSource,
    /// As what.
    package: &'static str,
}

/// Whether a linter is used although no file of the project says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinterDefault {
    /// It is the one for its files: used, and missed if it is not there.
    Expected,
    /// Used if it is there and no other is for these files.
    IfInstalled,
    /// Only if it is asked for by name.
    OnRequest,
}

/// How what a linter finds is mended.
#[derive(Debug, Clone, Copy)]
enum FixMethod {
    /// It does that, called with these words.
    Command(fn(&LintTask) -> Vec<String>),
    /// It tells what to write instead.
    Edits(fn(&CheckOutput<'_>) -> Vec<Vec<LintEdit>>),
}

/// What a linter is to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintTask {
    /// The path, from the folder that it runs in; or the files, if others look
    /// at some of those that are there. None if the project names them itself.
    pub targets: Vec<String>,
    /// The same for each file at or below it, for linters that want names.
    pub files: Vec<String>,
}

/// A linter that is to run.
#[derive(Debug, Clone)]
pub struct ChosenLinter {
    /// Which.
    pub linter: &'static Linter,
    /// Why it was chosen, in words.
    pub reason: &'static str,
    /// Its program; none if it is missing.
    pub program: Option<PathBuf>,
    /// Where it runs.
    pub dir: PathBuf,
    /// What it looks at.
    pub task: LintTask,
    /// All files there are its.
    covered_dir: PathBuf,
    /// The command that installs it.
    pub install: String,
}

/// Files whose names are given to one command.
const MAX_FILE_ARGS: usize = 400;

impl ChosenLinter {
    /// The words of its command, without the program.
    pub fn args(&self) -> Vec<String> {
        (self.linter.args)(&self.task)
    }

    /// Whether something can be mended.
    pub fn can_fix(&self) -> bool {
        self.linter.fix_method.is_some()
    }

    /// The words that have it mend what it can; none if it does not.
    pub fn fix_args(&self) -> Option<Vec<String>> {
        match self.linter.fix_method {
            Some(FixMethod::Command(words)) => Some(words(&self.task)),
            _ => None,
        }
    }

    /// What is to be written instead, in groups that go together.
    pub fn edits(&self, said: &CheckOutput<'_>) -> Vec<Vec<LintEdit>> {
        match self.linter.fix_method {
            Some(FixMethod::Edits(read)) => read(said),
            _ => Vec::new(),
        }
    }

    /// Reads what it has printed. None if it has failed.
    pub fn parse(&self, said: &CheckOutput<'_>, code: i32) -> Option<Vec<LintFinding>> {
        let found = (self.linter.parse)(said)?;
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
    fn by_file(mut self) -> Self {
        self.task.targets = self.task.files.clone();
        self
    }

    /// Whether it may tell of more than was asked for.
    pub fn is_whole_project(&self) -> bool {
        self.linter.is_whole_project
    }
}

/// The linters for what was asked: the one of this name, or those that the
/// project uses. Where only folders below the path say that they use one, it
/// looks at each of these by itself. An unknown name is an error with all names.
pub fn choose_linters(
    survey: &ProjectSurvey,
    name: Option<&str>,
) -> Result<Vec<ChosenLinter>, Vec<&'static str>> {
    if let Some(name) = name {
        let wanted = name.to_ascii_lowercase();
        let found = LINTERS.iter().find(|linter| linter.name == wanted || linter.program == wanted);
        let linter =
            found.ok_or_else(|| LINTERS.iter().map(|linter| linter.name).collect::<Vec<_>>())?;
        let parts = choose_in_subdirs(survey, linter, "asked for");
        return Ok(if parts.is_empty() {
            vec![make_choice(survey, linter, "asked for")]
        } else {
            parts
        });
    }
    let here: Vec<_> =
        LINTERS.iter().filter(|linter| survey.has_files(linter.file_patterns)).collect();
    let mut chosen: Vec<ChosenLinter> = Vec::new();
    for linter in &here {
        match is_configured(survey, linter) {
            true => chosen.push(make_choice(survey, linter, "configured")),
            false => chosen.extend(choose_in_subdirs(survey, linter, "configured")),
        }
    }
    for linter in here.into_iter().filter(|linter| linter.default_use != LinterDefault::OnRequest) {
        let Some(rest) = uncovered_files(survey, linter, &chosen) else { continue };
        let is_rest = rest.files.len() < survey.files.len();
        let choice = |linter, why| match is_rest {
            true => make_choice(&rest, linter, why).by_file(),
            false => make_choice(&rest, linter, why),
        };
        let usual = choice(linter, "usual for these files");
        if usual.program.is_some() {
            chosen.push(usual);
        } else if linter.default_use == LinterDefault::Expected {
            // One that is there is better than one that is not.
            let other = LINTERS.iter().find(|other| {
                other.default_use == LinterDefault::IfInstalled
                    && shares_files(other, linter)
                    && is_installed(survey, other)
            });
            chosen.push(other.map_or(usual, |other| choice(other, "installed")));
        }
    }
    Ok(chosen)
}

/// Whether the folder of the path, or one above it, says that it is used.
fn is_configured(survey: &ProjectSurvey, linter: &Linter) -> bool {
    survey.dirs.iter().any(|folder| (linter.is_configured)(folder))
}

/// The linter in each of the folders below that say that they use it; none if
/// the whole says so.
fn choose_in_subdirs(
    survey: &ProjectSurvey,
    linter: &'static Linter,
    why: &'static str,
) -> Vec<ChosenLinter> {
    if is_configured(survey, linter) {
        return Vec::new();
    }
    let parts = survey
        .outermost_subdirs(linter.is_configured)
        .into_iter()
        .map(|folder| survey.narrowed_to(folder));
    let parts = parts.filter(|part| part.has_files(linter.file_patterns));
    parts.map(|part| make_choice(&part, linter, why)).collect()
}

/// The files of a linter that none of those for the same files looks at; none
/// if there are no such files.
fn uncovered_files(
    survey: &ProjectSurvey,
    linter: &Linter,
    chosen: &[ChosenLinter],
) -> Option<ProjectSurvey> {
    let serving = || chosen.iter().filter(|choice| shares_files(choice.linter, linter));
    // One that looks at whole projects needs one around the files.
    let is_lost = linter.is_whole_project && survey.nearest(linter.root_markers).is_none();
    if is_lost && serving().next().is_some() {
        return None;
    }
    let mut rest = survey.clone();
    rest.files.retain(|file| {
        !survey.matches_file(file, linter.file_patterns)
            || !serving().any(|other| file.starts_with(&other.covered_dir))
    });
    rest.has_files(linter.file_patterns).then_some(rest)
}

fn shares_files(one: &Linter, other: &Linter) -> bool {
    one.file_patterns.iter().any(|ending| other.file_patterns.contains(ending))
}

fn is_installed(survey: &ProjectSurvey, linter: &Linter) -> bool {
    find_program(survey, linter).is_some()
}

fn find_program(survey: &ProjectSurvey, linter: &Linter) -> Option<PathBuf> {
    // Clippy is a program that only cargo can start.
    if linter.name == "clippy" {
        return survey.program("cargo-clippy").and(survey.program("cargo"));
    }
    let other = (linter.name == "markdownlint").then_some("markdownlint");
    survey.program(linter.program).or_else(|| other.and_then(|name| survey.program(name)))
}

fn make_choice(survey: &ProjectSurvey, linter: &'static Linter, why: &'static str) -> ChosenLinter {
    let folder =
        survey.nearest(linter.root_markers).map_or(survey.base_dir(), |folder| &folder.path);
    let target = relative_arg(&survey.path, folder);
    // What a project says itself is lost if a path is given.
    let root = survey.dirs.iter().find(|root| root.path == folder);
    let is_told =
        target == "." && root.is_some_and(|root| table::configures_files(linter.name, root));
    let targets = if is_told { Vec::new() } else { vec![target] };
    let files = survey
        .files_matching(linter.file_patterns)
        .take(MAX_FILE_ARGS)
        .map(|file| relative_arg(file, folder))
        .collect();
    ChosenLinter {
        linter,
        reason: why,
        program: find_program(survey, linter),
        dir: folder.to_owned(),
        task: LintTask { targets, files },
        covered_dir: survey.path.clone(),
        install: install_command(survey, linter.source, linter.package),
    }
}

/// A path from a folder on, in a form that no program takes for an option.
pub(crate) fn relative_arg(path: &Path, folder: &Path) -> String {
    match path.strip_prefix(folder) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => format!("./{}", rest.display()),
        Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
#[path = "lint_tests.rs"]
mod tests;
