//! Where tests are run: in the root of their project, or of a part of it, as
//! people and their machines do. A folder that only holds tests is none.

use std::path::Path;

use super::{RUNNERS, TestRunner, table};
use crate::survey::{ProjectDir, ProjectSurvey};

/// How sure the folders up to this one are that the runner is used, and used
/// from here.
pub(super) fn runner_confidence(survey: &ProjectSurvey, at: usize, runner: &TestRunner) -> u8 {
    let Some(folder) = survey.dirs.get(at) else { return 0 };
    let own = (runner.confidence)(folder);
    if runner.file_patterns == ["py"] {
        return if is_test_root(survey, at) { subtree_confidence(survey, at, runner) } else { 0 };
    }
    let outer = || survey.dirs.iter().skip(at + 1);
    match runner.name {
        // Its settings are those of the whole workspace.
        "nextest" if own == 0 && folder.names.contains("Cargo.toml") => {
            outer().map(|folder| (runner.confidence)(folder)).max().unwrap_or_default()
        }
        // A manifest that says nothing of tests leaves it to the one above.
        "node" if own == table::CONFIDENCE_LANGUAGE && outer().any(has_sure_runner) => 0,
        _ => own,
    }
}

fn has_sure_runner(folder: &ProjectDir) -> bool {
    let scripts = RUNNERS.iter().filter(|runner| runner.file_patterns.contains(&"js"));
    scripts.into_iter().any(|runner| (runner.confidence)(folder) >= table::CONFIDENCE_SURE)
}

/// What is said by this folder and by those below it that are no roots.
fn subtree_confidence(survey: &ProjectSurvey, at: usize, runner: &TestRunner) -> u8 {
    let begin = (0..at).rev().find(|&inner| is_test_root(survey, inner)).map_or(0, |it| it + 1);
    let folders = survey.dirs.iter().take(at + 1).skip(begin);
    folders.map(|folder| (runner.confidence)(folder)).max().unwrap_or_default()
}

/// Whether a folder is the root of a Python project, of a repository, or the
/// outermost that was looked at.
fn is_test_root(survey: &ProjectSurvey, at: usize) -> bool {
    const PYTHON_ROOT_MARKERS: &[&str] = &[
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "noxfile.py",
        "Pipfile",
    ];
    let Some(folder) = survey.dirs.get(at) else { return false };
    let has = |name: &&str| folder.names.contains(*name);
    at + 1 == survey.dirs.len()
        || PYTHON_ROOT_MARKERS.iter().any(has)
        || is_repository(folder)
        || (has(&"requirements.txt") && !is_tests_dir(&folder.path))
}

fn is_repository(folder: &ProjectDir) -> bool {
    [".git", ".hg"].iter().any(|name| folder.names.contains(*name))
}

fn is_tests_dir(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    matches!(name, "tests" | "test")
}

/// Where what says nothing of itself is run: the root of the repository, or
/// the outermost folder that was looked at.
pub(super) fn fallback_dir(survey: &ProjectSurvey) -> Option<&ProjectDir> {
    let mut folders = survey.dirs.iter();
    folders.find(|folder| is_repository(folder)).or(survey.dirs.last())
}
