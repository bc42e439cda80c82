//! Node's built-in test runner. Its reporters omit why a hook or a file failed,
//! and its JUnit reporter escapes names twice, so it runs with a custom
//! reporter.

use std::collections::BTreeMap;

use serde_json::Value;

use super::case::{TestCase, TestOutcome, TestResults};
use super::trace;
use crate::CheckOutput;

/// Source of the custom reporter.
const REPORTER_MODULE: &str = include_str!("assets/reporter.mjs");
/// Separator between the names in a test id.
pub(super) const ID_SEPARATOR: char = '\u{1f}';

/// Adds the arguments for a report to those a user would type.
pub(super) fn report_args(words: Vec<String>, report: &str) -> Vec<String> {
    let mut words = words.into_iter();
    let mut all: Vec<String> = words.by_ref().take(1).collect();
    all.push(format!("--test-reporter=data:text/javascript,{}", percent_encode(REPORTER_MODULE)));
    all.push(format!("--test-reporter-destination={report}"));
    all.extend(["--test-reporter=spec", "--test-reporter-destination=stdout"].map(str::to_owned));
    all.extend(words);
    all
}

/// Percent-encodes a text for a URL.
fn percent_encode(text: &str) -> String {
    let mut all = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                all.push(char::from(byte));
            }
            _ => all.push_str(&format!("%{byte:02X}")),
        }
    }
    all
}

/// State while a report is read.
#[derive(Default)]
struct ReportReader {
    /// Names of the open tests, outermost first.
    open: Vec<(String, bool)>,
    /// Standard error of each file.
    stderr_by_file: BTreeMap<String, String>,
    cases: Vec<TestCase>,
}

pub(super) fn read(said: &CheckOutput<'_>, _: i32) -> Option<TestResults> {
    let mut reading = ReportReader::default();
    let mut is_report = false;
    for line in said.report.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        is_report = true;
        reading.handle_event(&event);
    }
    is_report.then(|| TestResults::from_cases(reading.cases))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

impl ReportReader {
    fn handle_event(&mut self, event: &Value) {
        let nesting = event.get("nesting").and_then(Value::as_u64).unwrap_or_default();
        let nesting = usize::try_from(nesting).unwrap_or_default();
        match text(event, "what") {
            "stderr" => {
                let said = self.stderr_by_file.entry(text(event, "file").to_owned()).or_default();
                said.push_str(text(event, "message"));
            }
            "start" => {
                self.open.truncate(nesting);
                if let Some((_, has_inner)) = self.open.last_mut() {
                    *has_inner = true;
                }
                self.open.push((text(event, "name").to_owned(), false));
            }
            what @ ("pass" | "fail") => {
                self.open.truncate(nesting + 1);
                let has_inner = self.open.last().is_some_and(|(_, has_inner)| *has_inner);
                let case = self.finish_case(event, what == "pass", has_inner);
                self.cases.extend(case);
            }
            _ => {}
        }
    }

    /// Returns a finished test; `None` for a suite or a test that was not
    /// requested.
    fn finish_case(&self, event: &Value, passed: bool, has_inner: bool) -> Option<TestCase> {
        let skipped = event.get("skip").filter(|why| **why != Value::Bool(false) && !why.is_null());
        let todo = event.get("todo").filter(|why| **why != Value::Bool(false) && !why.is_null());
        let why = skipped.or(todo);
        let is_unasked = why.and_then(Value::as_str).is_some_and(|why| why.contains("pattern"));
        let error = event.get("error");
        let kind = error.map(|error| text(error, "kind")).unwrap_or_default();
        let holds = has_inner || event.get("suite") == Some(&Value::Bool(true));
        if is_unasked || (holds && (passed || kind == "subtestsFailed")) {
            return None;
        }
        let names: Vec<&str> = self.open.iter().map(|(name, _)| name.as_str()).collect();
        let outcome = match (why, kind) {
            (Some(_), _) => TestOutcome::Skipped,
            _ if passed => TestOutcome::Passed,
            (_, "hookFailed" | "cancelledByParent") => TestOutcome::Error,
            _ => TestOutcome::Failed,
        };
        let mut case = TestCase::new(names.join(" > "), outcome);
        case.id = names.join(&ID_SEPARATOR.to_string());
        case.seconds = event.get("ms").and_then(Value::as_f64).map(|time| time / 1_000.0);
        case.file = Some(text(event, "file")).filter(|file| !file.is_empty()).map(str::to_owned);
        case.line = event.get("line").and_then(Value::as_u64);
        match error.filter(|_| case.has_failed()) {
            Some(error) if names == [text(event, "file")] => {
                self.explain_file_error(&mut case, error)
            }
            Some(error) => explain_failure(&mut case, error, kind),
            None => case.message = why.and_then(Value::as_str).unwrap_or_default().to_owned(),
        }
        Some(case)
    }

    /// Explains why a file did not run to completion, from its standard error.
    fn explain_file_error(&self, case: &mut TestCase, error: &Value) {
        case.outcome = TestOutcome::Error;
        case.id = String::new();
        case.line = None;
        let said = self.stderr_by_file.get(&case.name).map_or("", |said| said.trim());
        let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("Node.js v")).collect();
        let begin = lines.iter().rposition(|line| is_error_line(line));
        let message = lines.get(begin.unwrap_or(lines.len())..).unwrap_or_default();
        let message = message.iter().take_while(|line| !line.trim_start().starts_with("at "));
        case.message = message.copied().collect::<Vec<_>>().join("\n").trim().to_owned();
        if case.message.is_empty() {
            case.message = match (error.get("code").and_then(Value::as_i64), text(error, "signal"))
            {
                (_, signal) if !signal.is_empty() => format!("Killed by {signal}"),
                (Some(code), _) => format!("Exited with code {code}"),
                _ => text(error, "message").to_owned(),
            };
        }
        case.traceback = trace::trim_traceback(&lines.join("\n"));
        let place = lines.iter().find_map(|line| trace::parse_location(line));
        let place = place.filter(|(file, _)| !file.starts_with("node:"));
        if let Some((file, line)) = trace::failure_location(said, false).or(place) {
            (case.file, case.line) = (Some(file), Some(line));
        }
    }
}

/// `SyntaxError: …`
fn is_error_line(line: &str) -> bool {
    let word = line.split([':', ' ']).next().unwrap_or_default();
    word.ends_with("Error") || word.ends_with("Exception")
}

fn explain_failure(case: &mut TestCase, error: &Value, kind: &str) {
    let (message, stack) = (text(error, "message"), text(error, "stack"));
    let shown = stack.lines().take_while(|line| !line.trim_start().starts_with("at "));
    let shown = shown.filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n");
    case.message = match (kind, shown.is_empty()) {
        ("hookFailed", false) => format!("{message}: {shown}"),
        (_, false) => shown,
        (_, true) => message.trim().to_owned(),
    };
    case.traceback = trace::trim_traceback(stack);
    if let Some((file, line)) = trace::failure_location(stack, false) {
        (case.file, case.line) = (Some(file), Some(line));
    }
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
