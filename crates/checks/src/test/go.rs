//! What `go test -json` prints.

use std::collections::BTreeMap;

use serde_json::Value;

use super::case::{Case, Outcome, Results};
use super::trace;
use crate::Said;

pub(super) fn read(said: &Said<'_>, code: i32) -> Option<Results> {
    let mut outputs: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut cases = Vec::new();
    let mut failed = Vec::new();
    let mut is_report = false;
    for line in said.stdout.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        is_report = true;
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let package = if text("Package").is_empty() { text("ImportPath") } else { text("Package") };
        let (package, test) = (package.to_owned(), text("Test").to_owned());
        let outcome = match text("Action") {
            "output" | "build-output" => {
                outputs.entry((package, test)).or_default().push_str(text("Output"));
                continue;
            }
            "pass" => Outcome::Passed,
            "fail" => Outcome::Failed,
            "skip" => Outcome::Skipped,
            _ => continue,
        };
        if test.is_empty() {
            failed.extend((outcome == Outcome::Failed).then_some(package));
            continue;
        }
        let output = outputs.remove(&(package.clone(), test.clone())).unwrap_or_default();
        cases.push(case(&package, &test, outcome, &output, &event));
    }
    for package in failed {
        let has_failed =
            |case: &Case| case.is_bad() && case.name.starts_with(&format!("{package}."));
        if !cases.iter().any(has_failed) {
            let output = outputs.remove(&(package.clone(), String::new())).unwrap_or_default();
            let mut case = Case::new(&package, Outcome::Error);
            case.message = trace::end(output.trim(), 2_000).to_owned();
            if case.message.is_empty() || case.message.starts_with("FAIL") {
                case.message = trace::end(said.stderr.trim(), 2_000).to_owned();
            }
            cases.push(case);
        }
    }
    if cases.is_empty() && code != 0 && !said.stderr.trim().is_empty() {
        let message = trace::end(said.stderr.trim(), 2_000);
        return Some(Results::default().with_error("build", message));
    }
    is_report.then(|| Results::of(cases))
}

fn case(package: &str, test: &str, outcome: Outcome, output: &str, event: &Value) -> Case {
    let mut case = Case::new(format!("{package}.{test}"), outcome);
    test.clone_into(&mut case.id);
    case.seconds = event.get("Elapsed").and_then(Value::as_f64);
    if !case.is_bad() {
        return case;
    }
    let told = output.lines().filter(|line| {
        let bare = line.trim_start();
        !bare.starts_with("=== ") && !bare.starts_with("--- ")
    });
    let told = told.map(str::trim_end).collect::<Vec<_>>();
    let place = told.iter().find_map(|line| crate::lines::placed(line.trim()));
    if let Some(place) = place.filter(|place| place.file.ends_with(".go")) {
        case.file = Some(place.file.to_owned());
        case.line = place.numbers.first().copied();
    }
    case.message = trace::end(told.join("\n").trim(), 2_000).to_owned();
    case
}

#[cfg(test)]
#[path = "go_tests.rs"]
mod tests;
