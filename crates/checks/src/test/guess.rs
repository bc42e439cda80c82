//! Guesses results from the output of an unknown runner, by the summary lines
//! of common runners.

use super::case::{TestCase, TestOutcome, TestResults};
use super::{console_output, libtest, trace};
use crate::CheckOutput;

pub(super) fn read(said: &CheckOutput<'_>, code: i32) -> Option<TestResults> {
    let all = format!("{}\n{}", said.stdout, said.stderr);
    let known = libtest::read_text(&all);
    let mut results = if known.total() > 0 { known } else { sum_summaries(&all) };
    results.is_guess = true;
    // The exit code overrides the guess.
    if code != 0 && results.failed + results.errors == 0 {
        let mut case = TestCase::new("the command", TestOutcome::Error);
        let end = trace::tail(all.trim(), 1_500);
        case.message = format!("Exited with code {code}");
        end.clone_into(&mut case.output);
        results.errors += 1;
        results.cases.push(case);
    }
    Some(results)
}

/// Sums up lines such as `== 1 failed, 2 passed in 0.1s ==`, `Tests: 1 failed,
/// 2 passed, 3 total`, `# fail 1`, `2 passing`, `--- FAIL: TestX`.
fn sum_summaries(text: &str) -> TestResults {
    let mut results = TestResults::default();
    let mut marks = TestResults::default();
    let mut cases = Vec::new();
    for line in text.lines() {
        let bare = line.trim().trim_matches('=').trim();
        if let Some(rest) = bare.strip_prefix("# ") {
            count_tap(rest, &mut results);
        } else if let Some(rest) = bare.strip_prefix("--- ") {
            count_go(rest, &mut marks);
        } else if let Some(case) = parse_case_line(line) {
            match case.outcome {
                TestOutcome::Passed => marks.passed += 1,
                TestOutcome::Skipped => marks.skipped += 1,
                _ => marks.failed += 1,
            }
            cases.push(case);
        } else if is_summary(bare) {
            count_words(bare.strip_prefix("Tests:").unwrap_or(bare), &mut results);
        }
    }
    let mut shown = if results.total() == 0 { marks } else { results };
    // Some runners report a test twice.
    cases.dedup_by(|one, other| one.name == other.name);
    shown.cases.extend(console_output::parse_tap(text).unwrap_or(cases));
    shown.cases.extend(console_output::parse_jest_failures(text));
    shown
}

/// Parses a result line of pytest (`FAILED a.py::test_x - why`) or TAP (`not ok
/// 1 - name # SKIP`).
fn parse_case_line(line: &str) -> Option<TestCase> {
    if let Some(rest) = line.strip_prefix("FAILED ").filter(|rest| rest.contains("::")) {
        // A parametrized id in brackets may contain anything.
        let (name, why) = match rest.split_once("] - ") {
            Some((name, why)) => (format!("{name}]"), why),
            None => rest
                .split_once(" - ")
                .map_or((rest.to_owned(), ""), |(name, why)| (name.to_owned(), why)),
        };
        let mut case = TestCase::new(&name, TestOutcome::Failed);
        case.file = name.split_once("::").map(|(file, _)| file.to_owned());
        why.clone_into(&mut case.message);
        return Some(case);
    }
    console_output::parse_tap_line(line)
}

/// Whether a line is a summary of counts.
fn is_summary(line: &str) -> bool {
    const SUMMARY_WORDS: &[&str] =
        &["passed", "failed", "passing", "failing", "pending", "error", "errors"];
    let mut parts = line.split([' ', ',']).filter(|part| !part.is_empty());
    let starts = line.starts_with("Tests:") || line.starts_with(|c: char| c.is_ascii_digit());
    starts && parts.any(|part| SUMMARY_WORDS.contains(&part))
}

fn count_words(line: &str, results: &mut TestResults) {
    let mut number = None;
    for part in line.split([' ', ',', ':']).filter(|part| !part.is_empty()) {
        if let Ok(found) = part.parse::<u64>() {
            number = Some(found);
            continue;
        }
        let Some(count) = number.take() else { continue };
        match part {
            "passed" | "passing" => results.passed += count,
            "failed" | "failing" => results.failed += count,
            "skipped" | "pending" | "todo" | "deselected" | "xfailed" => results.skipped += count,
            "error" | "errors" => results.errors += count,
            _ => {}
        }
    }
}

fn count_tap(rest: &str, results: &mut TestResults) {
    let Some((word, count)) = rest.split_once(' ') else { return };
    let Ok(count) = count.trim().parse::<u64>() else { return };
    match word {
        "pass" => results.passed += count,
        "fail" => results.failed += count,
        "skipped" | "skip" | "todo" => results.skipped += count,
        _ => {}
    }
}

fn count_go(rest: &str, results: &mut TestResults) {
    let Some((word, name)) = rest.split_once(": ") else { return };
    let outcome = match word {
        "PASS" => TestOutcome::Passed,
        "FAIL" => TestOutcome::Failed,
        "SKIP" => TestOutcome::Skipped,
        _ => return,
    };
    results.count(outcome);
    if outcome == TestOutcome::Failed {
        let name = name.split(" (").next().unwrap_or(name);
        results.cases.push(TestCase::new(name, outcome));
    }
}

#[cfg(test)]
#[path = "guess_tests.rs"]
mod tests;
