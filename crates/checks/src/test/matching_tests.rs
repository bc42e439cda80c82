use super::super::{RUNNERS, TestOutcome, TestResults};
use super::*;

fn choice(name: &str) -> ChosenRunner {
    let runner = RUNNERS.iter().find(|runner| runner.name == name).unwrap();
    ChosenRunner {
        runner,
        program: None,
        dir: "/w".into(),
        target: ".".to_owned(),
        install: String::new(),
        alternatives: Vec::new(),
        left_out: Vec::new(),
        delegated: Vec::new(),
        test_dir: None,
        real_dir: "/w".into(),
    }
}

fn case(name: &str, id: &str, outcome: TestOutcome) -> TestCase {
    TestCase { id: id.to_owned(), ..TestCase::new(name, outcome) }
}

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_test_that_was_asked_for_and_did_not_run_is_named() {
    let results = TestResults::from_cases(vec![case("top", "top", TestOutcome::Passed)]);
    let asked = list(&["top", "grp\u{1f}inner bad"]);
    assert_eq!(choice("node").missing_tests(&asked, &results), ["grp > inner bad"]);
    let cases = [
        ("unittest", "sub.test_a.A.test_x", "test_a.A.test_x"),
        ("unittest", "test_a.A.test_x", "test_a.A"),
        ("cargo", "src/lib.rs - a (line 9)", "src/lib.rs - a (line 3)"),
        ("pytest", "test_a.py::test_x", "test_a.py"),
        ("go", "TestA/sub", "TestA"),
    ];
    for (runner, id, asked) in cases {
        let results = TestResults::from_cases(vec![case(id, id, TestOutcome::Passed)]);
        assert!(
            choice(runner).missing_tests(&list(&[asked]), &results).is_empty(),
            "{runner} {id}"
        );
    }
    let other = TestResults::from_cases(vec![case("ab", "ab", TestOutcome::Passed)]);
    assert_eq!(choice("jest").missing_tests(&list(&["a"]), &other), ["a"]);
}

#[test]
fn what_ran_only_beside_is_not_told() {
    let ran = TestResults::from_cases(vec![
        case("sub > child", "sub\u{1f}child", TestOutcome::Passed),
        case("sub > child2", "sub\u{1f}child2", TestOutcome::Failed),
        case("/w/b.js", "", TestOutcome::Error),
    ]);
    let wish = TestRequest { name: list(&["sub > child"]), ..TestRequest::default() };
    let node = choice("node");
    assert!(node.found_named(&wish, &ran));
    let shown = node.retain_requested(&wish, ran.clone());
    assert_eq!((shown.passed, shown.failed, shown.errors), (1, 0, 1));
    assert_eq!((shown.unrequested, shown.unrequested_failed), (1, true));
    let only = TestRequest { only: list(&["sub\u{1f}child2"]), ..TestRequest::default() };
    assert_eq!(node.retain_requested(&only, ran.clone()).failed, 1);
    let none = TestRequest { name: list(&["child"]), ..TestRequest::default() };
    assert!(!node.found_named(&none, &ran));
    assert_eq!(node.retain_requested(&none, ran.clone()), ran);
}

#[test]
fn what_a_filter_leaves_out_is_not_skipped() {
    let ran = TestResults::from_cases(vec![
        case("g > bad", "g bad", TestOutcome::Failed),
        case("g > later", "g later", TestOutcome::Skipped),
        case("other", "other", TestOutcome::Skipped),
    ]);
    let filter =
        |text: &str| TestRequest { filter: Some(text.to_owned()), ..TestRequest::default() };
    assert_eq!(choice("jest").retain_requested(&filter("G > "), ran.clone()).skipped, 1);
    assert_eq!(choice("jest").retain_requested(&filter("bad"), ran.clone()).skipped, 0);
    assert_eq!(choice("jest").retain_requested(&TestRequest::default(), ran.clone()).skipped, 2);
}
