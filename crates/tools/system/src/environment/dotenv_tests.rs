#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn known(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/me".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn read(text: &str) -> Result<DotenvVariables, DotenvError> {
    parse(text, &known, 1_000)
}

fn value(text: &str) -> String {
    read(text).unwrap().variables.remove("A").unwrap()
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
    assert!(read("export A B # on\n").unwrap().variables.is_empty());
    assert_eq!(read("my.key-1=x").unwrap().variables["my.key-1"], "x");
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
        ("A=1\nhunter2\n", 2, "no '='"),
        ("A='a\nb'\n\n1X=hunter2", 4, "not a name"),
        ("A='hunter2", 1, "quote of A is not closed"),
        ("A='x' hunter2", 1, "follows the closing quote of A"),
        ("A=${hunter2", 1, "not closed"),
        ("A=${-hunter2}", 1, "names no variable"),
        ("A=${B^^}", 1, "not known"),
        ("A=${NONE:?hunter2}", 1, "needs NONE"),
        ("export hunter2 -x", 1, "no '='"),
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
    assert!(problem.message.contains("more than 1000 bytes"));
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
        prop_assert_eq!(&loaded.variables["A"], &value);
    }
}
