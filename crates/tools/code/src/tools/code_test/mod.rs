//! `code_test`: runs the project's own tests and reports the failures.

use std::path::{Path, PathBuf};

use hermes_checks::test::{
    self, ChosenRunner, RunnerError, TestCase, TestOutcome, TestRequest, TestResults,
};
use hermes_core::{
    Effect, JsonSchema, Tool, ToolContext, ToolError, ToolExample, ToolSpec, WorkingDir,
};
use hermes_exec::SandboxStop;
use serde::{Deserialize, Serialize};

use crate::checks::{self, CheckContext};
use crate::program::{ProgramRun, tail};

mod attempt;
mod memory;
mod report;
mod test_names;
mod truncation;

use memory::FailureMemory;
use test_names::TestNames;

/// Default number of failing tests shown.
const DEFAULT_FAILURES: u64 = 30;
/// Default timeout in seconds.
const DEFAULT_TIMEOUT_SECS: u64 = 600;

#[derive(Debug, Default)]
pub(crate) struct CodeTest;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File or directory with tests; default: the cwd.
    path: Option<String>,
    /// Only tests with this in their name (or, for most runners, in this file).
    filter: Option<String>,
    /// Only tests that failed last time.
    #[serde(default)]
    failed_only: bool,
    /// Runner to use, such as pytest, unittest, cargo, jest or node; default:
    /// the project's.
    tool: Option<String>,
    /// List all passed tests, even if many.
    #[serde(default)]
    list: bool,
    /// Max failing tests to show; default 30.
    limit: Option<u64>,
    /// Seconds; default 600.
    timeout: Option<u64>,
}

impl Args {
    /// Splits the path from a test name after it, as in
    /// `test_a.py::Sum::test_two[3]`.
    fn split_path(&self) -> (Option<&str>, Option<&str>) {
        let Some(path) = self.path.as_deref() else { return (None, None) };
        let Some((file, rest)) = path.split_once("::") else { return (Some(path), None) };
        (Some(file), Some(rest).filter(|name| !name.is_empty()))
    }
}

/// Status of a test run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TestRunStatus {
    Passed,
    Failed,
    /// Tests could not be run.
    Error,
    /// The sandbox blocked something, which is not the project's fault.
    Blocked,
    NoTests,
    Timeout,
}

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    status: TestRunStatus,
    tool: &'static str,
    command: String,
    directory: String,
    passed: u64,
    failed: u64,
    skipped: u64,
    errors: u64,
    exit_code: i32,
    seconds: f64,
    /// Tests that failed, or could not be run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<TestCase>,
    #[serde(skip_serializing_if = "checks::is_false")]
    truncated: bool,
    #[serde(flatten)]
    named: TestNames,
    /// The end of the output, unless all tests passed.
    #[serde(skip_serializing_if = "String::is_empty")]
    output: String,
    /// Other runners that the project seems to use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_tools: Vec<&'static str>,
    /// What the sandbox blocked, and how to allow it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocked: Vec<SandboxStop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for CodeTest {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        ToolSpec::new("code_test", "code")
            .emoji("🧪")
            .description(
                "Run the project's own tests (pytest, unittest, cargo test, nextest, jest, \
                 vitest, mocha, node --test, go test, make test, …), found from its files. \
                 Returns counts and each failing test's location, assertion and traceback.",
            )
            .alias("run_tests")
            .parameter_alias("file", "path")
            .parameter_alias("directory", "path")
            .parameter_alias("name", "filter")
            .parameter_alias("pattern", "filter")
            .parameter_alias("last_failed", "failed_only")
            .parameter_alias("runner", "tool")
            .parameter_alias("framework", "tool")
            .keyword("unit test")
            .keyword("test suite")
            .keyword("assert")
            .timeout(std::time::Duration::from_secs(3_700))
            .example(
                ToolExample::new("Run the tests of a file", r#"{"path":"test_sum.py","tool":"unittest"}"#)
                    .file(
                        "test_sum.py",
                        "import unittest\n\n\nclass Sum(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(1 + 1, 2)\n\n    def test_three(self):\n        self.assertEqual(1 + 1, 3)\n",
                    )
                    .expects(r#"{"status":"failed","tool":"unittest","passed":1,"failed":1,"errors":0}"#),
            )
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        checks::effects(at, args.split_path().0, false)
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let limit = checks::time_limit(args.timeout, DEFAULT_TIMEOUT_SECS);
        let (path, name) = args.split_path();
        let desk = CheckContext::open(cx, path, limit).await?;
        let choice = choose_runner(&args, &desk)?;
        let Some(program) = choice.program.clone() else {
            return Err(checks::not_installed_error(choice.runner.name, &choice.install));
        };
        let mut notes = Vec::new();
        let aim = choice.select_tests(&desk.survey, name, args.filter.as_deref());
        let is_some = !aim.name.is_empty() || aim.filter.is_some();
        if is_some && !choice.runner.can_filter {
            notes
                .push(format!("{} cannot run individual tests; all were run.", choice.runner.name));
        }
        let memory = FailureMemory::new(&desk, &choice);
        let only = if args.failed_only { memory.failed_tests(&aim)? } else { Vec::new() };
        let asked = only.clone();
        let is_whole = !is_some && aim.targets.is_empty() && only.is_empty();
        let wish = TestRequest {
            targets: aim.targets,
            name: aim.name,
            filter: aim.filter,
            only,
            ..TestRequest::default()
        };
        let run = attempt::TestAttempt { context: &desk, choice: &choice, program: &program };
        let done = run.run(wish).await?;
        notes.extend(done.note);
        let results = resolve_results(done.results, &done.ran, &choice, &mut notes);
        // A run that timed out did not reach all tests.
        memory.record_results(&results, is_whole && done.ran.exit.is_some())?;
        let unmet = choice.missing_tests(&asked, &results);
        let command = desk.command_line(&program, &done.words);
        let shown = TestRunReport { results, not_run: unmet, ran: &done.ran, args: &args, notes };
        Ok(shown.answer(&choice, &desk, command))
    }
}

fn choose_runner(args: &Args, desk: &CheckContext<'_>) -> Result<ChosenRunner, ToolError> {
    test::choose_runner(&desk.survey, args.tool.as_deref()).map_err(|none| match none {
        RunnerError::Unknown(all) => {
            checks::unknown_tool_error(args.tool.as_deref().unwrap_or_default(), &all)
        }
        RunnerError::NotConfigured => {
            let names: Vec<_> = test::RUNNERS.iter().map(|runner| runner.name).collect();
            let place = desk.display_path(&desk.path);
            ToolError::not_found(format!("No test configuration found at {place}"))
                .with_hint(format!("Give another path, or 'tool': {}.", names.join(", ")))
        }
    })
}

/// Returns the results; reports an error case if the output cannot be parsed.
fn resolve_results(
    results: Option<TestResults>,
    ran: &ProgramRun,
    choice: &ChosenRunner,
    notes: &mut Vec<String>,
) -> TestResults {
    let name = choice.runner.name;
    let results = match results {
        Some(results) => results,
        None if ran.exit.is_none() => TestResults::default(),
        None => {
            let mut case = TestCase::new(name, TestOutcome::Error);
            case.id = String::new();
            case.message =
                format!("{name} exited with code {}: {}", ran.exit_code(), ran.error_excerpt());
            TestResults { errors: 1, cases: vec![case], ..TestResults::default() }
        }
    };
    if results.is_guess {
        notes.push(format!("The counts are estimated from the output of {name}."));
    }
    results
}

/// All data for the report of a run.
struct TestRunReport<'a> {
    results: TestResults,
    /// Tests requested by id that did not run.
    not_run: Vec<String>,
    ran: &'a ProgramRun,
    args: &'a Args,
    notes: Vec<String>,
}

impl TestRunReport<'_> {
    fn answer(mut self, choice: &ChosenRunner, desk: &CheckContext<'_>, command: String) -> Output {
        const MAX_OUTPUT_BYTES: usize = 2_000;
        let mut status = self.status();
        let Self { results, ran, args, mut notes, .. } = self;
        if results.unrequested > 0 {
            notes.push(format!(
                "{} other tests also ran, because the runner could not exclude \
                them.",
                results.unrequested
            ));
        }
        notes.extend(project_notes(choice, desk));
        let (named, cut) = TestNames::from_cases(&results.cases, args.list);
        notes.extend(cut);
        let bad = results.cases.into_iter().filter(TestCase::has_failed);
        let mut failures: Vec<TestCase> =
            bad.map(|case| with_display_path(case, desk, choice)).collect();
        let shown = usize::try_from(args.limit.unwrap_or(DEFAULT_FAILURES).min(1_000))
            .unwrap_or(usize::MAX);
        let truncated = failures.len() > shown;
        if truncated {
            notes.push(format!("{shown} of {} failing tests are shown.", failures.len()));
            failures.truncate(shown);
        }
        notes.extend(truncation::shorten_failures(&mut failures));
        let printed = results
            .printed
            .unwrap_or_else(|| format!("{}\n{}", ran.stdout.trim(), ran.stderr.trim()));
        let mut blocked = Vec::new();
        if status != TestRunStatus::Passed {
            let reported =
                failures.iter().flat_map(|case| [&case.message, &case.traceback, &case.output]);
            blocked = ran.sandbox_stops(reported.chain([&printed]));
        }
        if !blocked.is_empty() {
            status = TestRunStatus::Blocked;
        }
        Output {
            status,
            tool: choice.runner.name,
            command,
            directory: desk.display_path(&choice.dir),
            passed: results.passed,
            failed: results.failed,
            skipped: results.skipped,
            errors: results.errors,
            exit_code: ran.exit_code(),
            seconds: checks::rounded_seconds(ran.elapsed),
            failures,
            truncated,
            named,
            output: match status {
                TestRunStatus::Passed => String::new(),
                _ => tail(printed.trim(), MAX_OUTPUT_BYTES).to_owned(),
            },
            other_tools: choice.alternatives.clone(),
            blocked,
            note: (!notes.is_empty()).then(|| notes.join(" ")),
        }
    }

    fn status(&mut self) -> TestRunStatus {
        const MAX_LISTED_TESTS: usize = 10;
        let Self { results, ran, args, notes, not_run: unmet } = self;
        if ran.exit.is_none() {
            notes.push("The tests timed out and were killed.".to_owned());
            return TestRunStatus::Timeout;
        }
        if !unmet.is_empty() && results.total() > 0 {
            let names: Vec<&str> =
                unmet.iter().take(MAX_LISTED_TESTS).map(String::as_str).collect();
            notes.push(format!(
                "Of the tests that failed before, {} did not run: {}. If they were removed or \
                 renamed, run all without failed_only.",
                unmet.len(),
                names.join(", ")
            ));
        }
        if results.errors > 0 {
            return TestRunStatus::Error;
        }
        if results.failed > 0 {
            return TestRunStatus::Failed;
        }
        if results.passed == 0 {
            if results.is_guess && ran.exit_code() == 0 {
                notes.push("The runner succeeded, but does not say which tests it ran.".to_owned());
                return TestRunStatus::Passed;
            }
            if ran.exit_code() == 0 || results.skipped == 0 {
                let wanted = args.filter.as_deref().or(args.split_path().1);
                notes.push(match (wanted, results.skipped) {
                    (Some(wanted), 0) => format!("No tests ran: none matches '{wanted}'."),
                    (None, 0) => "No tests ran.".to_owned(),
                    (_, skipped) => format!("No tests ran: {skipped} were skipped."),
                });
                return TestRunStatus::NoTests;
            }
        }
        if ran.exit_code() != 0 && !results.unrequested_failed {
            notes.push(format!(
                "No test failed, but the runner exited with code {}.",
                ran.exit_code()
            ));
            return TestRunStatus::Failed;
        }
        // A test that failed before may still fail.
        if unmet.is_empty() { TestRunStatus::Passed } else { TestRunStatus::Error }
    }
}

/// Returns notes about projects whose tests were not run, and about projects
/// that give more detail when run directly.
fn project_notes(choice: &ChosenRunner, desk: &CheckContext<'_>) -> Vec<String> {
    const MAX_LISTED_PROJECTS: usize = 8;
    let shown = |all: &[(PathBuf, &str)]| {
        let named = all.iter().take(MAX_LISTED_PROJECTS);
        let named = named.map(|(path, name)| format!("{} ({name})", desk.display_path(path)));
        let more = match all.len().saturating_sub(MAX_LISTED_PROJECTS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!all.is_empty()).then(|| format!("{}{more}", named.collect::<Vec<_>>().join(", ")))
    };
    let left = shown(&choice.left_out)
        .map(|shown| format!("Not run: the tests of {shown}; give one as 'path'."));
    let inner = shown(&choice.delegated)
        .map(|shown| format!("For more detail on one project, give it as 'path': {shown}."));
    left.into_iter().chain(inner).collect()
}

/// Rewrites the file of a failing test to its display path.
fn with_display_path(
    mut case: TestCase,
    desk: &CheckContext<'_>,
    choice: &ChosenRunner,
) -> TestCase {
    case.file =
        case.file.map(|file| desk.display_path(&desk.survey.resolve_path(&file, &choice.dir)));
    if Path::new(&case.name).is_absolute() {
        case.name = desk.display_path(&desk.survey.resolve_path(&case.name, &choice.dir));
    }
    case.seconds = case.seconds.map(test_names::round_millis);
    case
}
