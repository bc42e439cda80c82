//! A run of the tests that were asked for, and another if none of them was met.

use std::path::Path;

use hermes_checks::Said;
use hermes_checks::test::{Choice, Results, Wish};
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
    pub(super) choice: &'a Choice,
    pub(super) program: &'a Path,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) ran: Ran,
    pub(super) results: Option<Results>,
    /// The words of the command, as somebody would type them.
    pub(super) words: Vec<String>,
    pub(super) note: Option<String>,
}

impl Attempt<'_> {
    /// Runs the tests of just these names; if there is none, those that are
    /// called like it.
    pub(super) async fn run(&self, wish: Wish) -> Result<Done, ToolError> {
        let report = self.desk.bench.scratch()?.join(fresh());
        let mut wish = Wish { report: report.display().to_string(), ..wish };
        let mut words = self.choice.words(wish.clone());
        let mut done = self.once(words.clone(), &report).await?;
        while wish.tries < TRIES && self.is_nothing(&done) {
            wish.tries += 1;
            let looser = self.choice.words(wish.clone());
            if looser == words {
                continue;
            }
            words = looser;
            let next = self.once(words.clone(), &report).await?;
            if self.is_nothing(&next) {
                continue;
            }
            done = next;
            if let Some(name) = wish.name.last() {
                done.note = Some(format!(
                    "No test is called just so; those with '{name}' in their name were run."
                ));
            }
        }
        Ok(done)
    }

    /// Whether no test was met.
    fn is_nothing(&self, done: &Done) -> bool {
        // These name those that were left out among the skipped.
        let names_all = matches!(self.choice.runner.name, "jest" | "vitest");
        let met = |results: &Results| {
            results.passed + results.failed + results.errors > 0
                || (results.skipped > 0 && !names_all)
        };
        done.ran.exit.is_some() && done.results.as_ref().is_some_and(|results| !met(results))
    }

    async fn once(&self, words: Vec<String>, report: &Path) -> Result<Done, ToolError> {
        let reporting = self.choice.reporting(words.clone(), &report.display().to_string());
        let began = Began { program: self.program, words: &reporting, file: report };
        let (ran, told) = began.run(self.desk, self.choice).await?;
        if checks::is_missing(&ran) {
            return Err(checks::missing(self.choice.runner.name, &self.choice.install));
        }
        let said = Said { stdout: &ran.stdout, stderr: &ran.stderr, report: &told };
        let results = self.choice.read(&said, ran.code());
        Ok(Done { results, ran, words, note: None })
    }
}
