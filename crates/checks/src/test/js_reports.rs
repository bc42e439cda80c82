//! JSON reports of the JavaScript runners jest, vitest and mocha.

use serde_json::Value;

use super::case::{TestCase, TestOutcome, TestResults};
use super::trace;
use crate::CheckOutput;
use crate::lines::find_json;

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn seconds(value: &Value) -> Option<f64> {
    value.get("duration").and_then(Value::as_f64).map(|time| time / 1_000.0)
}

/// Parses the report of vitest, which has the format of jest; errors outside of
/// tests are only in its output.
pub(super) fn vitest(said: &CheckOutput<'_>, code: i32) -> Option<TestResults> {
    let results = jest(said, code)?;
    if code == 0 || results.failed + results.errors > 0 {
        return Some(results);
    }
    let printed = [said.stdout, said.stderr].map(strip_ansi);
    let found = printed.iter().find_map(|text| unhandled_error(text));
    let Some((message, place)) = found else { return Some(results) };
    let mut results = results.with_error("unhandled error", &message);
    if let (Some(case), Some((file, line))) = (results.cases.last_mut(), place) {
        (case.file, case.line) = (Some(file), Some(line));
    }
    Some(results)
}

/// Returns the first unhandled error and its location.
fn unhandled_error(text: &str) -> Option<(String, Option<(String, u64)>)> {
    let (_, rest) = text.split_once(" Unhandled Error")?;
    // Each error starts with a line that has its kind between dashes.
    let mut lines = rest.lines().skip(1).skip_while(|line| !line.starts_with('⎯')).skip(1);
    let shown: Vec<&str> =
        lines.by_ref().take_while(|line| !line.trim_start().starts_with('❯')).collect();
    let frames = rest.lines().filter_map(|line| line.trim().strip_prefix("❯ "));
    let frames = frames.filter(|line| !line.contains("node:") && !line.contains("node_modules/"));
    let place = frames.filter_map(|line| trace::parse_location(line.rsplit(' ').next()?)).next();
    let message = shown.join("\n").trim().to_owned();
    (!message.is_empty()).then_some((message, place))
}

/// Parses the report of jest, which vitest writes as well.
pub(super) fn jest(said: &CheckOutput<'_>, _: i32) -> Option<TestResults> {
    let report = find_json(said.report)?;
    let mut cases = Vec::new();
    for suite in report.get("testResults")?.as_array()? {
        let file = text(suite, "name");
        let tests = list(suite, "assertionResults");
        cases.extend(tests.iter().map(|test| jest_case(file, test)));
        if text(suite, "status") == "failed" && !tests.iter().any(|t| text(t, "status") == "failed")
        {
            cases.push(jest_suite(file, text(suite, "message")));
        }
    }
    Some(TestResults::from_cases(cases))
}

fn jest_case(file: &str, test: &Value) -> TestCase {
    let outcome = match text(test, "status") {
        "passed" => TestOutcome::Passed,
        "failed" => TestOutcome::Failed,
        _ => TestOutcome::Skipped,
    };
    let titles = list(test, "ancestorTitles").iter().filter_map(Value::as_str);
    let name = titles.chain([text(test, "title")]).collect::<Vec<_>>().join(" > ");
    let fault = list(test, "failureMessages").iter().filter_map(Value::as_str);
    let fault = strip_ansi(&fault.collect::<Vec<_>>().join("\n\n"));
    let mut case = with_failure(TestCase::new(name, outcome), &fault);
    case.id = text(test, "fullName").to_owned();
    if case.file.is_none() {
        case.file = Some(file.to_owned());
        case.line = test.pointer("/location/line").and_then(Value::as_u64);
    }
    case.seconds = seconds(test);
    case
}

/// Creates the error of a file that could not run.
fn jest_suite(file: &str, message: &str) -> TestCase {
    let message = strip_ansi(message);
    let mut case = with_failure(TestCase::new(file, TestOutcome::Error), &message);
    let shown = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let shown = shown.filter(|line| !line.starts_with('●')).take_while(|line| !is_code_line(line));
    case.message = shown.take(4).collect::<Vec<_>>().join("\n");
    // General advice precedes the actual error.
    if let Some((wrong, place)) = syntax_error(&message, file) {
        case.message = wrong;
        if let Some(line) = place {
            (case.file, case.line) = (Some(file.to_owned()), Some(line));
        }
    }
    case.file.get_or_insert_with(|| file.to_owned());
    case.id = String::new();
    case
}

/// Returns the syntax error of a file and its line: `SyntaxError: /w/a.js:
/// Unexpected token (1:10)`, or `/w/a.js:3` above the source line and the
/// error.
fn syntax_error(message: &str, file: &str) -> Option<(String, Option<u64>)> {
    let lines = || message.lines().map(str::trim);
    let wrong = lines().find(|line| {
        let word = line.split(':').next().unwrap_or_default();
        word.ends_with("SyntaxError") && word.len() < line.len()
    })?;
    let inner = wrong.rsplit_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    let line = inner.and_then(|inner| inner.split_once(':')?.0.parse().ok());
    let is_named = wrong.contains(file) || line.is_none();
    let above = || {
        lines().filter_map(|line| line.strip_prefix(file)?.strip_prefix(':')).find_map(|rest| {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest.get(..digits)?.parse().ok()
        })
    };
    let line = line.filter(|_| is_named).or_else(above);
    Some((wrong.replace(&format!("{file}: "), ""), line))
}

/// Whether a line shows source code or a stack frame.
fn is_code_line(line: &str) -> bool {
    let bare = line.trim_start_matches(['>', ' ']);
    let number = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("at ") || (number.len() < bare.len() && number.trim_start().starts_with('|'))
}

pub(super) fn mocha(said: &CheckOutput<'_>, _: i32) -> Option<TestResults> {
    let report = find_json(said.report).or_else(|| find_json(said.stdout))?;
    let pending: Vec<&str> =
        list(&report, "pending").iter().map(|test| text(test, "fullTitle")).collect();
    let total = report.pointer("/stats/duration").and_then(Value::as_f64);
    let tests = report.get("tests")?.as_array()?;
    let is_test = |title: &str| tests.iter().any(|test| text(test, "fullTitle") == title);
    // A failed hook is listed only under `failures`.
    let failures = list(&report, "failures").iter();
    let hooks = failures.filter(|failure| !is_test(text(failure, "fullTitle")));
    let tests = tests.iter().chain(hooks).map(|test| {
        let error = test.get("err").filter(|error| error.get("message").is_some());
        let title = text(test, "fullTitle");
        let outcome = match error {
            Some(_) => TestOutcome::Failed,
            None if pending.contains(&title) => TestOutcome::Skipped,
            None => TestOutcome::Passed,
        };
        let mut case = TestCase::new(title, outcome);
        if let Some(error) = error {
            case = with_failure(case, text(error, "stack"));
            text(error, "message").trim().clone_into(&mut case.message);
        }
        case.file.get_or_insert_with(|| text(test, "file").to_owned());
        case.seconds = seconds(test);
        case
    });
    let mut results = TestResults::from_cases(tests.collect());
    results.seconds = total.map(|time| time / 1_000.0);
    Some(results)
}

/// Adds a failure to a test: the message before the frames, and the frames.
fn with_failure(mut case: TestCase, fault: &str) -> TestCase {
    if fault.is_empty() {
        return case;
    }
    let said = fault.lines().take_while(|line| !line.trim_start().starts_with("at "));
    let said = said.filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n");
    case.message = trace::tail(&said, 2_000).trim().to_owned();
    case.traceback = trace::trim_traceback(fault);
    if let Some((file, line)) = trace::failure_location(fault, false) {
        (case.file, case.line) = (Some(file), Some(line));
    }
    case
}

/// Removes ANSI escape sequences.
fn strip_ansi(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 2..).unwrap_or_default();
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |end| end + 1);
        rest = rest.get(end..).unwrap_or_default();
    }
    plain + rest
}

#[cfg(test)]
#[path = "js_reports_tests.rs"]
mod tests;
