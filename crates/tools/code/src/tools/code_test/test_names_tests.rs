use super::*;

fn passed(number: usize) -> TestCase {
    let mut case = TestCase::new(format!("test_{number}"), TestOutcome::Passed);
    case.seconds = Some(number as f64 / 10.0);
    case
}

fn skipped(why: &str) -> TestCase {
    let mut case = TestCase::new("later", TestOutcome::Skipped);
    case.message = why.to_owned();
    case
}

#[test]
fn few_are_named_with_their_times_and_reasons() {
    let (named, note) = TestNames::from_cases(&[passed(1), skipped("no network\nmore")], false);
    let expected = serde_json::json!({
        "skipped_tests": [{ "name": "later", "reason": "no network" }],
        "passed_tests": [{ "name": "test_1", "seconds": 0.1 }],
    });
    assert_eq!(serde_json::to_value(&named).unwrap(), expected);
    assert_eq!(note, None);
}

#[test]
fn of_many_the_slowest_are_named_unless_all_are_asked_for() {
    let mut cases: Vec<TestCase> = (0..100).map(passed).collect();
    cases.push(skipped(""));
    let (named, note) = TestNames::from_cases(&cases, false);
    assert_eq!((named.passed_tests.len(), named.skipped_tests.len(), note), (0, 1, None));
    let names: Vec<&str> = named.slowest.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["test_99", "test_98", "test_97", "test_96", "test_95"]);
    let (named, note) = TestNames::from_cases(&cases, true);
    assert_eq!((named.passed_tests.len(), named.slowest.len(), note), (100, 0, None));
}

#[test]
fn names_stay_within_bounds() {
    let long = TestCase::new("n".repeat(9_000), TestOutcome::Passed);
    let cases: Vec<TestCase> = (0..5_000).map(|_| long.clone()).collect();
    let (named, note) = TestNames::from_cases(&cases, true);
    let size = serde_json::to_string(&named).unwrap().len();
    assert!(size < 30_000 && named.passed_tests.len() > 10, "{size}");
    assert!(note.unwrap().starts_with("49"));
}
