//! Test runners: which ones a project has, how they are called, what they say.

mod aim;
mod case;
mod go;
mod ground;
mod guess;
mod junit;
mod libtest;
mod met;
mod nextest;
mod node;
mod parts;
mod printed;
mod script;
mod spoken;
mod table;
mod trace;
mod unittest;
mod words;

use std::path::PathBuf;

use crate::Said;
use crate::install::{Home, install};
use crate::lint::below;
use crate::survey::{Folder, Survey};

pub use aim::Aim;
pub use case::{Case, Outcome, Results};
pub use table::RUNNERS;

/// A test runner.
#[derive(Debug, Clone, Copy)]
pub struct Runner {
    /// Its name, as a caller writes it.
    pub name: &'static str,
    /// The program that it is started with.
    pub program: &'static str,
    /// Files that its tests are in.
    endings: &'static [&'static str],
    /// How sure a folder is that it is used: nought is not at all.
    sign: fn(&Folder) -> u8,
    /// The words of its command, without the program.
    words: fn(&Wish) -> Vec<String>,
    /// The words of a run of ours, from those and the file for its report.
    reporting: fn(Vec<String>, &str) -> Vec<String>,
    /// Whether it writes its report into a file.
    pub reports: bool,
    /// Whether it can run some of the tests.
    pub filters: bool,
    /// Reads what it has printed or reported; none if that makes no sense.
    read: fn(&Said<'_>, i32) -> Option<Results>,
    /// Where it comes from.
    home: Home,
    /// As what.
    package: &'static str,
}

/// Which tests are to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
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
    pub folder: Option<String>,
    /// How often nothing was found: at first, names are taken as they are.
    pub tries: u8,
}

impl Wish {
    /// Whether just the tests of this name are meant, and not those like it.
    fn is_strict(&self) -> bool {
        self.tries == 0
    }

    /// The names around a test and its own, where people also put ` > ` between.
    fn names(&self) -> Vec<&str> {
        self.name.iter().flat_map(|part| part.split(" > ")).collect()
    }
}

/// A runner that is to run.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Which.
    pub runner: &'static Runner,
    /// Its program; none if it is missing.
    pub program: Option<PathBuf>,
    /// Where it runs.
    pub folder: PathBuf,
    /// The path, from there.
    pub target: String,
    /// The command that installs it.
    pub install: String,
    /// Other runners that would have been possible.
    pub others: Vec<&'static str>,
    /// Folders below whose tests are not among those that it runs, with the
    /// runners for them.
    pub left_out: Vec<(PathBuf, &'static str)>,
    /// Folders below whose tests it runs without saying much of them, with the
    /// runners that say more.
    pub inner: Vec<(PathBuf, &'static str)>,
    tests: Option<String>,
    /// Where it runs, without links.
    real: PathBuf,
}

impl Choice {
    /// The words of its command, without the program.
    pub fn words(&self, wish: Wish) -> Vec<String> {
        (self.runner.words)(&Wish { folder: self.tests.clone(), ..wish })
    }

    /// The words of a run whose report is read, from those of its command.
    pub fn reporting(&self, words: Vec<String>, report: &str) -> Vec<String> {
        (self.runner.reporting)(words, report)
    }

    /// Reads what it has printed, and the code that it ended with.
    pub fn read(&self, said: &Said<'_>, code: i32) -> Option<Results> {
        let mut results = (self.runner.read)(said, code)?;
        self.anchor(&mut results);
        Some(results)
    }

    /// Those of the tests, by their ids, that are meant.
    pub fn within(&self, ids: Vec<String>, targets: &[String]) -> Vec<String> {
        // Other runners are told of both.
        if self.runner.name == "pytest" { aim::within(ids, targets) } else { ids }
    }

    /// Files and ids of tests are told from where the runner runs, also where
    /// it takes another folder for the root.
    fn anchor(&self, results: &mut Results) {
        let Some(root) = results.root.take().map(PathBuf::from) else { return };
        if root == self.folder || root == self.real {
            return;
        }
        let told = |name: &str| {
            let (file, rest) = name.split_at(name.find("::").unwrap_or(name.len()));
            let path = root.join(file);
            let near = path.strip_prefix(&self.folder).or(path.strip_prefix(&self.real));
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
pub enum NoRunner {
    /// There is none of this name; these there are.
    Unknown(Vec<&'static str>),
    /// Nothing says how the project is tested.
    Unsaid,
}

/// The runner for what was asked: the one of this name, or the one that the
/// project uses.
pub fn choose(survey: &Survey, name: Option<&str>) -> Result<Choice, NoRunner> {
    if let Some(name) = name {
        let wanted = name.to_ascii_lowercase();
        let runner = RUNNERS
            .iter()
            .find(|runner| runner.name == wanted)
            .ok_or_else(|| NoRunner::Unknown(RUNNERS.iter().map(|runner| runner.name).collect()))?;
        let parts = survey.parts(|folder| (runner.sign)(folder) > 0);
        if let ([part], None) = (parts.as_slice(), signed(survey, runner)) {
            return Ok(choice(&survey.part(part), runner, None, Vec::new()));
        }
        return Ok(choice(survey, runner, None, Vec::new()));
    }
    let mut choice = choose_here(survey)?;
    (choice.inner, choice.left_out) = parts::split(survey, &choice);
    Ok(choice)
}

fn choose_here(survey: &Survey) -> Result<Choice, NoRunner> {
    // A file says itself which language is meant.
    let is_told = survey.is_file && RUNNERS.iter().any(|runner| survey.has(runner.endings));
    for (at, folder) in survey.folders.iter().enumerate() {
        let weighed = |runner| weigh(survey, ground::sign(survey, at, runner), runner);
        let mut fit: Vec<(u8, bool, &'static Runner)> = RUNNERS
            .iter()
            .map(|runner| (weighed(runner), survey.has(runner.endings), runner))
            .filter(|(sign, ..)| *sign > 0)
            .collect();
        if is_told {
            let is_known = fit.iter().any(|(_, is_for, _)| *is_for);
            fit.retain(|(_, is_for, runner)| *is_for || (!is_known && runner.endings.is_empty()));
        }
        fit.sort_by_key(|(sign, is_for, _)| std::cmp::Reverse((*is_for, *sign)));
        let mut fit = fit.into_iter().map(|(_, _, runner)| runner);
        if let Some(runner) = fit.next() {
            let others = fit.map(|runner| runner.name).collect();
            return Ok(choice(survey, runner, Some(folder), others));
        }
    }
    if let Some((part, runner)) = parts::only(survey) {
        return Ok(choice(&survey.part(part), runner, None, Vec::new()));
    }
    let runner = table::by_files(survey).ok_or(NoRunner::Unsaid)?;
    Ok(choice(survey, runner, None, Vec::new()))
}

fn signed<'a>(survey: &'a Survey, runner: &Runner) -> Option<&'a Folder> {
    let mut folders = survey.folders.iter().enumerate();
    folders.find(|(at, _)| ground::sign(survey, *at, runner) > 0).map(|(_, folder)| folder)
}

fn weigh(survey: &Survey, sign: u8, runner: &Runner) -> u8 {
    // Without a word about either, the one that is there is taken.
    let is_there = find(survey, runner).is_some();
    let is_needed = sign == table::WEAK || runner.name == "nextest";
    if is_needed && !is_there { 0 } else { sign }
}

fn find(survey: &Survey, runner: &Runner) -> Option<PathBuf> {
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

fn choice(
    survey: &Survey,
    runner: &'static Runner,
    folder: Option<&Folder>,
    others: Vec<&'static str>,
) -> Choice {
    let folder = folder.or(signed(survey, runner)).or(ground::base(survey));
    let path = folder.map_or(survey.here(), |folder| &folder.path);
    let tests = folder.and_then(|folder| {
        if runner.name == "make" {
            return table::target(folder).map(str::to_owned);
        }
        ["tests", "test"].into_iter().find(|name| folder.names.contains(*name)).map(str::to_owned)
    });
    Choice {
        runner,
        program: find(survey, runner),
        folder: path.to_owned(),
        target: below(&survey.path, path),
        install: install(survey, runner.home, runner.package),
        others,
        left_out: Vec::new(),
        inner: Vec::new(),
        tests,
        real: folder.map_or_else(|| path.to_owned(), |folder| folder.real.clone()),
    }
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod tests;
