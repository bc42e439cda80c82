//! Test runners: which ones a project has, how they are called, what they say.

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
    /// Its name, as a caller writes it.
    pub name: &'static str,
    /// The program that it is started with.
    pub program: &'static str,
    /// Files that its tests are in.
    file_patterns: &'static [&'static str],
    /// How sure a folder is that it is used: nought is not at all.
    confidence: fn(&ProjectDir) -> u8,
    /// The words of its command, without the program.
    args: fn(&TestRequest) -> Vec<String>,
    /// The words of a run of ours, from those and the file for its report.
    report_args: fn(Vec<String>, &str) -> Vec<String>,
    /// Whether it writes its report into a file.
    pub writes_report: bool,
    /// Whether it can run some of the tests.
    pub can_filter: bool,
    /// Reads what it has printed or reported; none if that makes no sense.
    parse: fn(&CheckOutput<'_>, i32) -> Option<TestResults>,
    /// Where it comes from.
    source: PackageSource,
    /// As what.
    package: &'static str,
}

/// Which tests are to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestRequest {
    /// Files and folders, from the folder that it runs in; none for all.
    pub targets: Vec<String>,
    /// A test in them, by the names around it and its own.
    pub name: Vec<String>,
    /// Part of a name.
    pub filter: Option<String>,
    /// Only these, by their ids.
    pub only: Vec<String>,
    /// The file for the report.
    pub report: String,
    /// Whether the tests are below this folder of their own; for make, its target.
    pub test_dir: Option<String>,
    /// How often nothing was found: at first, names are taken as they are.
    pub attempt: u8,
}

impl TestRequest {
    /// Whether just the tests of this name are meant, and not those like it.
    fn is_exact(&self) -> bool {
        self.attempt == 0
    }

    /// The names around a test and its own, where people also put ` > ` between.
    fn names(&self) -> Vec<&str> {
        self.name.iter().flat_map(|part| part.split(" > ")).collect()
    }
}

/// A runner that is to run.
#[derive(Debug, Clone)]
pub struct ChosenRunner {
    /// Which.
    pub runner: &'static TestRunner,
    /// Its program; none if it is missing.
    pub program: Option<PathBuf>,
    /// Where it runs.
    pub dir: PathBuf,
    /// The path, from there.
    pub target: String,
    /// The command that installs it.
    pub install: String,
    /// Other runners that would have been possible.
    pub alternatives: Vec<&'static str>,
    /// Folders below whose tests are not among those that it runs, with the
    /// runners for them.
    pub left_out: Vec<(PathBuf, &'static str)>,
    /// Folders below whose tests it runs without saying much of them, with the
    /// runners that say more.
    pub delegated: Vec<(PathBuf, &'static str)>,
    test_dir: Option<String>,
    /// Where it runs, without links.
    real_dir: PathBuf,
}

impl ChosenRunner {
    /// The words of its command, without the program.
    pub fn args(&self, wish: TestRequest) -> Vec<String> {
        (self.runner.args)(&TestRequest { test_dir: self.test_dir.clone(), ..wish })
    }

    /// The words of a run whose report is read, from those of its command.
    pub fn report_args(&self, words: Vec<String>, report: &str) -> Vec<String> {
        (self.runner.report_args)(words, report)
    }

    /// Reads what it has printed, and the code that it ended with.
    pub fn parse(&self, said: &CheckOutput<'_>, code: i32) -> Option<TestResults> {
        let mut results = (self.runner.parse)(said, code)?;
        self.rebase_paths(&mut results);
        Some(results)
    }

    /// Those of the tests, by their ids, that are meant.
    pub fn filter_ids(&self, ids: Vec<String>, targets: &[String]) -> Vec<String> {
        // Other runners are told of both.
        if self.runner.name == "pytest" { selection::filter_ids(ids, targets) } else { ids }
    }

    /// Files and ids of tests are told from where the runner runs, also where
    /// it takes another folder for the root.
    fn rebase_paths(&self, results: &mut TestResults) {
        let Some(root) = results.root.take().map(PathBuf::from) else { return };
        if root == self.dir || root == self.real_dir {
            return;
        }
        let told = |name: &str| {
            let (file, rest) = name.split_at(name.find("::").unwrap_or(name.len()));
            let path = root.join(file);
            let near = path.strip_prefix(&self.dir).or(path.strip_prefix(&self.real_dir));
            format!("{}{rest}", near.unwrap_or(&path).display())
        };
        for case in &mut results.cases {
            case.file = case.file.as_deref().map(told);
            case.id = told(&case.id);
            case.name = told(&case.name);
        }
    }
}

/// Why no runner was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerError {
    /// There is none of this name; these there are.
    Unknown(Vec<&'static str>),
    /// Nothing says how the project is tested.
    NotConfigured,
}

/// The runner for what was asked: the one of this name, or the one that the
/// project uses.
pub fn choose_runner(
    survey: &ProjectSurvey,
    name: Option<&str>,
) -> Result<ChosenRunner, RunnerError> {
    if let Some(name) = name {
        let wanted = name.to_ascii_lowercase();
        let runner = RUNNERS.iter().find(|runner| runner.name == wanted).ok_or_else(|| {
            RunnerError::Unknown(RUNNERS.iter().map(|runner| runner.name).collect())
        })?;
        let parts = survey.outermost_subdirs(|folder| (runner.confidence)(folder) > 0);
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
    // A file says itself which language is meant.
    let is_told =
        survey.is_file && RUNNERS.iter().any(|runner| survey.has_files(runner.file_patterns));
    for (at, folder) in survey.dirs.iter().enumerate() {
        let weighed = |runner| {
            adjusted_confidence(survey, test_root::runner_confidence(survey, at, runner), runner)
        };
        let mut fit: Vec<(u8, bool, &'static TestRunner)> = RUNNERS
            .iter()
            .map(|runner| (weighed(runner), survey.has_files(runner.file_patterns), runner))
            .filter(|(sign, ..)| *sign > 0)
            .collect();
        if is_told {
            let is_known = fit.iter().any(|(_, is_for, _)| *is_for);
            fit.retain(|(_, is_for, runner)| {
                *is_for || (!is_known && runner.file_patterns.is_empty())
            });
        }
        fit.sort_by_key(|(sign, is_for, _)| std::cmp::Reverse((*is_for, *sign)));
        let mut fit = fit.into_iter().map(|(_, _, runner)| runner);
        if let Some(runner) = fit.next() {
            let others = fit.map(|runner| runner.name).collect();
            return Ok(make_choice(survey, runner, Some(folder), others));
        }
    }
    if let Some((part, runner)) = subprojects::sole_subproject(survey) {
        return Ok(make_choice(&survey.narrowed_to(part), runner, None, Vec::new()));
    }
    let runner = table::runner_by_files(survey).ok_or(RunnerError::NotConfigured)?;
    Ok(make_choice(survey, runner, None, Vec::new()))
}

fn runner_dir<'a>(survey: &'a ProjectSurvey, runner: &TestRunner) -> Option<&'a ProjectDir> {
    let mut folders = survey.dirs.iter().enumerate();
    folders
        .find(|(at, _)| test_root::runner_confidence(survey, *at, runner) > 0)
        .map(|(_, folder)| folder)
}

fn adjusted_confidence(survey: &ProjectSurvey, sign: u8, runner: &TestRunner) -> u8 {
    // Without a word about either, the one that is there is taken.
    let is_there = find_program(survey, runner).is_some();
    let is_needed = sign == table::CONFIDENCE_LANGUAGE || runner.name == "nextest";
    if is_needed && !is_there { 0 } else { sign }
}

fn find_program(survey: &ProjectSurvey, runner: &TestRunner) -> Option<PathBuf> {
    match runner.name {
        "unittest" => survey.python(),
        // Another environment's does not know what the project imports.
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
    folder: Option<&ProjectDir>,
    others: Vec<&'static str>,
) -> ChosenRunner {
    let folder = folder.or(runner_dir(survey, runner)).or(test_root::fallback_dir(survey));
    let path = folder.map_or(survey.base_dir(), |folder| &folder.path);
    let tests = folder.and_then(|folder| {
        if runner.name == "make" {
            return table::make_test_target(folder).map(str::to_owned);
        }
        ["tests", "test"].into_iter().find(|name| folder.names.contains(*name)).map(str::to_owned)
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
        real_dir: folder.map_or_else(|| path.to_owned(), |folder| folder.real_path.clone()),
    }
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod tests;
