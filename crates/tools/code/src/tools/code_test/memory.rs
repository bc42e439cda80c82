//! Remembers which tests failed in this session.

use std::collections::{BTreeMap, BTreeSet};

use hermes_checks::test::{ChosenRunner, TestCase, TestOutcome, TestResults, TestSelection};
use hermes_core::ToolError;

use crate::checks::CheckContext;

/// The session document of failed tests, by directory and runner.
const FAILED_TESTS_DOCUMENT: &str = "code_test";
/// Maximum number of tests remembered per project.
const MAX_REMEMBERED_TESTS: usize = 2_000;

type FailedTests = BTreeMap<String, Vec<String>>;

/// The remembered failures of one project.
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

    /// Returns the selected tests that failed in their last run.
    pub(super) fn failed_tests(&self, aim: &TestSelection) -> Result<Vec<String>, ToolError> {
        let name = self.choice.runner.name;
        if !self.choice.runner.can_filter {
            return Err(ToolError::invalid(format!("{name} cannot run individual tests"))
                .with_hint("Omit failed_only, or choose the underlying runner with 'tool'."));
        }
        let failed: FailedTests = self.context.cx.session.read(FAILED_TESTS_DOCUMENT)?;
        let Some(known) = failed.get(&self.key) else {
            return Err(ToolError::conflict("These tests have not been run in this session")
                .with_hint(self.other_projects_hint(&failed)));
        };
        let meant = self.choice.filter_ids(known.clone(), &aim.targets);
        // Only plain names are compared; filter expressions are not.
        let has = |id: &String, part: &str| id.to_lowercase().contains(&part.to_lowercase());
        let is_named = |id: &String| {
            aim.filter.as_deref().is_none_or(|filter| {
                let is_plain = filter.chars().all(|c| c.is_alphanumeric() || c == '_');
                !is_plain || has(id, filter)
            })
        };
        let meant: Vec<String> = meant.into_iter().filter(is_named).collect();
        if meant.is_empty() {
            return Err(ToolError::conflict("No test failed in the last run")
                .with_hint("Nothing to rerun; omit failed_only to run all tests."));
        }
        Ok(meant)
    }

    /// Returns a hint when no run is known: other projects may have been run.
    fn other_projects_hint(&self, failed: &FailedTests) -> String {
        let others = failed.iter().filter(|(_, ids)| !ids.is_empty());
        let dirs = others.filter_map(|(key, _)| Some(key.rsplit_once(' ')?.0));
        let shown: BTreeSet<String> =
            dirs.map(|dir| self.context.display_path(dir.as_ref())).collect();
        if shown.is_empty() {
            return "Run all tests first, without failed_only.".to_owned();
        }
        let shown = shown.into_iter().take(8).collect::<Vec<_>>().join(", ");
        format!(
            "Run all tests first, without failed_only. Tests failed in: {shown} (give it as \
             'path')."
        )
    }

    /// Records the outcomes. Tests that did not run keep their state, unless
    /// the whole suite was run.
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
