//! Folders below the path that have tests of their own.

use std::path::{Path, PathBuf};

use super::{Choice, RUNNERS, Runner, table, weigh};
use crate::survey::{Folder, Survey, is_one_of};

/// The runners that look for tests in the folders below on their own.
const DEEP: &[&str] = &["pytest", "unittest", "node", "jest", "vitest", "mocha"];

/// The folders below that say how they are tested, with their runners.
fn all(survey: &Survey) -> Vec<(&Folder, &'static Runner)> {
    let parts = survey.parts(|folder| best(survey, folder).is_some());
    parts.into_iter().filter_map(|folder| Some((folder, best(survey, folder)?))).collect()
}

fn best(survey: &Survey, folder: &Folder) -> Option<&'static Runner> {
    let part = survey.part(folder);
    let fit = RUNNERS.iter().filter(|runner| {
        let sign = weigh(&part, (runner.sign)(folder), runner);
        // Many folders have a list of what they need, and no tests.
        sign > table::WEAK || (sign > 0 && part.files.iter().any(|file| is_test(file, runner)))
    });
    fit.max_by_key(|runner| (runner.sign)(folder))
}

fn is_test(file: &Path, runner: &Runner) -> bool {
    let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let is_named = name.starts_with("test_") || name.ends_with("_test");
    is_one_of(file, runner.endings)
        && (is_named || name.ends_with(".test") || name.ends_with(".spec"))
}

/// The part whose tests are all that there are of the kind that is known from
/// the files alone, or the first one if nothing is.
pub(super) fn only(survey: &Survey) -> Option<(&Folder, &'static Runner)> {
    let parts = all(survey);
    let Some(runner) = table::by_files(survey) else { return parts.into_iter().next() };
    let mut same = parts.into_iter().filter(|(_, it)| it.endings == runner.endings);
    let (first, is_only) = (same.next()?, same.next().is_none());
    let is_inside = |file: &PathBuf| file.starts_with(&first.0.path);
    let mut tests = survey.files.iter().filter(|file| is_test(file, runner));
    (is_only && tests.all(is_inside)).then_some(first)
}

/// Folders with their runners.
type Parts = Vec<(PathBuf, &'static str)>;

/// The parts that a run has within it, where its runner only starts others, and
/// those that it leaves out.
pub(super) fn split(survey: &Survey, choice: &Choice) -> (Parts, Parts) {
    let whole = survey.folders.iter().find(|folder| folder.path == choice.folder);
    let is_workspace = whole.is_some_and(|folder| {
        folder.has_table("Cargo.toml", &["workspace"])
            || folder.package().is_some_and(|manifest| manifest.get("workspaces").is_some())
    });
    let has_run = |folder: &Folder, runner: &Runner| {
        let is_same = runner.endings == choice.runner.endings;
        folder.path == choice.folder
            || is_same
                && folder.path.starts_with(&choice.folder)
                && (is_workspace || DEEP.contains(&choice.runner.name))
    };
    let (inner, left): (Vec<_>, Vec<_>) =
        all(survey).into_iter().partition(|(folder, runner)| has_run(folder, runner));
    let named = |(folder, runner): (&Folder, &'static Runner)| (folder.path.clone(), runner.name);
    let is_told = |(folder, runner): &(&Folder, &'static Runner)| {
        choice.runner.name == "npm" && runner.name != "npm" && folder.path != choice.folder
    };
    let inner = inner.into_iter().filter(is_told).map(named).collect();
    (inner, left.into_iter().map(named).collect())
}
