//! A run of the tests that were asked for, and another if none of them was met.

use std::path::Path;

use hermes_checks::CheckOutput;
use hermes_checks::test::{ChosenRunner, TestResults, TestRequest};
use hermes_core::ToolError;

use super::report::Began;
use crate::checks::{self, Desk};
use crate::program::{Ran, fresh};

/// How often names are taken less exactly.
const TRIES: u8 = 2;

/// A runner at hand.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    pub(super) desk: &'a Desk<'a>,
    pub(super) choice: &'a ChosenRunner,
    pub(super) program: &'a Path,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) ran: Ran,
    pub(super) results: Option<TestResults>,
    /// The words of the command, as somebody would type them.
    pub(super) words: Vec<String>,
    pub(super) note: Option<String>,
}

impl Attempt<'_> {
    /// Runs the tests of just these names; if there is none, those that are
    /// called like it.
    pub(super) async fn run(&self, wish: TestRequest) -> Result<Done, ToolError> {
        let report = self.desk.bench.scratch()?.join(fresh());
        let mut wish = TestRequest { report: report.display().to_string(), ..wish };
        let mut words = self.choice.args(wish.clone());
        let mut done = self.once(words.clone(), &wish, &report).await?;
        while wish.attempt < TRIES && self.lacks(&wish, &done) > 0 {
            wish.attempt += 1;
            let looser = self.choice.args(wish.clone());
            if looser == words {
                continue;
            }
            words = looser;
            let next = self.once(words.clone(), &wish, &report).await?;
            let is_better = self.lacks(&wish, &next) < self.lacks(&wish, &done);
            if is_better || (is_nothing(&done) && !is_nothing(&next)) {
                done = next;
            }
        }
        Ok(done)
    }

    /// How many of the tests that are meant were not met, as far as another try
    /// may meet them.
    fn lacks(&self, wish: &TestRequest, done: &Done) -> usize {
        let Some(results) = done.results.as_ref().filter(|_| done.ran.exit.is_some()) else {
            return 0;
        };
        if is_nothing(done) {
            return wish.only.len().max(1);
        }
        match wish.only.is_empty() {
            false => self.choice.missing_tests(&wish.only, results).len(),
            true => {
                usize::from(self.choice.may_retry(wish) && !self.choice.found_named(wish, results))
            }
        }
    }

    async fn once(
        &self,
        words: Vec<String>,
        wish: &TestRequest,
        report: &Path,
    ) -> Result<Done, ToolError> {
        let reporting = self.choice.report_args(words.clone(), &report.display().to_string());
        let began = Began { program: self.program, words: &reporting, file: report };
        let (ran, told) = began.run(self.desk, self.choice).await?;
        if checks::is_missing(&ran) {
            return Err(checks::missing(self.choice.runner.name, &self.choice.install));
        }
        let said = CheckOutput { stdout: &ran.stdout, stderr: &ran.stderr, report: &told };
        let results = self.choice.parse(&said, ran.code());
        let results = results.map(|results| self.choice.retain_requested(wish, results));
        let is_like = |results: &TestResults| {
            let has_met = results.passed + results.failed + results.skipped > 0;
            has_met && !self.choice.found_named(wish, results)
        };
        let name = wish.name.last().filter(|_| results.as_ref().is_some_and(is_like));
        let note = name.map(|name| {
            format!("No test is called just so; those with '{name}' in their name were run.")
        });
        Ok(Done { results, ran, words, note })
    }
}

/// Whether no test was met.
fn is_nothing(done: &Done) -> bool {
    let is_nothing = |results: &TestResults| results.total() == 0;
    done.ran.exit.is_some() && done.results.as_ref().is_some_and(is_nothing)
}
