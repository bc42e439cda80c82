//! Finds the directory to run tests in: the root of the project or subproject,
//! as developers and CI do. A directory that only contains tests does not
//! count.

use std::path::Path;

use super::{RUNNERS, TestRunner, table};
use crate::survey::{ProjectDir, ProjectSurvey};

/// Returns the confidence that the runner is used, and run from this directory.
pub(super) fn runner_confidence(survey: &ProjectSurvey, at: usize, runner: &TestRunner) -> u8 {
    let Some(dir) = survey.dirs.get(at) else { return 0 };
    let own = (runner.confidence)(dir);
    if runner.file_patterns == ["py"] {
        return if is_test_root(survey, at) { subtree_confidence(survey, at, runner) } else { 0 };
    }
    let outer = || survey.dirs.iter().skip(at + 1);
    match runner.name {
        // The configuration is at the workspace root.
        "nextest" if own == 0 && dir.names.contains("Cargo.toml") => {
            outer().map(|dir| (runner.confidence)(dir)).max().unwrap_or_default()
        }
        // A manifest without a test setup defers to the parent.
        "node" if own == table::CONFIDENCE_LANGUAGE && outer().any(has_sure_runner) => 0,
        _ => own,
    }
}

fn has_sure_runner(dir: &ProjectDir) -> bool {
    let scripts = RUNNERS.iter().filter(|runner| runner.file_patterns.contains(&"js"));
    scripts.into_iter().any(|runner| (runner.confidence)(dir) >= table::CONFIDENCE_SURE)
}

/// Returns the confidence from this directory and the subdirectories that are
/// not roots themselves.
fn subtree_confidence(survey: &ProjectSurvey, at: usize, runner: &TestRunner) -> u8 {
    let begin = (0..at).rev().find(|&inner| is_test_root(survey, inner)).map_or(0, |it| it + 1);
    let dirs = survey.dirs.iter().take(at + 1).skip(begin);
    dirs.map(|dir| (runner.confidence)(dir)).max().unwrap_or_default()
}

/// Whether a directory is the root of a Python project, of a repository, or the
/// outermost surveyed one.
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
    let Some(dir) = survey.dirs.get(at) else { return false };
    let has = |name: &&str| dir.names.contains(*name);
    at + 1 == survey.dirs.len()
        || PYTHON_ROOT_MARKERS.iter().any(has)
        || is_repository(dir)
        || (has(&"requirements.txt") && !is_tests_dir(&dir.path))
}

fn is_repository(dir: &ProjectDir) -> bool {
    [".git", ".hg"].iter().any(|name| dir.names.contains(*name))
}

fn is_tests_dir(dir: &Path) -> bool {
    let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    matches!(name, "tests" | "test")
}

/// Returns the directory for runners without configuration: the root of the
/// repository, or the outermost surveyed directory.
pub(super) fn fallback_dir(survey: &ProjectSurvey) -> Option<&ProjectDir> {
    let mut dirs = survey.dirs.iter();
    dirs.find(|dir| is_repository(dir)).or(survey.dirs.last())
}
