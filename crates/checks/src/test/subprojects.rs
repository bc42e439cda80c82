//! Subdirectories with separate tests.

use std::path::{Path, PathBuf};

use super::{ChosenRunner, RUNNERS, TestRunner, adjusted_confidence, table};
use crate::survey::{ProjectDir, ProjectSurvey, matches_pattern};

/// Runners that discover tests in subdirectories.
const RECURSIVE_RUNNERS: &[&str] = &["pytest", "unittest", "node", "jest", "vitest", "mocha"];

/// Returns the subdirectories that configure tests, with their runners.
fn test_dirs(survey: &ProjectSurvey) -> Vec<(&ProjectDir, &'static TestRunner)> {
    let parts = survey.outermost_subdirs(|dir| best_runner(survey, dir).is_some());
    parts.into_iter().filter_map(|dir| Some((dir, best_runner(survey, dir)?))).collect()
}

fn best_runner(survey: &ProjectSurvey, dir: &ProjectDir) -> Option<&'static TestRunner> {
    let part = survey.narrowed_to(dir);
    let fit = RUNNERS.iter().filter(|runner| {
        let sign = adjusted_confidence(&part, (runner.confidence)(dir), runner);
        // Many directories have a dependency list but no tests.
        sign > table::CONFIDENCE_LANGUAGE
            || (sign > 0 && part.files.iter().any(|file| is_test_file(file, runner)))
    });
    fit.max_by_key(|runner| (runner.confidence)(dir))
}

fn is_test_file(file: &Path, runner: &TestRunner) -> bool {
    let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let is_named = name.starts_with("test_") || name.ends_with("_test");
    matches_pattern(file, runner.file_patterns)
        && (is_named || name.ends_with(".test") || name.ends_with(".spec"))
}

/// Returns the only subproject with tests of the language found in the files,
/// or the first subproject if the files do not show a language.
pub(super) fn sole_subproject(
    survey: &ProjectSurvey,
) -> Option<(&ProjectDir, &'static TestRunner)> {
    let parts = test_dirs(survey);
    let Some(runner) = table::runner_by_files(survey) else { return parts.into_iter().next() };
    let mut same = parts.into_iter().filter(|(_, it)| it.file_patterns == runner.file_patterns);
    let (first, is_only) = (same.next()?, same.next().is_none());
    let is_inside = |file: &PathBuf| file.starts_with(&first.0.path);
    let mut tests = survey.files.iter().filter(|file| is_test_file(file, runner));
    (is_only && tests.all(is_inside)).then_some(first)
}

/// Directories with their runners.
type RunnerDirs = Vec<(PathBuf, &'static str)>;

/// Splits the subprojects into those that the run covers through another
/// runner, and those that it leaves out.
pub(super) fn split_subprojects(
    survey: &ProjectSurvey,
    choice: &ChosenRunner,
) -> (RunnerDirs, RunnerDirs) {
    let whole = survey.dirs.iter().find(|dir| dir.path == choice.dir);
    let is_workspace = whole.is_some_and(|dir| {
        dir.has_table("Cargo.toml", &["workspace"])
            || dir.package_json().is_some_and(|manifest| manifest.get("workspaces").is_some())
    });
    let has_run = |dir: &ProjectDir, runner: &TestRunner| {
        let is_same = runner.file_patterns == choice.runner.file_patterns;
        dir.path == choice.dir
            || is_same
                && dir.path.starts_with(&choice.dir)
                && (is_workspace || RECURSIVE_RUNNERS.contains(&choice.runner.name))
    };
    let (inner, left): (Vec<_>, Vec<_>) =
        test_dirs(survey).into_iter().partition(|(dir, runner)| has_run(dir, runner));
    let named = |(dir, runner): (&ProjectDir, &'static TestRunner)| (dir.path.clone(), runner.name);
    let is_reported = |(dir, runner): &(&ProjectDir, &'static TestRunner)| {
        choice.runner.name == "npm" && runner.name != "npm" && dir.path != choice.dir
    };
    let inner = inner.into_iter().filter(is_reported).map(named).collect();
    (inner, left.into_iter().map(named).collect())
}
