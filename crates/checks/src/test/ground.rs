//! Where tests are run: in the root of their project, or of a part of it, as
//! people and their machines do. A folder that only holds tests is none.

use std::path::Path;

use super::{RUNNERS, Runner, table};
use crate::survey::{Folder, Survey};

/// How sure the folders up to this one are that the runner is used, and used
/// from here.
pub(super) fn sign(survey: &Survey, at: usize, runner: &Runner) -> u8 {
    let Some(folder) = survey.folders.get(at) else { return 0 };
    let own = (runner.sign)(folder);
    if runner.endings == ["py"] {
        return if is_ground(survey, at) { gathered(survey, at, runner) } else { 0 };
    }
    let outer = || survey.folders.iter().skip(at + 1);
    match runner.name {
        // Its settings are those of the whole workspace.
        "nextest" if own == 0 && folder.names.contains("Cargo.toml") => {
            outer().map(|folder| (runner.sign)(folder)).max().unwrap_or_default()
        }
        // A manifest that says nothing of tests leaves it to the one above.
        "node" if own == table::WEAK && outer().any(says_more) => 0,
        _ => own,
    }
}

fn says_more(folder: &Folder) -> bool {
    let scripts = RUNNERS.iter().filter(|runner| runner.endings.contains(&"js"));
    scripts.into_iter().any(|runner| (runner.sign)(folder) >= table::SURE)
}

/// What is said by this folder and by those below it that are no roots.
fn gathered(survey: &Survey, at: usize, runner: &Runner) -> u8 {
    let begin = (0..at).rev().find(|&inner| is_ground(survey, inner)).map_or(0, |it| it + 1);
    let folders = survey.folders.iter().take(at + 1).skip(begin);
    folders.map(|folder| (runner.sign)(folder)).max().unwrap_or_default()
}

/// Whether a folder is the root of a Python project, of a repository, or the
/// outermost that was looked at.
fn is_ground(survey: &Survey, at: usize) -> bool {
    const MARKS: &[&str] = &[
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "noxfile.py",
        "Pipfile",
    ];
    let Some(folder) = survey.folders.get(at) else { return false };
    let has = |name: &&str| folder.names.contains(*name);
    at + 1 == survey.folders.len()
        || MARKS.iter().any(has)
        || is_repository(folder)
        || (has(&"requirements.txt") && !is_for_tests(&folder.path))
}

fn is_repository(folder: &Folder) -> bool {
    [".git", ".hg"].iter().any(|name| folder.names.contains(*name))
}

fn is_for_tests(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    matches!(name, "tests" | "test")
}

/// Where what says nothing of itself is run: the root of the repository, or
/// the outermost folder that was looked at.
pub(super) fn base(survey: &Survey) -> Option<&Folder> {
    let mut folders = survey.folders.iter();
    folders.find(|folder| is_repository(folder)).or(survey.folders.last())
}
