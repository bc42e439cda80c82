//! Python's `unittest`, whose own output is mixed with that of the tests: it is
//! run with a result of ours, which writes down each test as a line of JSON.

use serde_json::Value;

use super::case::{Case, Outcome, Results};
use super::trace;
use crate::Said;

/// The program that runs unittest and writes the report.
const SCRIPT: &str = include_str!("assets/unittest.py");

/// The words of a run that reports, from those that somebody would type.
pub(super) fn reporting(words: Vec<String>, report: &str) -> Vec<String> {
    let ours = ["-c", SCRIPT, report].map(str::to_owned);
    ours.into_iter().chain(words.into_iter().skip_while(|word| word != "discover")).collect()
}

pub(super) fn read(said: &Said<'_>, code: i32) -> Option<Results> {
    let mut cases = Vec::new();
    let mut running = None;
    let mut seconds = None;
    let mut is_through = false;
    for line in said.report.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        if let Some(id) = line.get("begin").and_then(Value::as_str) {
            running = Some(id.to_owned());
        } else if line.get("end").is_some() {
            cases.push(case(&line));
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
        let mut case = Case::cut_off(name(&id), code);
        case.id = asked(&name(&id));
        cases.push(case);
    }
    Some(Results { seconds, ..Results::of(cases) })
}

fn case(line: &Value) -> Case {
    let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
    let outcome = match text("outcome") {
        "passed" => Outcome::Passed,
        "skipped" => Outcome::Skipped,
        "failed" => Outcome::Failed,
        _ => Outcome::Error,
    };
    let id = name(text("end"));
    let part = text("part");
    let shown = if part.is_empty() { id.clone() } else { format!("{id} {part}") };
    let mut case = Case::new(shown, outcome);
    case.id = asked(&id);
    case.seconds = line.get("seconds").and_then(Value::as_f64);
    text("why").clone_into(&mut case.message);
    if case.is_bad() {
        let (told, output) = text("trace").split_once("\nStdout:\n").unwrap_or((text("trace"), ""));
        case.traceback = trace::trim(told);
        case.output = trace::end(output.trim(), 2_000).to_owned();
        if let Some((file, line)) = trace::blame(told, true) {
            (case.file, case.line) = (Some(file), Some(line));
        }
        // What could not be imported says so in a text of its own.
        if let Some(last) = case.message.lines().rev().find(|line| !line.trim().is_empty())
            && case.message.contains("\nTraceback ")
        {
            case.message = last.to_owned();
        }
    }
    case
}

/// A module that could not be loaded stands for its tests.
fn name(id: &str) -> String {
    id.strip_prefix("unittest.loader._FailedTest.").unwrap_or(id).to_owned()
}

/// What asks for a test again; of `setUpClass (module.Class)` it is the class.
fn asked(id: &str) -> String {
    let inner = id.split_once(" (").and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(id).to_owned()
}

#[cfg(test)]
#[path = "unittest_tests.rs"]
mod tests;
