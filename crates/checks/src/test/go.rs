//! Parses the output of `go test -json`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::case::{TestCase, TestOutcome, TestResults};
use super::trace;
use crate::CheckOutput;

pub(super) fn read(said: &CheckOutput<'_>, code: i32) -> Option<TestResults> {
    let mut outputs: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut cases: Vec<TestCase> = Vec::new();
    let mut running: Vec<(String, String)> = Vec::new();
    let mut failed = Vec::new();
    let mut is_report = false;
    let mut printed = String::new();
    for line in said.stdout.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            failed.extend(build_failed_package(line));
            printed.push_str(line);
            printed.push('\n');
            continue;
        };
        is_report = true;
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let package = if text("Package").is_empty() { text("ImportPath") } else { text("Package") };
        let package = package.split(" [").next().unwrap_or(package);
        let (package, test) = (package.to_owned(), text("Test").to_owned());
        let outcome = match text("Action") {
            "output" | "build-output" => {
                printed.push_str(text("Output"));
                outputs.entry((package, test)).or_default().push_str(text("Output"));
                continue;
            }
            "pass" => TestOutcome::Passed,
            "fail" => TestOutcome::Failed,
            "skip" => TestOutcome::Skipped,
            "run" => {
                running.push((package, test));
                continue;
            }
            _ => continue,
        };
        if test.is_empty() {
            if outcome == TestOutcome::Failed && !failed.contains(&package) {
                failed.push(package);
            }
            continue;
        }
        running.retain(|known| (&known.0, &known.1) != (&package, &test));
        let output = outputs.remove(&(package.clone(), test.clone())).unwrap_or_default();
        cases.push(make_case(&package, &test, outcome, &output, &event));
    }
    for (package, test) in running {
        let mut case = TestCase::interrupted(format!("{package}.{test}"), code);
        case.id = test;
        cases.push(case);
    }
    for package in failed {
        let has_failed =
            |case: &TestCase| case.has_failed() && case.name.starts_with(&format!("{package}."));
        if !cases.iter().any(has_failed) {
            let output = outputs.remove(&(package.clone(), String::new())).unwrap_or_default();
            cases.push(package_error(&package, &output, said.stderr));
        }
    }
    if cases.is_empty() && code != 0 && !said.stderr.trim().is_empty() {
        let message = trace::tail(said.stderr.trim(), 2_000);
        return Some(TestResults::default().with_error("build", message));
    }
    printed.push_str(said.stderr);
    let is_known = is_report || !cases.is_empty();
    is_known.then(|| TestResults { printed: Some(printed), ..TestResults::from_cases(cases) })
}

/// Returns the package that failed to build: `FAIL\tm/b [build failed]`.
fn build_failed_package(line: &str) -> Option<String> {
    let (package, why) = line.strip_prefix("FAIL\t")?.split_once(" [")?;
    why.ends_with("failed]").then(|| package.to_owned())
}

/// Creates the error of a package in which nothing could run.
fn package_error(package: &str, output: &str, stderr: &str) -> TestCase {
    let mut case = TestCase::new(package, TestOutcome::Error);
    case.id = String::new();
    let output = output.trim();
    let said = match output.is_empty() || output.starts_with("FAIL") {
        true => package_stderr(package, stderr),
        false => output.to_owned(),
    };
    if let Some((file, line)) = project_location(said.lines()) {
        (case.file, case.line) = (Some(file), Some(line));
    }
    case.message = trace::tail(said.trim(), 2_000).to_owned();
    case
}

/// Returns the compiler output for one package, or all of it.
fn package_stderr(package: &str, stderr: &str) -> String {
    let mut is_it = false;
    let mut shown = Vec::new();
    for line in stderr.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            let name = name.split(" [").next().unwrap_or(name);
            is_it = name.trim_end_matches("_test") == package || name == package;
        }
        if is_it {
            shown.push(line);
        }
    }
    if shown.is_empty() { stderr.to_owned() } else { shown.join("\n") }
}

/// Returns the first source location in the project, outside of Go's own
/// sources.
fn project_location<'a>(lines: impl Iterator<Item = &'a str>) -> Option<(String, u64)> {
    let own = lines.filter(|line| !trace::is_library_line(line));
    let mut places = own.filter_map(|line| crate::lines::parse_located(line.trim()));
    let found = places.find(|place| place.file.ends_with(".go"))?;
    Some((found.file.to_owned(), *found.numbers.first()?))
}

fn make_case(
    package: &str,
    test: &str,
    outcome: TestOutcome,
    output: &str,
    event: &Value,
) -> TestCase {
    let mut case = TestCase::new(format!("{package}.{test}"), outcome);
    test.clone_into(&mut case.id);
    case.seconds = event.get("Elapsed").and_then(Value::as_f64);
    if outcome == TestOutcome::Passed {
        return case;
    }
    let shown = output.lines().filter(|line| {
        let bare = line.trim_start();
        !bare.starts_with("=== ") && !bare.starts_with("--- ")
    });
    let shown = shown.map(str::trim_end).collect::<Vec<_>>();
    if let Some((file, line)) = project_location(shown.iter().copied()) {
        (case.file, case.line) = (Some(file), Some(line));
    }
    let (shown, frames) = split_panic(&shown);
    case.message = trace::tail(shown.join("\n").trim(), 2_000).to_owned();
    case.traceback = frames.join("\n");
    case
}

/// Splits a panic into its message and the frames of the project.
fn split_panic<'a>(shown: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let is_panic = shown.iter().any(|line| {
        let bare = line.trim_start();
        bare.starts_with("panic: ") || bare.starts_with("fatal error: ")
    });
    let at = shown.iter().position(|line| line.starts_with("goroutine ") && line.ends_with("]:"));
    let Some((said, frames)) = at.filter(|_| is_panic).and_then(|at| shown.split_at_checked(at))
    else {
        return (shown.to_vec(), Vec::new());
    };
    // One line for the function, one for its location.
    let own = frames.windows(2).filter(|pair| match pair {
        [name, place] => {
            !name.starts_with('\t') && place.starts_with('\t') && !trace::is_library_line(place)
        }
        _ => false,
    });
    (said.to_vec(), own.flatten().copied().collect())
}

#[cfg(test)]
#[path = "go_tests.rs"]
mod tests;
