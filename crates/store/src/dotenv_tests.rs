#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn vars(text: &str) -> Vec<(String, String)> {
    DotenvFile::parse(text.as_bytes()).vars.into_iter().collect()
}

fn pair(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

#[test]
fn the_usual_forms() {
    let text = "# comment\nA=1\nexport B = two words # note\n\nC='it''\nC='a # b'\r\nD=\"x\\ny\\\"z\"  # c\nE=\nF=a#b\nG=\"one\ntwo\"\nexport=5\n";
    let parsed = DotenvFile::parse(text.as_bytes());
    let expected = [
        pair("A", "1"),
        pair("B", "two words"),
        pair("C", "a # b"),
        pair("D", "x\ny\"z"),
        pair("E", ""),
        pair("F", "a#b"),
        pair("G", "one\ntwo"),
        pair("export", "5"),
    ];
    assert_eq!(parsed.vars.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(parsed.problems.len(), 1);
    assert_eq!(parsed.problems[0].line, 5);
}

#[test]
fn bad_lines_are_reported_and_the_rest_is_read() {
    let text = "A=1\nnonsense\n=x\n1A=x\nB=\"open\nC=3\n";
    let parsed = DotenvFile::parse(text.as_bytes());
    let lines: Vec<_> = parsed.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 3, 4, 5]);
    assert_eq!(vars(text), [pair("A", "1"), pair("C", "3")]);
    assert_eq!(parsed.problems[3].to_string(), "line 5: the quote of B is not closed");
}

#[test]
fn line_numbers_count_through_quoted_values() {
    let parsed = DotenvFile::parse(b"A='1\n2\n3'\nbad\n");
    assert_eq!(parsed.problems[0].line, 4);
}

#[test]
fn later_wins_and_bytes_that_are_not_text_spoil_one_value() {
    let parsed = DotenvFile::parse(b"\xEF\xBB\xBFA=1\nA=2\nB=\xff\nC=3\n");
    assert_eq!(parsed.vars["A"], "2");
    assert_eq!(parsed.vars["C"], "3");
    assert!(!parsed.vars.contains_key("B"));
    assert_eq!(parsed.problems[0].line, 3);
}

#[test]
fn secrets_are_not_shown() {
    let parsed = DotenvFile::parse(b"KEY=hush\nBAD=\"hush\n");
    assert!(!format!("{parsed:?}").contains("hush"));
    assert!(parsed.problems.iter().all(|one| !one.to_string().contains("hush")));
}

#[test]
fn a_missing_file_is_empty_and_a_folder_is_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(DotenvFile::load(&folder.path().join("none")), DotenvFile::default());
    assert_eq!(DotenvFile::load(folder.path()).problems.len(), 1);
}

proptest! {
    #[test]
    fn anything_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = DotenvFile::parse(&bytes);
    }

    #[test]
    fn single_quoted_values_come_back(value in "[^'\u{fffd}]*") {
        let text = format!("KEY='{value}'\nNEXT=1\n");
        prop_assert_eq!(vars(&text), [pair("KEY", &value), pair("NEXT", "1")]);
    }
}
