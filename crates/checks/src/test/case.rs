//! What became of tests.

use serde::Serialize;

/// What became of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// It is as it should be.
    Passed,
    /// It found a fault.
    Failed,
    /// It was not run.
    Skipped,
    /// It could not be run to its end, or not even begun.
    Error,
}

/// One test that was run, or should have been.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestCase {
    /// Its name, as people know it.
    pub name: String,
    /// What became of it.
    pub outcome: TestOutcome,
    /// Where it failed, or where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The assertion, or what else went wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How it came there: the project's own part of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub traceback: String,
    /// What it printed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// How the runner is told to run it alone.
    #[serde(skip)]
    pub id: String,
}

impl TestCase {
    /// A test of this name.
    pub fn new(name: impl Into<String>, outcome: TestOutcome) -> Self {
        let name = name.into();
        Self {
            id: name.clone(),
            name,
            outcome,
            file: None,
            line: None,
            seconds: None,
            message: String::new(),
            traceback: String::new(),
            output: String::new(),
        }
    }

    /// One that was running when the run was cut off, with this code.
    pub fn interrupted(name: impl Into<String>, code: i32) -> Self {
        let mut case = Self::new(name, TestOutcome::Error);
        case.message = match code {
            // What is told of one whose time was up.
            124 => "The time was up while this test ran".to_owned(),
            129..=192 => {
                format!("The tests were ended by signal {} while this one ran", code - 128)
            }
            _ => format!("The tests ended with {code} while this one ran"),
        };
        case
    }

    /// Whether it was begun at all.
    pub fn has_run(&self) -> bool {
        self.outcome != TestOutcome::Skipped
    }

    /// Whether somebody has to look at it.
    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, TestOutcome::Failed | TestOutcome::Error)
    }
}

/// What became of all tests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TestResults {
    /// How many were as they should be.
    pub passed: u64,
    /// How many found a fault.
    pub failed: u64,
    /// How many were not run.
    pub skipped: u64,
    /// How many could not be run.
    pub errors: u64,
    /// Tests one by one, as far as they are known.
    pub cases: Vec<TestCase>,
    /// How long all of them took, if it was said.
    pub seconds: Option<f64>,
    /// What was printed, where it has to be made out of something else.
    pub printed: Option<String>,
    /// The folder that files and ids are told from, if the runner names one.
    pub root: Option<String>,
    /// Whether the numbers are only what could be made out of the output.
    pub is_guess: bool,
    /// How many ran besides those that were asked for, and are not told.
    pub unrequested: u64,
    /// Whether one of these is why the runner did not end well.
    pub unrequested_failed: bool,
}

impl TestResults {
    /// Of these tests.
    pub fn from_cases(cases: Vec<TestCase>) -> Self {
        let mut results = Self::default();
        for case in &cases {
            results.count(case.outcome);
        }
        results.cases = cases;
        results
    }

    /// One more.
    pub fn count(&mut self, outcome: TestOutcome) {
        match outcome {
            TestOutcome::Passed => self.passed += 1,
            TestOutcome::Failed => self.failed += 1,
            TestOutcome::Skipped => self.skipped += 1,
            TestOutcome::Error => self.errors += 1,
        }
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.passed + self.failed + self.skipped + self.errors
    }

    /// Adds an error that belongs to no test.
    #[must_use]
    pub fn with_error(mut self, name: &str, message: &str) -> Self {
        let mut case = TestCase::new(name, TestOutcome::Error);
        message.trim().clone_into(&mut case.message);
        self.errors += 1;
        self.cases.push(case);
        self
    }
}
