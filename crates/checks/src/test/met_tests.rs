use super::super::{Outcome, RUNNERS, Results};
use super::*;

fn choice(name: &str) -> Choice {
    let runner = RUNNERS.iter().find(|runner| runner.name == name).unwrap();
    Choice {
        runner,
        program: None,
        folder: "/w".into(),
        target: ".".to_owned(),
        install: String::new(),
        others: Vec::new(),
        left_out: Vec::new(),
        inner: Vec::new(),
        tests: None,
        real: "/w".into(),
    }
}

fn case(name: &str, id: &str, outcome: Outcome) -> Case {
    Case { id: id.to_owned(), ..Case::new(name, outcome) }
}

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_test_that_was_asked_for_and_did_not_run_is_named() {
    let results = Results::of(vec![case("top", "top", Outcome::Passed)]);
    let asked = list(&["top", "grp\u{1f}inner bad"]);
    assert_eq!(choice("node").unmet(&asked, &results), ["grp > inner bad"]);
    let cases = [
        ("unittest", "sub.test_a.A.test_x", "test_a.A.test_x"),
        ("unittest", "test_a.A.test_x", "test_a.A"),
        ("cargo", "src/lib.rs - a (line 9)", "src/lib.rs - a (line 3)"),
        ("pytest", "test_a.py::test_x", "test_a.py"),
        ("go", "TestA/sub", "TestA"),
    ];
    for (runner, id, asked) in cases {
        let results = Results::of(vec![case(id, id, Outcome::Passed)]);
        assert!(choice(runner).unmet(&list(&[asked]), &results).is_empty(), "{runner} {id}");
    }
    let other = Results::of(vec![case("ab", "ab", Outcome::Passed)]);
    assert_eq!(choice("jest").unmet(&list(&["a"]), &other), ["a"]);
}

#[test]
fn what_ran_only_beside_is_not_told() {
    let ran = Results::of(vec![
        case("sub > child", "sub\u{1f}child", Outcome::Passed),
        case("sub > child2", "sub\u{1f}child2", Outcome::Failed),
        case("/w/b.js", "", Outcome::Error),
    ]);
    let wish = Wish { name: list(&["sub > child"]), ..Wish::default() };
    let node = choice("node");
    assert!(node.has_named(&wish, &ran));
    let told = node.narrow(&wish, ran.clone());
    assert_eq!((told.passed, told.failed, told.errors), (1, 0, 1));
    assert_eq!((told.aside, told.is_aside_bad), (1, true));
    let only = Wish { only: list(&["sub\u{1f}child2"]), ..Wish::default() };
    assert_eq!(node.narrow(&only, ran.clone()).failed, 1);
    let none = Wish { name: list(&["child"]), ..Wish::default() };
    assert!(!node.has_named(&none, &ran));
    assert_eq!(node.narrow(&none, ran.clone()), ran);
}

#[test]
fn what_a_filter_leaves_out_is_not_skipped() {
    let ran = Results::of(vec![
        case("g > bad", "g bad", Outcome::Failed),
        case("g > later", "g later", Outcome::Skipped),
        case("other", "other", Outcome::Skipped),
    ]);
    let filter = |text: &str| Wish { filter: Some(text.to_owned()), ..Wish::default() };
    assert_eq!(choice("jest").narrow(&filter("G > "), ran.clone()).skipped, 1);
    assert_eq!(choice("jest").narrow(&filter("bad"), ran.clone()).skipped, 0);
    assert_eq!(choice("jest").narrow(&Wish::default(), ran.clone()).skipped, 2);
}
