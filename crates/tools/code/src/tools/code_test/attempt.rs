//! Runs the requested tests, and retries with looser names if none matched.

use std::path::Path;

use hermes_checks::CheckOutput;
use hermes_checks::test::{ChosenRunner, TestRequest, TestResults};
use hermes_core::ToolError;
use hermes_core::ids::unique_id;

use super::report::ReportingCommand;
use crate::checks::{self, CheckContext};
use crate::program::ProgramRun;

/// Maximum number of retries with looser names.
const MAX_RETRIES: u8 = 2;

/// A runner with its program.
#[derive(Debug)]
pub(super) struct TestAttempt<'a> {
    pub(super) context: &'a CheckContext<'a>,
    pub(super) choice: &'a ChosenRunner,
    pub(super) program: &'a Path,
}

/// The outcome of a run.
#[derive(Debug)]
pub(super) struct AttemptResult {
    pub(super) ran: ProgramRun,
    pub(super) results: Option<TestResults>,
    /// The arguments of the command, as a user would type them.
    pub(super) words: Vec<String>,
    pub(super) note: Option<String>,
}

impl TestAttempt<'_> {
    /// Runs the tests with exactly these names; if there are none, those with
    /// similar names.
    pub(super) async fn run(&self, wish: TestRequest) -> Result<AttemptResult, ToolError> {
        let report = self.context.runner.scratch_dir()?.join(format!("hermes-{}", unique_id()));
        let mut wish = TestRequest { report: report.display().to_string(), ..wish };
        let mut words = self.choice.args(wish.clone());
        let mut done = self.run_once(words.clone(), &wish, &report).await?;
        while wish.attempt < MAX_RETRIES && self.missing_count(&wish, &done) > 0 {
            wish.attempt += 1;
            let looser = self.choice.args(wish.clone());
            if looser == words {
                continue;
            }
            words = looser;
            let next = self.run_once(words.clone(), &wish, &report).await?;
            let is_better = self.missing_count(&wish, &next) < self.missing_count(&wish, &done);
            if is_better || (ran_no_tests(&done) && !ran_no_tests(&next)) {
                done = next;
            }
        }
        Ok(done)
    }

    /// Counts the requested tests that did not run, as far as a retry may find
    /// them.
    fn missing_count(&self, wish: &TestRequest, done: &AttemptResult) -> usize {
        let Some(results) = done.results.as_ref().filter(|_| done.ran.exit.is_some()) else {
            return 0;
        };
        if ran_no_tests(done) {
            return wish.only.len().max(1);
        }
        match wish.only.is_empty() {
            false => self.choice.missing_tests(&wish.only, results).len(),
            true => {
                usize::from(self.choice.may_retry(wish) && !self.choice.found_named(wish, results))
            }
        }
    }

    async fn run_once(
        &self,
        words: Vec<String>,
        wish: &TestRequest,
        report: &Path,
    ) -> Result<AttemptResult, ToolError> {
        let reporting = self.choice.report_args(words.clone(), &report.display().to_string());
        let began =
            ReportingCommand { program: self.program, words: &reporting, report_file: report };
        let (ran, shown) = began.run(self.context, self.choice).await?;
        if checks::is_not_installed(&ran) {
            return Err(checks::not_installed_error(self.choice.runner.name, &self.choice.install));
        }
        let said = CheckOutput { stdout: &ran.stdout, stderr: &ran.stderr, report: &shown };
        let results = self.choice.parse(&said, ran.exit_code());
        let results = results.map(|results| self.choice.retain_requested(wish, results));
        let is_like = |results: &TestResults| {
            let has_met = results.passed + results.failed + results.skipped > 0;
            has_met && !self.choice.found_named(wish, results)
        };
        let name = wish.name.last().filter(|_| results.as_ref().is_some_and(is_like));
        let note = name.map(|name| {
            format!("No test has exactly this name; ran those with '{name}' in their name.")
        });
        Ok(AttemptResult { results, ran, words, note })
    }
}

/// Whether no test ran.
fn ran_no_tests(done: &AttemptResult) -> bool {
    let is_nothing = |results: &TestResults| results.total() == 0;
    done.ran.exit.is_some() && done.results.as_ref().is_some_and(is_nothing)
}
