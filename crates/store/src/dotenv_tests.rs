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
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(DotenvFile::load(&dir.path().join("none")), DotenvFile::default());
    assert_eq!(DotenvFile::load(dir.path()).problems.len(), 1);
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

fn known(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/me".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn read(text: &str) -> Result<DotenvFile, DotenvProblem> {
    let file = DotenvFile::expand(text, &known, 1_000);
    file.problems.first().cloned().map_or(Ok(file), Err)
}

fn value(text: &str) -> String {
    read(text).unwrap().vars.swap_remove("A").unwrap()
}

#[test]
fn quotes_comments_and_blanks() {
    for (text, expected) in [
        ("A=1", "1"),
        ("\u{feff}A=1", "1"),
        ("  export  A = 1 \r\n", "1"),
        ("export\tA=1", "1"),
        ("A=", ""),
        ("A=\nB=2", ""),
        ("A= # nothing", ""),
        ("A=#nothing", ""),
        ("A=a b  # said", "a b"),
        ("A=a#b", "a#b"),
        ("A=a=b", "a=b"),
        ("A='a # b' # said", "a # b"),
        ("A=\"a # b\"# said", "a # b"),
        ("A=it's", "it's"),
        ("A=\"x\"y", "xy"),
        ("A='a b'\"c\"d # said", "a bcd"),
        ("A='say \"x\"\\n'", "say \"x\"\\n"),
        (r#"A="say \"x\"\n\t\\ \q""#, "say \"x\"\n\t\\ \\q"),
        ("A='one\ntwo'\nB=2", "one\ntwo"),
        ("A=\"one\ntwo\\\nthree\"", "one\ntwothree"),
        ("A=1\nA=2", "2"),
        ("A=C:\\new\\table", "C:\\new\\table"),
        ("# A=0\n\nA=1", "1"),
        ("A=日本", "日本"),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
    assert!(read("export A B # on\n").unwrap().vars.is_empty());
    assert_eq!(read("my.key-1=x").unwrap().vars["my.key-1"], "x");
}

#[test]
fn references() {
    for (text, expected) in [
        ("B=x\nA=$B", "x"),
        ("B=x\nA=${B}y", "xy"),
        ("B=x\nA=\"$B.${B}\"", "x.x"),
        ("B=x\nA='$B'", "$B"),
        ("B=x\nA=\\$B", "$B"),
        ("B=x\nA=\"\\${B}\"", "${B}"),
        ("A=$HOME/bin", "/home/me/bin"),
        ("HOME=/x\nA=$HOME", "/x"),
        ("A=$NONE.", "."),
        ("A=${NONE:-a b}", "a b"),
        ("A=${EMPTY:-a}", "a"),
        ("A=${EMPTY-a}", ""),
        ("A=${NONE:-${HOME:-x}/y}", "/home/me/y"),
        ("A=${HOME:+set}${NONE:+unset}", "set"),
        ("A=${HOME:?must}", "/home/me"),
        ("A=$5 $(id) `id` $", "$5 $(id) `id` $"),
        ("A=1\nA=$A:2", "1:2"),
        // What is put in is not read again.
        ("B='$HOME'\nA=$B", "$HOME"),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
    let loaded = read("A=$NONE\nB=${OTHER:-x}\nC=$HOME").unwrap();
    assert_eq!(loaded.unresolved.into_iter().collect::<Vec<_>>(), ["NONE"]);
}

#[test]
fn a_line_that_cannot_be_read_is_named_without_its_value() {
    for (text, line, part) in [
        ("A=1\nhunter2\n", 2, "missing '='"),
        ("A='a\nb'\n\n1X=hunter2", 4, "not a variable name"),
        ("A='hunter2", 1, "quote of A is not closed"),
        ("A='x' hunter2", 1, "after the closing quote of A"),
        ("A=${hunter2", 1, "not closed"),
        ("A=${-hunter2}", 1, "does not name a variable"),
        ("A=${B^^}", 1, "unsupported"),
        ("A=${NONE:?hunter2}", 1, "needs NONE"),
        ("export hunter2 -x", 1, "missing '='"),
    ] {
        let problem = read(text).unwrap_err();
        assert_eq!(problem.line, line, "{text}");
        assert!(problem.message.contains(part), "{}", problem.message);
        assert!(!problem.message.contains("hunter2"), "{}", problem.message);
    }
}

#[test]
fn references_upon_references_stay_small() {
    let doubling: String = (1..64).map(|n| format!("A{n}=$A{}$A{}\n", n - 1, n - 1)).collect();
    let problem = read(&format!("A0=x\n{doubling}")).unwrap_err();
    assert!(problem.message.contains("exceeds 1000 bytes"));
    let deep = format!("A={}x{}", "${N:-".repeat(10_000), "}".repeat(10_000));
    assert!(read(&deep).unwrap_err().message.contains("too deep"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ -~\n\"'${}\\\\=#A-C]{0,60}") {
        let _ = read(&text);
    }

    #[test]
    fn single_quotes_keep_all(value in "[^'\0]{0,40}") {
        let loaded = read(&format!("A='{value}'\nB=1")).unwrap();
        prop_assert_eq!(&loaded.vars["A"], &value);
    }
}
