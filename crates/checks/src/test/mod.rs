//! Test runners: detection, command lines, and parsing of results.

mod case;
mod command_args;
mod console_output;
mod go;
mod guess;
mod js_reports;
mod junit;
mod libtest;
mod matching;
mod nextest;
mod node;
mod pytest_output;
mod selection;
mod subprojects;
mod table;
mod test_root;
mod trace;
mod unittest;

use std::path::PathBuf;

use crate::CheckOutput;
use crate::install::{PackageSource, install_command};
use crate::lint::relative_arg;
use crate::survey::{ProjectDir, ProjectSurvey};

pub use case::{TestCase, TestOutcome, TestResults};
pub use selection::TestSelection;
pub use table::RUNNERS;

/// A test runner.
#[derive(Debug, Clone, Copy)]
pub struct TestRunner {
    /// Name that callers use.
    pub name: &'static str,
    /// Program to start.
    pub program: &'static str,
    /// Patterns of the files that contain its tests.
    file_patterns: &'static [&'static str],
    /// Confidence that a directory uses this runner; 0 means it does not.
    confidence: fn(&ProjectDir) -> u8,
    /// Builds its arguments, without the program.
    args: fn(&TestRequest) -> Vec<String>,
    /// Adds the arguments for a report to those; the second parameter is the
    /// report file.
    report_args: fn(Vec<String>, &str) -> Vec<String>,
    /// Whether it writes its report to a file.
    pub writes_report: bool,
    /// Whether it can run a subset of the tests.
    pub can_filter: bool,
    /// Parses its output or report; `None` if that is not possible.
    parse: fn(&CheckOutput<'_>, i32) -> Option<TestResults>,
    /// Package manager that installs it.
    source: PackageSource,
    /// Package name.
    package: &'static str,
}

/// Selection of tests to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestRequest {
    /// Files and directories, relative to the directory it runs in; empty for
    /// all.
    pub targets: Vec<String>,
    /// A test in them: the names of its groups and its own.
    pub name: Vec<String>,
    /// Part of a test name.
    pub filter: Option<String>,
    /// Ids of the only tests to run.
    pub only: Vec<String>,
    /// Report file.
    pub report: String,
    /// The separate directory that contains the tests; for make, the target.
    pub test_dir: Option<String>,
    /// Number of attempts that found nothing; the first one matches names
    /// exactly.
    pub attempt: u8,
}

impl TestRequest {
    /// Whether only tests with exactly this name are requested.
    fn is_exact(&self) -> bool {
        self.attempt == 0
    }

    /// The names of the groups and of the test; users may also separate them
    /// with ` > `.
    fn names(&self) -> Vec<&str> {
        self.name.iter().flat_map(|part| part.split(" > ")).collect()
    }
}

/// A runner with everything needed to start it.
#[derive(Debug, Clone)]
pub struct ChosenRunner {
    /// The runner itself.
    pub runner: &'static TestRunner,
    /// Its program; `None` if it is not installed.
    pub program: Option<PathBuf>,
    /// Directory it runs in.
    pub dir: PathBuf,
    /// The requested path, relative to that directory.
    pub target: String,
    /// Command that installs it.
    pub install: String,
    /// Other runners that would be possible.
    pub alternatives: Vec<&'static str>,
    /// Subdirectories whose tests it does not run, with their runners.
    pub left_out: Vec<(PathBuf, &'static str)>,
    /// Subdirectories whose tests it runs without details, with the runners
    /// that report more.
    pub delegated: Vec<(PathBuf, &'static str)>,
    test_dir: Option<String>,
    /// Directory it runs in, with symlinks resolved.
    real_dir: PathBuf,
}

impl ChosenRunner {
    /// Returns its arguments, without the program.
    pub fn args(&self, wish: TestRequest) -> Vec<String> {
        (self.runner.args)(&TestRequest { test_dir: self.test_dir.clone(), ..wish })
    }

    /// Adds the arguments for a report to those of the command.
    pub fn report_args(&self, words: Vec<String>, report: &str) -> Vec<String> {
        (self.runner.report_args)(words, report)
    }

    /// Parses its output and exit code.
    pub fn parse(&self, said: &CheckOutput<'_>, code: i32) -> Option<TestResults> {
        let mut results = (self.runner.parse)(said, code)?;
        self.rebase_paths(&mut results);
        Some(results)
    }

    /// Returns the ids that are in the target files.
    pub fn filter_ids(&self, ids: Vec<String>, targets: &[String]) -> Vec<String> {
        // Other runners receive both ids and targets.
        if self.runner.name == "pytest" { selection::filter_ids(ids, targets) } else { ids }
    }

    /// Makes files and ids relative to the directory the runner runs in, if the
    /// runner uses a different root.
    fn rebase_paths(&self, results: &mut TestResults) {
        let Some(root) = results.root.take().map(PathBuf::from) else { return };
        if root == self.dir || root == self.real_dir {
            return;
        }
        let shown = |name: &str| {
            let (file, rest) = name.split_at(name.find("::").unwrap_or(name.len()));
            let path = root.join(file);
            let near = path.strip_prefix(&self.dir).or(path.strip_prefix(&self.real_dir));
            format!("{}{rest}", near.unwrap_or(&path).display())
        };
        for case in &mut results.cases {
            case.file = case.file.as_deref().map(shown);
            case.id = shown(&case.id);
            case.name = shown(&case.name);
        }
    }
}

/// Reason why no runner was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerError {
    /// No runner has this name; contains the known names.
    Unknown(Vec<&'static str>),
    /// The project does not configure a test runner.
    NotConfigured,
}

/// Chooses a runner: the named one, or the one that the project uses.
pub fn choose_runner(
    survey: &ProjectSurvey,
    name: Option<&str>,
) -> Result<ChosenRunner, RunnerError> {
    if let Some(name) = name {
        let wanted = name.to_ascii_lowercase();
        let runner = RUNNERS.iter().find(|runner| runner.name == wanted).ok_or_else(|| {
            RunnerError::Unknown(RUNNERS.iter().map(|runner| runner.name).collect())
        })?;
        let parts = survey.outermost_subdirs(|dir| (runner.confidence)(dir) > 0);
        if let ([part], None) = (parts.as_slice(), runner_dir(survey, runner)) {
            return Ok(make_choice(&survey.narrowed_to(part), runner, None, Vec::new()));
        }
        return Ok(make_choice(survey, runner, None, Vec::new()));
    }
    let mut choice = detect_runner(survey)?;
    (choice.delegated, choice.left_out) = subprojects::split_subprojects(survey, &choice);
    Ok(choice)
}

fn detect_runner(survey: &ProjectSurvey) -> Result<ChosenRunner, RunnerError> {
    // The language of a file is known from its name.
    let is_reported =
        survey.is_file && RUNNERS.iter().any(|runner| survey.has_files(runner.file_patterns));
    for (at, dir) in survey.dirs.iter().enumerate() {
        let weighed = |runner| {
            adjusted_confidence(survey, test_root::runner_confidence(survey, at, runner), runner)
        };
        let mut fit: Vec<(u8, bool, &'static TestRunner)> = RUNNERS
            .iter()
            .map(|runner| (weighed(runner), survey.has_files(runner.file_patterns), runner))
            .filter(|(sign, ..)| *sign > 0)
            .collect();
        if is_reported {
            let is_known = fit.iter().any(|(_, is_for, _)| *is_for);
            fit.retain(|(_, is_for, runner)| {
                *is_for || (!is_known && runner.file_patterns.is_empty())
            });
        }
        fit.sort_by_key(|(sign, is_for, _)| std::cmp::Reverse((*is_for, *sign)));
        let mut fit = fit.into_iter().map(|(_, _, runner)| runner);
        if let Some(runner) = fit.next() {
            let others = fit.map(|runner| runner.name).collect();
            return Ok(make_choice(survey, runner, Some(dir), others));
        }
    }
    if let Some((part, runner)) = subprojects::sole_subproject(survey) {
        return Ok(make_choice(&survey.narrowed_to(part), runner, None, Vec::new()));
    }
    let runner = table::runner_by_files(survey).ok_or(RunnerError::NotConfigured)?;
    Ok(make_choice(survey, runner, None, Vec::new()))
}

fn runner_dir<'a>(survey: &'a ProjectSurvey, runner: &TestRunner) -> Option<&'a ProjectDir> {
    let mut dirs = survey.dirs.iter().enumerate();
    dirs.find(|(at, _)| test_root::runner_confidence(survey, *at, runner) > 0).map(|(_, dir)| dir)
}

fn adjusted_confidence(survey: &ProjectSurvey, sign: u8, runner: &TestRunner) -> u8 {
    // If the project configures neither, the installed one is used.
    let is_there = find_program(survey, runner).is_some();
    let is_needed = sign == table::CONFIDENCE_LANGUAGE || runner.name == "nextest";
    if is_needed && !is_there { 0 } else { sign }
}

fn find_program(survey: &ProjectSurvey, runner: &TestRunner) -> Option<PathBuf> {
    match runner.name {
        "unittest" => survey.python(),
        // A pytest from another environment cannot import the dependencies of
        // the project.
        "pytest" if survey.has_own_python() => survey.own_program("pytest"),
        "nextest" => survey.program("cargo-nextest").and(survey.program("cargo")),
        "npm" => ["pnpm-lock.yaml", "yarn.lock", "bun.lock"]
            .into_iter()
            .zip(["pnpm", "yarn", "bun"])
            .find(|(lock, _)| survey.nearest(&[lock]).is_some())
            .and_then(|(_, program)| survey.program(program))
            .or_else(|| survey.program("npm")),
        _ => survey.program(runner.program),
    }
}

fn make_choice(
    survey: &ProjectSurvey,
    runner: &'static TestRunner,
    directory: Option<&ProjectDir>,
    others: Vec<&'static str>,
) -> ChosenRunner {
    let directory = directory.or(runner_dir(survey, runner)).or(test_root::fallback_dir(survey));
    let path = directory.map_or(survey.base_dir(), |directory| &directory.path);
    let tests = directory.and_then(|directory| {
        if runner.name == "make" {
            return table::make_test_target(directory).map(str::to_owned);
        }
        ["tests", "test"]
            .into_iter()
            .find(|name| directory.names.contains(*name))
            .map(str::to_owned)
    });
    ChosenRunner {
        runner,
        program: find_program(survey, runner),
        dir: path.to_owned(),
        target: relative_arg(&survey.path, path),
        install: install_command(survey, runner.source, runner.package),
        alternatives: others,
        left_out: Vec::new(),
        delegated: Vec::new(),
        test_dir: tests,
        real_dir: directory
            .map_or_else(|| path.to_owned(), |directory| directory.real_path.clone()),
    }
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod tests;
