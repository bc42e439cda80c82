//! Parses the output of `cargo test`.

use std::collections::BTreeMap;

use super::case::{TestCase, TestOutcome, TestResults};
use crate::CheckOutput;

pub(super) fn read(said: &CheckOutput<'_>, code: i32) -> Option<TestResults> {
    let mut results = read_text(said.stdout);
    for name in unfinished_tests(said.stdout, &results) {
        results.count(TestOutcome::Error);
        results.cases.push(TestCase::interrupted(name, code));
    }
    if let Some(crash) = find_crash(said.stderr) {
        return Some(results.with_error("a test program", &crash));
    }
    // Nothing ran because the build failed.
    if code != 0 && results.failed == 0 && results.errors == 0 {
        return match build_error(said.stderr) {
            Some(message) => Some(results.with_error("build", &message)),
            None => (results.total() > 0).then_some(results),
        };
    }
    Some(results)
}

/// Returns the long-running tests that did not finish.
fn unfinished_tests<'a>(text: &'a str, results: &TestResults) -> Vec<&'a str> {
    let long = text.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("test ")?.split_once(" has been running for over ")?;
        Some(name)
    });
    long.filter(|name| !results.cases.iter().any(|case| case.name == *name)).collect()
}

/// Returns cargo's message about a test binary killed by a signal.
fn find_crash(stderr: &str) -> Option<String> {
    let line = stderr.lines().map(str::trim).find(|line| line.contains("(signal: "))?;
    Some(line.to_owned())
}

/// Parses all tests in a text.
pub(super) fn read_text(text: &str) -> TestResults {
    let mut cases: Vec<TestCase> = Vec::new();
    let mut faults: BTreeMap<String, String> = BTreeMap::new();
    let mut open: Option<String> = None;
    let mut seconds = 0.0;
    for line in text.lines() {
        if let Some(name) =
            line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            open = Some(name.to_owned());
        } else if line == "failures:" || line.starts_with("test result: ") {
            attach_failures(&mut cases, std::mem::take(&mut faults));
            open = None;
            seconds += finish_time(line).unwrap_or_default();
        } else if let Some(name) = &open {
            let fault = faults.entry(name.clone()).or_default();
            fault.push_str(line);
            fault.push('\n');
        } else if let Some(case) = parse_case(line) {
            cases.push(case);
        }
    }
    attach_failures(&mut cases, faults);
    TestResults { seconds: Some(seconds), ..TestResults::from_cases(cases) }
}

fn finish_time(line: &str) -> Option<f64> {
    let (_, time) = line.rsplit_once("finished in ")?;
    time.trim().strip_suffix('s')?.parse().ok()
}

/// `test a::b ... ok`
fn parse_case(line: &str) -> Option<TestCase> {
    let (name, said) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let (word, why) = said.split_once(", ").unwrap_or((said, ""));
    // A duration may follow.
    let outcome = match word.split(' ').next()? {
        "ok" => TestOutcome::Passed,
        "FAILED" => TestOutcome::Failed,
        "ignored" => TestOutcome::Skipped,
        _ => return None,
    };
    let mut case = TestCase::new(name, outcome);
    why.clone_into(&mut case.message);
    Some(case)
}

fn attach_failures(cases: &mut [TestCase], faults: BTreeMap<String, String>) {
    for (name, fault) in faults {
        let name = name.strip_suffix(" - should panic").unwrap_or(&name);
        // Several binaries may have a test of this name; the output is from the
        // last.
        let found = cases.iter_mut().rev().find(|case| case.name == name && case.has_failed());
        if let Some(case) = found {
            apply_failure(case, &fault);
        }
    }
}

/// Reads the failure of a test from its output.
pub(super) fn apply_failure(case: &mut TestCase, text: &str) {
    let mut output = Vec::new();
    let mut message = Vec::new();
    let mut frames = Vec::new();
    let mut lines = text.lines().peekable();
    let mut is_panic = false;
    while let Some(line) = lines.next() {
        let bare = line.trim();
        if bare.starts_with("thread '") && bare.contains(" panicked at ") {
            let place = bare.rsplit_once(" panicked at ").map_or("", |(_, place)| place);
            // Older compilers print the message before the location.
            let (shown, place) = place.rsplit_once(", ").unwrap_or(("", place));
            if let Some(place) = crate::lines::parse_located(place.trim_end_matches(':')) {
                case.file = Some(place.file.to_owned());
                case.line = place.numbers.first().copied();
            }
            message.extend(Some(shown.trim_matches('\'')).filter(|shown| !shown.is_empty()));
            is_panic = true;
        } else if bare == "stack backtrace:" {
            frames = backtrace(&mut lines);
            is_panic = false;
        } else if bare.starts_with("note: run with `RUST_BACKTRACE")
            || bare.starts_with("note: Some details")
        {
            is_panic = false;
        } else if let Some(place) = bare.strip_prefix("note: test did not panic as expected at ") {
            message.push("the test did not panic as expected");
            if let Some(place) = crate::lines::parse_located(place) {
                case.file = Some(place.file.to_owned());
                case.line = place.numbers.first().copied();
            }
        } else if is_panic {
            message.push(line);
        } else if bare.starts_with("Error: ") && message.is_empty() {
            message.push(bare);
        } else {
            output.push(line);
        }
    }
    case.message = super::trace::tail(message.join("\n").trim_end(), 2_000).to_owned();
    case.traceback = frames.join("\n");
    case.output = super::trace::tail(output.join("\n").trim(), 2_000).to_owned();
}

/// Returns the frames that belong to the project.
fn backtrace<'a>(lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Vec<String> {
    let mut frames = Vec::new();
    while let Some(line) = lines.next_if(|line| {
        let bare = line.trim_start();
        bare.starts_with("at ") || bare.split(':').next().is_some_and(|n| n.parse::<u32>().is_ok())
    }) {
        let bare = line.trim();
        if let Some(place) = bare.strip_prefix("at ") {
            let is_own = !place.starts_with("/rustc/") && !place.contains("/.cargo/registry/");
            let name: Option<String> = frames.pop();
            if let Some(name) = name.filter(|_| is_own) {
                frames.push(format!("{name} at {place}"));
            }
        } else {
            // A frame without a location is not part of the project.
            frames.retain(|frame| frame.contains(" at "));
            frames.push(bare.split_once(": ").map_or(bare, |(_, name)| name).to_owned());
        }
    }
    frames.retain(|frame| frame.contains(" at "));
    frames
}

/// Returns the compiler errors.
pub(super) fn build_error(stderr: &str) -> Option<String> {
    let mut errors: Vec<&str> = Vec::new();
    let mut is_error = false;
    for line in stderr.lines() {
        if line.starts_with("error") {
            is_error = true;
        } else if line.starts_with("warning") || line.trim().is_empty() {
            is_error = false;
        }
        if is_error {
            errors.push(line);
        }
    }
    let text = errors.join("\n");
    let start = text.char_indices().nth(3_000).map_or(text.len(), |(at, _)| at);
    let text = text.get(..start).unwrap_or_default().trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
#[path = "libtest_tests.rs"]
mod tests;
