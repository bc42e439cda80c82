//! Names of tests that did not fail: skipped tests with their reasons, passed
//! tests with their durations.

use hermes_checks::test::{TestCase, TestOutcome};
use serde::Serialize;

/// Up to this many passed tests are named without being requested.
const MAX_UNREQUESTED_NAMES: usize = 20;
/// Maximum number of tests named per outcome, and their total size.
const MAX_NAMED_TESTS: usize = 1_000;
const MAX_TOTAL_CHARS: usize = 20_000;
/// Maximum length of a name or a reason.
const MAX_NAME_CHARS: usize = 300;
/// Number of slowest tests named.
const MAX_SLOWEST_TESTS: usize = 5;

/// Names of skipped and passed tests.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct TestNames {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped_tests: Vec<SkippedTest>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passed_tests: Vec<TimedTest>,
    /// The slowest tests, if there are too many to name all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slowest: Vec<TimedTest>,
}

#[derive(Debug, PartialEq, Serialize)]
struct SkippedTest {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct TimedTest {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

impl TestNames {
    /// Collects the names, and returns a note about omitted ones. Passed tests
    /// are all named if they are few or `all` is set.
    pub(super) fn from_cases(cases: &[TestCase], all: bool) -> (Self, Option<String>) {
        let are = |outcome: TestOutcome| cases.iter().filter(move |case| case.outcome == outcome);
        let (skipped, passed) = (are(TestOutcome::Skipped), are(TestOutcome::Passed));
        let (count, few) =
            (skipped.clone().count(), passed.clone().count() <= MAX_UNREQUESTED_NAMES);
        let skipped_tests = take_fitting(skipped.map(|case| {
            let reason = truncate_name(case.message.lines().next().unwrap_or_default());
            (
                case.name.len() + reason.len(),
                SkippedTest { name: truncate_name(&case.name), reason },
            )
        }));
        let mut named = Self { skipped_tests, ..Self::default() };
        let mut cut = count - named.skipped_tests.len();
        if few || all {
            let timed = passed.clone().map(|case| (case.name.len(), timed_test(case)));
            named.passed_tests = take_fitting(timed);
            cut += passed.count() - named.passed_tests.len();
        } else {
            named.slowest = slowest_tests(cases);
        }
        let note = format!("{cut} skipped or passed tests are not listed.");
        (named, (cut > 0).then_some(note))
    }
}

fn slowest_tests(cases: &[TestCase]) -> Vec<TimedTest> {
    let mut timed_ones: Vec<&TestCase> =
        cases.iter().filter(|case| case.seconds.is_some()).collect();
    timed_ones
        .sort_by(|a, b| b.seconds.unwrap_or_default().total_cmp(&a.seconds.unwrap_or_default()));
    timed_ones.into_iter().take(MAX_SLOWEST_TESTS).map(timed_test).collect()
}

fn timed_test(case: &TestCase) -> TimedTest {
    TimedTest { name: truncate_name(&case.name), seconds: case.seconds.map(round_millis) }
}

/// Takes as many items as fit, by their sizes.
fn take_fitting<T>(all: impl Iterator<Item = (usize, T)>) -> Vec<T> {
    let mut used = 0;
    let all = all.take(MAX_NAMED_TESTS).take_while(|(size, _)| {
        used += (*size).min(2 * MAX_NAME_CHARS);
        used <= MAX_TOTAL_CHARS
    });
    all.map(|(_, one)| one).collect()
}

fn truncate_name(text: &str) -> String {
    match text.char_indices().nth(MAX_NAME_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Rounds seconds to milliseconds.
pub(super) fn round_millis(seconds: f64) -> f64 {
    (seconds * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
#[path = "test_names_tests.rs"]
mod tests;
