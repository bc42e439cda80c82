//! Parses the console output of pytest, for a run that was interrupted before
//! it wrote its report: one line per test, started before the test runs.

use super::case::{TestCase, TestOutcome, TestResults};
use super::trace;
use crate::CheckOutput;

/// Maximum number of running tests that are reported.
const MAX_RUNNING_CASES: usize = 20;

/// Returns the results of a run without a report; `None` if nothing is known.
pub(super) fn read(said: &CheckOutput<'_>, code: i32) -> Option<TestResults> {
    let mut cases: Vec<TestCase> = Vec::new();
    let mut running: Vec<&str> = Vec::new();
    let lines = said.stdout.lines().skip_while(|line| !line.starts_with("collect"));
    for line in lines.take_while(|line| !line.starts_with("====")) {
        match parse_line(line) {
            Some((id, Some(outcome))) => {
                running.retain(|known| *known != id);
                let mut case = TestCase::new(id, outcome);
                case.file = id.split("::").next().map(str::to_owned);
                // A teardown error may follow the outcome of the test.
                cases.retain(|known| known.id != case.id);
                cases.push(case);
            }
            Some((id, None)) if !running.contains(&id) => running.push(id),
            _ => {}
        }
    }
    if cases.is_empty() && running.is_empty() {
        return None;
    }
    let dump = fatal_error(said);
    for id in running.into_iter().take(MAX_RUNNING_CASES) {
        let mut case = TestCase::interrupted(id, code);
        case.file = id.split("::").next().map(str::to_owned);
        if let Some(dump) = dump {
            let first = dump.lines().next().unwrap_or_default();
            case.message = format!("{}: {}", case.message, first.trim());
            case.traceback = trace::trim_traceback(dump);
            if let Some((file, line)) = trace::failure_location(dump, false) {
                (case.file, case.line) = (Some(file), Some(line));
            }
        }
        cases.push(case);
    }
    Some(TestResults { root: rootdir(said), ..TestResults::from_cases(cases) })
}

/// Returns the directory that files are relative to.
pub(super) fn rootdir(said: &CheckOutput<'_>) -> Option<String> {
    let begin = said.stdout.lines().take(40);
    let root = begin.filter_map(|line| line.strip_prefix("rootdir: ")).next()?;
    // Older versions append the name of a config file.
    Some(root.split(", ").next().unwrap_or(root).to_owned())
}

/// Returns the message of a fatal Python error.
fn fatal_error<'a>(said: &CheckOutput<'a>) -> Option<&'a str> {
    [said.stderr, said.stdout].into_iter().find_map(|text| {
        let at = text.find("Fatal Python error")?;
        text.get(at..)
    })
}

/// Parses a line such as `tests/test_a.py::test_x PASSED [ 50%]`, or, with
/// pytest-xdist, `[gw0] [ 50%] PASSED tests/test_a.py::test_x`. Returns the
/// test and its outcome.
fn parse_line(line: &str) -> Option<(&str, Option<TestOutcome>)> {
    let Some(rest) = line.strip_prefix("[gw") else { return parse_plain_line(line) };
    // A parametrized id may contain spaces, but the outcome comes first.
    let rest = rest.split_once("] ").map_or(rest, |(_, rest)| rest);
    let rest = rest.split_once("%] ").map_or(rest, |(_, rest)| rest);
    let (word, id) = rest.split_once(' ')?;
    Some((id.trim(), Some(parse_outcome(word)?))).filter(|(id, _)| is_test_id(id))
}

fn parse_plain_line(line: &str) -> Option<(&str, Option<TestOutcome>)> {
    let line = line.trim_end();
    // The progress is at the end.
    let line = match line.rfind(" [") {
        Some(at) if line.ends_with("%]") => line.get(..at)?.trim_end(),
        _ => line,
    };
    // A reason may follow the outcome.
    let words = ["PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL", "XPASS"];
    let found = words.iter().filter_map(|word| {
        let at = line.rfind(&format!(" {word}"))?;
        let rest = line.get(at + 1 + word.len()..)?;
        (rest.is_empty() || rest.starts_with(' ')).then_some((at, *word))
    });
    let (id, outcome) = match found.max_by_key(|(at, _)| *at) {
        Some((at, word)) => (line.get(..at)?, parse_outcome(word)),
        None => (line, None),
    };
    Some((id.trim(), outcome)).filter(|(id, _)| is_test_id(id))
}

fn parse_outcome(word: &str) -> Option<TestOutcome> {
    match word {
        "PASSED" | "XPASS" => Some(TestOutcome::Passed),
        "FAILED" => Some(TestOutcome::Failed),
        "ERROR" => Some(TestOutcome::Error),
        "SKIPPED" | "XFAIL" => Some(TestOutcome::Skipped),
        _ => None,
    }
}

fn is_test_id(text: &str) -> bool {
    text.find(".py::").is_some_and(|at| !text.get(..at).unwrap_or_default().contains(": "))
}

#[cfg(test)]
#[path = "pytest_output_tests.rs"]
mod tests;
