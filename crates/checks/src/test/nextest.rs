//! Parses the output of `cargo nextest`.

use super::case::{TestCase, TestOutcome, TestResults};
use super::libtest;
use crate::CheckOutput;

pub(super) fn read(said: &CheckOutput<'_>, code: i32) -> Option<TestResults> {
    let mut cases: Vec<TestCase> = Vec::new();
    let mut fault = String::new();
    let mut seconds = None;
    for line in said.stderr.lines() {
        let next = parse_case(line);
        let summary = line.trim().strip_prefix("Summary [");
        if next.is_some() || summary.is_some() {
            attach_failure(cases.last_mut(), &std::mem::take(&mut fault));
        } else {
            fault.push_str(line.strip_prefix("    ").unwrap_or(line));
            fault.push('\n');
        }
        cases.extend(next);
        if let Some((time, _)) = summary.and_then(|rest| rest.split_once("s]")) {
            seconds = time.trim().parse().ok();
        }
        if summary.is_some() {
            break;
        }
    }
    // The run was killed before its summary.
    if !fault.is_empty() {
        attach_failure(cases.last_mut(), &fault);
    }
    let results = TestResults { seconds, ..TestResults::from_cases(cases) };
    // 4: no tests to run.
    if code != 0 && code != 4 && results.failed == 0 {
        let message = libtest::build_error(said.stderr)?;
        return Some(results.with_error("build", &message));
    }
    Some(results)
}

fn attach_failure(case: Option<&mut TestCase>, fault: &str) {
    let Some(case) = case.filter(|case| case.has_failed()) else { return };
    libtest::apply_failure(case, fault);
    // Drops the decoration around each test.
    let own = case.output.lines().filter(|line| {
        let bare = line.trim();
        let is_frame = bare.is_empty()
            || bare.ends_with("───")
            || bare.starts_with("running 1 test")
            || bare.starts_with("test result: ")
            || bare.starts_with("failures:")
            || bare.starts_with("---- ")
            || (bare.starts_with("test ") && bare.ends_with(" FAILED"))
            || case.name.ends_with(bare);
        !is_frame
    });
    case.output = own.collect::<Vec<_>>().join("\n");
}

/// `FAIL [   0.032s] (1/4) crate tests::name`
fn parse_case(line: &str) -> Option<TestCase> {
    let (word, rest) = line.trim_start().split_once(" [")?;
    let outcome = match word {
        "PASS" | "LEAK" | "SLOW" if word != "SLOW" => TestOutcome::Passed,
        "FAIL" | "ABORT" | "SIGABRT" | "SIGSEGV" | "SIGKILL" | "TIMEOUT" => TestOutcome::Failed,
        "SKIP" => TestOutcome::Skipped,
        _ => return None,
    };
    let (time, rest) = rest.split_once(']')?;
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => rest.trim_start(),
        None => rest,
    };
    let (program, name) = rest.split_once(' ')?;
    let mut case = TestCase::new(format!("{program} {name}"), outcome);
    name.clone_into(&mut case.id);
    case.seconds = time.trim().strip_suffix('s').and_then(|time| time.parse().ok());
    Some(case)
}

#[cfg(test)]
#[path = "nextest_tests.rs"]
mod tests;
