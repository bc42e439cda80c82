//! Linters: detection, command lines and output parsing.

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
    /// Its name in tool arguments.
    pub name: &'static str,
    /// Its executable.
    pub program: &'static str,
    /// The files it checks: extensions, or `=Name`.
    pub file_patterns: &'static [&'static str],
    /// Whether a directory configures it.
    is_configured: fn(&ProjectDir) -> bool,
    /// The nearest of these files determines its working directory; if empty,
    /// the directory of the path.
    root_markers: &'static [&'static str],
    /// Arguments of its command.
    args: fn(&LintTask) -> Vec<String>,
    /// How its findings are fixed.
    fix_method: Option<FixMethod>,
    /// Parses its output; `None` if it is not understood.
    parse: fn(&CheckOutput<'_>) -> Option<Vec<LintFinding>>,
    /// Whether it can only check whole projects.
    is_whole_project: bool,
    /// Whether it is used without configuration.
    default_use: LinterDefault,
    /// Where to install it from.
    source: PackageSource,
    /// Name of the package.
    package: &'static str,
}

/// Whether a linter is used without configuration in the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinterDefault {
    /// The standard linter for its files: used, and reported if missing.
    Expected,
    /// Used if installed and no other covers these files.
    IfInstalled,
    /// Used only if requested by name.
    OnRequest,
}

/// How the findings of a linter are fixed.
#[derive(Debug, Clone, Copy)]
enum FixMethod {
    /// The linter fixes them when run with these arguments.
    Command(fn(&LintTask) -> Vec<String>),
    /// The linter reports edits to apply.
    Edits(fn(&CheckOutput<'_>) -> Vec<Vec<LintEdit>>),
}

/// What a linter checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintTask {
    /// The path, relative to its working directory; or single files, if other
    /// linters cover some of them. Empty if the project configures the files.
    pub targets: Vec<String>,
    /// Each file at or below the path, for linters that need file names.
    pub files: Vec<String>,
}

/// A linter selected to run.
#[derive(Debug, Clone)]
pub struct ChosenLinter {
    /// Which.
    pub linter: &'static Linter,
    /// Why it was chosen.
    pub reason: &'static str,
    /// Its executable; `None` if missing.
    pub program: Option<PathBuf>,
    /// Its working directory.
    pub dir: PathBuf,
    /// What it checks.
    pub task: LintTask,
    /// The directory that it covers.
    covered_dir: PathBuf,
    /// The command that installs it.
    pub install: String,
}

/// Maximum number of file arguments per command.
const MAX_FILE_ARGS: usize = 400;

impl ChosenLinter {
    /// Returns the arguments of its command.
    pub fn args(&self) -> Vec<String> {
        (self.linter.args)(&self.task)
    }

    /// Whether it can fix findings.
    pub fn can_fix(&self) -> bool {
        self.linter.fix_method.is_some()
    }

    /// Arguments that make it fix what it can; `None` if it cannot.
    pub fn fix_args(&self) -> Option<Vec<String>> {
        match self.linter.fix_method {
            Some(FixMethod::Command(words)) => Some(words(&self.task)),
            _ => None,
        }
    }

    /// Parses the edits to apply, in groups that belong together.
    pub fn edits(&self, said: &CheckOutput<'_>) -> Vec<Vec<LintEdit>> {
        match self.linter.fix_method {
            Some(FixMethod::Edits(read)) => read(said),
            _ => Vec::new(),
        }
    }

    /// Parses its output; `None` if it failed.
    pub fn parse(&self, said: &CheckOutput<'_>, code: i32) -> Option<Vec<LintFinding>> {
        let found = (self.linter.parse)(said)?;
        // Without findings, the exit code shows whether it ran successfully.
        let is_well = code == 0 || !found.is_empty();
        is_well.then_some(found)
    }

    /// Whether this exit code means that it stopped before checking everything.
    pub fn is_partial(&self, code: i32) -> bool {
        // mypy: a blocking error, after which nothing else is checked.
        self.linter.name == "mypy" && code == 2
    }

    /// Restricts it to the files it was chosen for.
    fn by_file(mut self) -> Self {
        self.task.targets = self.task.files.clone();
        self
    }

    /// Whether it may report more than was requested.
    pub fn is_whole_project(&self) -> bool {
        self.linter.is_whole_project
    }
}

/// Selects the linter of this name, or those that the project uses. If only
/// subdirectories configure one, it runs separately in each of them. An unknown
/// name returns all valid names.
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
        let usual = choice(linter, "default for these files");
        if usual.program.is_some() {
            chosen.push(usual);
        } else if linter.default_use == LinterDefault::Expected {
            // Prefer an installed linter over a missing one.
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

/// Whether the directory of the path, or one above it, configures the linter.
fn is_configured(survey: &ProjectSurvey, linter: &Linter) -> bool {
    survey.dirs.iter().any(|dir| (linter.is_configured)(dir))
}

/// Selects the linter in each subdirectory that configures it; none if the
/// project as a whole does.
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
        .map(|dir| survey.narrowed_to(dir));
    let parts = parts.filter(|part| part.has_files(linter.file_patterns));
    parts.map(|part| make_choice(&part, linter, why)).collect()
}

/// Returns the files that no chosen linter covers; `None` if there are none.
fn uncovered_files(
    survey: &ProjectSurvey,
    linter: &Linter,
    chosen: &[ChosenLinter],
) -> Option<ProjectSurvey> {
    let serving = || chosen.iter().filter(|choice| shares_files(choice.linter, linter));
    // A whole-project linter needs a project around the files.
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
    // Clippy is started through cargo.
    if linter.name == "clippy" {
        return survey.program("cargo-clippy").and(survey.program("cargo"));
    }
    let other = (linter.name == "markdownlint").then_some("markdownlint");
    survey.program(linter.program).or_else(|| other.and_then(|name| survey.program(name)))
}

fn make_choice(survey: &ProjectSurvey, linter: &'static Linter, why: &'static str) -> ChosenLinter {
    let directory =
        survey.nearest(linter.root_markers).map_or(survey.base_dir(), |directory| &directory.path);
    let target = relative_arg(&survey.path, directory);
    // A path argument would override the files configured by the project.
    let root = survey.dirs.iter().find(|root| root.path == directory);
    let is_reported =
        target == "." && root.is_some_and(|root| table::configures_files(linter.name, root));
    let targets = if is_reported { Vec::new() } else { vec![target] };
    let files = survey
        .files_matching(linter.file_patterns)
        .take(MAX_FILE_ARGS)
        .map(|file| relative_arg(file, directory))
        .collect();
    ChosenLinter {
        linter,
        reason: why,
        program: find_program(survey, linter),
        dir: directory.to_owned(),
        task: LintTask { targets, files },
        covered_dir: survey.path.clone(),
        install: install_command(survey, linter.source, linter.package),
    }
}

/// Returns a path relative to a directory, in a form that cannot be mistaken
/// for an option.
pub(crate) fn relative_arg(path: &Path, dir: &Path) -> String {
    match path.strip_prefix(dir) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => format!("./{}", rest.display()),
        Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
#[path = "lint_tests.rs"]
mod tests;
