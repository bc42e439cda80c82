//! Results of tests.

use serde::Serialize;

/// Outcome of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// The test passed.
    Passed,
    /// The test failed.
    Failed,
    /// The test did not run.
    Skipped,
    /// The test could not be started or completed.
    Error,
}

/// One test and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestCase {
    /// Display name.
    pub name: String,
    /// Outcome of the test.
    pub outcome: TestOutcome,
    /// The file where the test failed, or where it is defined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Duration in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The failed assertion, or another error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Traceback, reduced to the frames of the project.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub traceback: String,
    /// Output of the test.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Identifier that makes the runner run only this test.
    #[serde(skip)]
    pub id: String,
}

impl TestCase {
    /// Creates a test with this name.
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

    /// Creates a test that was running when the run was interrupted with this
    /// exit code.
    pub fn interrupted(name: impl Into<String>, code: i32) -> Self {
        let mut case = Self::new(name, TestOutcome::Error);
        case.message = match code {
            // 124 is the exit code of a timeout.
            124 => "Timed out while this test was running".to_owned(),
            129..=192 => {
                format!(
                    "The test run was killed by signal {} while this test was running",
                    code - 128
                )
            }
            _ => format!("The test run exited with code {code} while this test was running"),
        };
        case
    }

    /// Whether the test was started.
    pub fn has_run(&self) -> bool {
        self.outcome != TestOutcome::Skipped
    }

    /// Whether the test failed or ended with an error.
    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, TestOutcome::Failed | TestOutcome::Error)
    }
}

/// Results of a test run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TestResults {
    /// Number of passed tests.
    pub passed: u64,
    /// Number of failed tests.
    pub failed: u64,
    /// Number of skipped tests.
    pub skipped: u64,
    /// Number of tests with errors.
    pub errors: u64,
    /// The individual tests, if known.
    pub cases: Vec<TestCase>,
    /// Total duration in seconds, if the runner reports it.
    pub seconds: Option<f64>,
    /// Output of the run, if it is reconstructed from a report.
    pub printed: Option<String>,
    /// The directory that files and ids are relative to, if the runner names
    /// one.
    pub root: Option<String>,
    /// Whether the numbers are guessed from the output.
    pub is_guess: bool,
    /// Number of tests that ran without being requested; they are not listed.
    pub unrequested: u64,
    /// Whether an unrequested test made the runner fail.
    pub unrequested_failed: bool,
}

impl TestResults {
    /// Creates results from a list of tests.
    pub fn from_cases(cases: Vec<TestCase>) -> Self {
        let mut results = Self::default();
        for case in &cases {
            results.count(case.outcome);
        }
        results.cases = cases;
        results
    }

    /// Counts one more outcome.
    pub fn count(&mut self, outcome: TestOutcome) {
        match outcome {
            TestOutcome::Passed => self.passed += 1,
            TestOutcome::Failed => self.failed += 1,
            TestOutcome::Skipped => self.skipped += 1,
            TestOutcome::Error => self.errors += 1,
        }
    }

    /// Total number of tests.
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
