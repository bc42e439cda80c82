//! The tests that failed when they last ran in this session.

use std::collections::{BTreeMap, BTreeSet};

use hermes_checks::test::{ChosenRunner, TestCase, TestOutcome, TestResults, TestSelection};
use hermes_core::ToolError;

use crate::checks::CheckContext;

/// The session's document of tests that failed, by folder and runner.
const FAILED_TESTS_DOCUMENT: &str = "code_test";
/// The most that are kept of one project.
const MAX_REMEMBERED_TESTS: usize = 2_000;

type FailedTests = BTreeMap<String, Vec<String>>;

/// What is known of a project's tests.
#[derive(Debug)]
pub(super) struct FailureMemory<'a> {
    context: &'a CheckContext<'a>,
    choice: &'a ChosenRunner,
    key: String,
}

impl<'a> FailureMemory<'a> {
    pub(super) fn new(desk: &'a CheckContext<'a>, choice: &'a ChosenRunner) -> Self {
        let key = format!("{} {}", choice.dir.display(), choice.runner.name);
        Self { context: desk, choice, key }
    }

    /// Those of the tests that are meant which failed when they last ran.
    pub(super) fn failed_tests(&self, aim: &TestSelection) -> Result<Vec<String>, ToolError> {
        let name = self.choice.runner.name;
        if !self.choice.runner.can_filter {
            return Err(ToolError::invalid(format!("{name} cannot run some tests only"))
                .with_hint(
                    "Leave failed_only out, or choose the runner that it starts with 'tool'.",
                ));
        }
        let failed: FailedTests = self.context.cx.session.read(FAILED_TESTS_DOCUMENT)?;
        let Some(known) = failed.get(&self.key) else {
            return Err(ToolError::conflict("These tests have not been run in this session")
                .with_hint(self.other_projects_hint(&failed)));
        };
        let meant = self.choice.filter_ids(known.clone(), &aim.targets);
        // A name is only compared with names.
        let has = |id: &String, part: &str| id.to_lowercase().contains(&part.to_lowercase());
        let is_named = |id: &String| {
            aim.filter.as_deref().is_none_or(|filter| {
                let is_plain = filter.chars().all(|c| c.is_alphanumeric() || c == '_');
                !is_plain || has(id, filter)
            })
        };
        let meant: Vec<String> = meant.into_iter().filter(is_named).collect();
        if meant.is_empty() {
            return Err(ToolError::conflict("No test failed the last time")
                .with_hint("There is nothing to run again; leave failed_only out to run all."));
        }
        Ok(meant)
    }

    /// What to do where nothing is known: other parts of it may have been run.
    fn other_projects_hint(&self, failed: &FailedTests) -> String {
        let others = failed.iter().filter(|(_, ids)| !ids.is_empty());
        let folders = others.filter_map(|(key, _)| Some(key.rsplit_once(' ')?.0));
        let shown: BTreeSet<String> =
            folders.map(|folder| self.context.display_path(folder.as_ref())).collect();
        if shown.is_empty() {
            return "Run them all first, without failed_only.".to_owned();
        }
        let shown = shown.into_iter().take(8).collect::<Vec<_>>().join(", ");
        format!(
            "Run them all first, without failed_only. Tests failed in: {shown} (give it as 'path')."
        )
    }

    /// Keeps what became of the tests; those that did not run are as before,
    /// unless all were to run.
    pub(super) fn record_results(
        &self,
        results: &TestResults,
        is_whole: bool,
    ) -> Result<(), ToolError> {
        let known = || results.cases.iter().filter(|case| !case.id.is_empty());
        let ran = |case: &&TestCase| case.outcome != TestOutcome::Skipped;
        if !known().any(|case| ran(&case)) && results.passed == 0 {
            return Ok(());
        }
        let ended: BTreeSet<&str> = known().filter(ran).map(|case| case.id.as_str()).collect();
        let bad = known().filter(|case| case.has_failed()).map(|case| case.id.clone());
        self.context.cx.session.update(FAILED_TESTS_DOCUMENT, |failed: &mut FailedTests| {
            let kept = failed.entry(self.key.clone()).or_default();
            kept.retain(|id| !is_whole && !ended.contains(id.as_str()));
            for id in bad {
                if kept.len() < MAX_REMEMBERED_TESTS && !kept.contains(&id) {
                    kept.push(id);
                }
            }
        })?;
        Ok(())
    }
}
