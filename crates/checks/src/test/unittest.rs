//! Python's `unittest`. Its output is mixed with that of the tests, so it runs
//! with a custom result class that writes one JSON line per test.

use serde_json::Value;

use super::case::{TestCase, TestOutcome, TestResults};
use super::trace;
use crate::CheckOutput;

/// Script that runs unittest and writes the report.
const RUNNER_SCRIPT: &str = include_str!("assets/unittest.py");

/// Adds the arguments for a report to those a user would type.
pub(super) fn report_args(words: Vec<String>, report: &str) -> Vec<String> {
    let ours = ["-c", RUNNER_SCRIPT, report].map(str::to_owned);
    ours.into_iter().chain(words.into_iter().skip_while(|word| word != "discover")).collect()
}

pub(super) fn read(said: &CheckOutput<'_>, code: i32) -> Option<TestResults> {
    let mut cases = Vec::new();
    let mut running = None;
    let mut seconds = None;
    let mut is_through = false;
    for line in said.report.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        if let Some(id) = line.get("begin").and_then(Value::as_str) {
            running = Some(id.to_owned());
        } else if line.get("end").is_some() {
            cases.push(parse_case(&line));
            running = None;
        } else if line.get("ran").is_some() {
            is_through = true;
            seconds = line.get("seconds").and_then(Value::as_f64);
        }
    }
    if !is_through && cases.is_empty() && running.is_none() {
        return None;
    }
    if let Some(id) = running.filter(|_| !is_through) {
        let mut case = TestCase::interrupted(test_name(&id), code);
        case.id = rerun_id(&test_name(&id));
        cases.push(case);
    }
    Some(TestResults { seconds, ..TestResults::from_cases(cases) })
}

fn parse_case(line: &Value) -> TestCase {
    let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
    let outcome = match text("outcome") {
        "passed" => TestOutcome::Passed,
        "skipped" => TestOutcome::Skipped,
        "failed" => TestOutcome::Failed,
        _ => TestOutcome::Error,
    };
    let id = test_name(text("end"));
    let part = text("part");
    let shown = if part.is_empty() { id.clone() } else { format!("{id} {part}") };
    let mut case = TestCase::new(shown, outcome);
    case.id = rerun_id(&id);
    case.seconds = line.get("seconds").and_then(Value::as_f64);
    text("why").clone_into(&mut case.message);
    if case.has_failed() {
        let (reported, output) =
            text("trace").split_once("\nStdout:\n").unwrap_or((text("trace"), ""));
        case.traceback = trace::trim_traceback(reported);
        case.output = trace::tail(output.trim(), 2_000).to_owned();
        if let Some((file, line)) = trace::failure_location(reported, true) {
            (case.file, case.line) = (Some(file), Some(line));
        }
        // For an import error, the message contains a whole traceback.
        if let Some(last) = case.message.lines().rev().find(|line| !line.trim().is_empty())
            && case.message.contains("\nTraceback ")
        {
            case.message = last.to_owned();
        }
    }
    case
}

/// Returns the name of a test; for a module that failed to load, the module.
fn test_name(id: &str) -> String {
    id.strip_prefix("unittest.loader._FailedTest.").unwrap_or(id).to_owned()
}

/// Returns the id to rerun a test; for `setUpClass (module.Class)`, the class.
fn rerun_id(id: &str) -> String {
    let inner = id.split_once(" (").and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(id).to_owned()
}

#[cfg(test)]
#[path = "unittest_tests.rs"]
mod tests;
