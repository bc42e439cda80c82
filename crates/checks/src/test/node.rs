//! Node's own test runner. Its reporters leave out why a hook or a file has
//! failed, and its JUnit escapes names twice; so it is given one of ours.

use std::collections::BTreeMap;

use serde_json::Value;

use super::case::{Case, Outcome, Results};
use super::trace;
use crate::Said;

/// The module that reports.
const REPORTER: &str = include_str!("assets/reporter.mjs");
/// What is between the names of a test and those around it in an id.
pub(super) const BETWEEN: char = '\u{1f}';

/// The words of a run that reports, from those that somebody would type.
pub(super) fn reporting(words: Vec<String>, report: &str) -> Vec<String> {
    let mut words = words.into_iter();
    let mut all: Vec<String> = words.by_ref().take(1).collect();
    all.push(format!("--test-reporter=data:text/javascript,{}", encoded(REPORTER)));
    all.push(format!("--test-reporter-destination={report}"));
    all.extend(["--test-reporter=spec", "--test-reporter-destination=stdout"].map(str::to_owned));
    all.extend(words);
    all
}

/// A text as part of a URL.
fn encoded(text: &str) -> String {
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

/// What has been told so far.
#[derive(Default)]
struct Reading {
    /// The names of the tests that are open, from the outermost.
    open: Vec<(String, bool)>,
    /// What each file has complained of.
    complaints: BTreeMap<String, String>,
    cases: Vec<Case>,
}

pub(super) fn read(said: &Said<'_>, _: i32) -> Option<Results> {
    let mut reading = Reading::default();
    let mut is_report = false;
    for line in said.report.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        is_report = true;
        reading.hear(&event);
    }
    is_report.then(|| Results::of(reading.cases))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

impl Reading {
    fn hear(&mut self, event: &Value) {
        let nesting = event.get("nesting").and_then(Value::as_u64).unwrap_or_default();
        let nesting = usize::try_from(nesting).unwrap_or_default();
        match text(event, "what") {
            "stderr" => {
                let said = self.complaints.entry(text(event, "file").to_owned()).or_default();
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
                let case = self.case(event, what == "pass", has_inner);
                self.cases.extend(case);
            }
            _ => {}
        }
    }

    /// A test that has ended; none for what only holds others, or was not
    /// asked for.
    fn case(&self, event: &Value, passed: bool, has_inner: bool) -> Option<Case> {
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
            (Some(_), _) => Outcome::Skipped,
            _ if passed => Outcome::Passed,
            (_, "hookFailed" | "cancelledByParent") => Outcome::Error,
            _ => Outcome::Failed,
        };
        let mut case = Case::new(names.join(" > "), outcome);
        case.id = names.join(&BETWEEN.to_string());
        case.seconds = event.get("ms").and_then(Value::as_f64).map(|time| time / 1_000.0);
        case.file = Some(text(event, "file")).filter(|file| !file.is_empty()).map(str::to_owned);
        case.line = event.get("line").and_then(Value::as_u64);
        match error.filter(|_| case.is_bad()) {
            Some(error) if names == [text(event, "file")] => self.blame_file(&mut case, error),
            Some(error) => blame(&mut case, error, kind),
            None => case.message = why.and_then(Value::as_str).unwrap_or_default().to_owned(),
        }
        Some(case)
    }

    /// A file that could not be run to its end has said why.
    fn blame_file(&self, case: &mut Case, error: &Value) {
        case.outcome = Outcome::Error;
        case.id = String::new();
        case.line = None;
        let said = self.complaints.get(&case.name).map_or("", |said| said.trim());
        let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("Node.js v")).collect();
        let begin = lines.iter().rposition(|line| is_error(line));
        let message = lines.get(begin.unwrap_or(lines.len())..).unwrap_or_default();
        let message = message.iter().take_while(|line| !line.trim_start().starts_with("at "));
        case.message = message.copied().collect::<Vec<_>>().join("\n").trim().to_owned();
        if case.message.is_empty() {
            case.message = match (error.get("code").and_then(Value::as_i64), text(error, "signal"))
            {
                (_, signal) if !signal.is_empty() => format!("It was ended by {signal}"),
                (Some(code), _) => format!("It ended with {code}"),
                _ => text(error, "message").to_owned(),
            };
        }
        case.traceback = trace::trim(&lines.join("\n"));
        let place = lines.iter().find_map(|line| trace::place(line));
        let place = place.filter(|(file, _)| !file.starts_with("node:"));
        if let Some((file, line)) = trace::blame(said, false).or(place) {
            (case.file, case.line) = (Some(file), Some(line));
        }
    }
}

/// `SyntaxError: …`
fn is_error(line: &str) -> bool {
    let word = line.split([':', ' ']).next().unwrap_or_default();
    word.ends_with("Error") || word.ends_with("Exception")
}

fn blame(case: &mut Case, error: &Value, kind: &str) {
    let (message, stack) = (text(error, "message"), text(error, "stack"));
    let told = stack.lines().take_while(|line| !line.trim_start().starts_with("at "));
    let told = told.filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n");
    case.message = match (kind, told.is_empty()) {
        ("hookFailed", false) => format!("{message}: {told}"),
        (_, false) => told,
        (_, true) => message.trim().to_owned(),
    };
    case.traceback = trace::trim(stack);
    if let Some((file, line)) = trace::blame(stack, false) {
        (case.file, case.line) = (Some(file), Some(line));
    }
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
