use hermes_checks::test::{TestCase, TestOutcome};

use super::*;

#[test]
fn many_long_failures_stay_within_bounds() {
    let mut failures: Vec<TestCase> = (0..1_000)
        .map(|number| {
            let mut case = TestCase::new(format!("test_{number}"), TestOutcome::Failed);
            case.message = "ü".repeat(9_000);
            case.traceback = "t".repeat(9_000);
            case
        })
        .collect();
    let note = shorten_failures(&mut failures).unwrap();
    let all: usize = failures.iter().map(case_size).sum();
    assert!(all < 60_000, "{all}");
    assert!(failures.len() > 20 && note.contains("in short"), "{note}");
    assert!(failures[0].message.contains("characters") && !failures[0].traceback.is_empty());
    assert!(failures.last().unwrap().traceback.is_empty());
    let mut few = vec![TestCase::new("a", TestOutcome::Failed)];
    assert_eq!(shorten_failures(&mut few), None);
}
