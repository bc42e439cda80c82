//! The tests that did not fail, by their names: those that were skipped with the
//! reason, those that passed with their time.

use hermes_checks::test::{TestCase, TestOutcome};
use serde::Serialize;

/// Tests that passed are named without being asked for up to this many.
const FEW: usize = 20;
/// Tests of one kind that are named, and the characters of all of them.
const MOST: usize = 1_000;
const ROOM: usize = 20_000;
/// Characters of a name or a reason.
const LONGEST: usize = 300;
/// Tests that are named because they took longest.
const SLOWEST: usize = 5;

/// Tests by their names.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Named {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped_tests: Vec<Skipped>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passed_tests: Vec<Timed>,
    /// Those that took longest, where they are too many to be named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slowest: Vec<Timed>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Skipped {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Timed {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

impl Named {
    /// Those of these tests, and what was left out, in words. All that passed
    /// are named if they are few or asked for.
    pub(super) fn of(cases: &[TestCase], all: bool) -> (Self, Option<String>) {
        let are = |outcome: TestOutcome| cases.iter().filter(move |case| case.outcome == outcome);
        let (skipped, passed) = (are(TestOutcome::Skipped), are(TestOutcome::Passed));
        let (count, few) = (skipped.clone().count(), passed.clone().count() <= FEW);
        let skipped_tests = fitting(skipped.map(|case| {
            let reason = begin(case.message.lines().next().unwrap_or_default());
            (case.name.len() + reason.len(), Skipped { name: begin(&case.name), reason })
        }));
        let mut named = Self { skipped_tests, ..Self::default() };
        let mut cut = count - named.skipped_tests.len();
        if few || all {
            let timed = passed.clone().map(|case| (case.name.len(), timed(case)));
            named.passed_tests = fitting(timed);
            cut += passed.count() - named.passed_tests.len();
        } else {
            named.slowest = slowest(cases);
        }
        let note = format!("{cut} tests that were skipped or passed are not named.");
        (named, (cut > 0).then_some(note))
    }
}

fn slowest(cases: &[TestCase]) -> Vec<Timed> {
    let mut timed_ones: Vec<&TestCase> = cases.iter().filter(|case| case.seconds.is_some()).collect();
    timed_ones
        .sort_by(|a, b| b.seconds.unwrap_or_default().total_cmp(&a.seconds.unwrap_or_default()));
    timed_ones.into_iter().take(SLOWEST).map(timed).collect()
}

fn timed(case: &TestCase) -> Timed {
    Timed { name: begin(&case.name), seconds: case.seconds.map(rounded) }
}

/// As many as there is room for, by their sizes.
fn fitting<T>(all: impl Iterator<Item = (usize, T)>) -> Vec<T> {
    let mut used = 0;
    let all = all.take(MOST).take_while(|(size, _)| {
        used += (*size).min(2 * LONGEST);
        used <= ROOM
    });
    all.map(|(_, one)| one).collect()
}

fn begin(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Seconds, to the thousandth.
pub(super) fn rounded(seconds: f64) -> f64 {
    (seconds * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
#[path = "named_tests.rs"]
mod tests;
