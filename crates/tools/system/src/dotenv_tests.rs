#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn one(text: &str) -> String {
    let mut variables = parse(text).unwrap();
    assert_eq!(variables.len(), 1, "{text}");
    variables.remove(0).1
}

#[test]
fn names_and_values() {
    let text = "\u{feff}# settings\n\nA=1\r\n  export B = two words  \n#C=3\nexport\tD=\nexported=x\nA=again";
    let expected = [("A", "1"), ("B", "two words"), ("D", ""), ("exported", "x"), ("A", "again")];
    let expected: Vec<_> = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    assert_eq!(parse(text).unwrap(), expected);
    assert_eq!(parse("").unwrap(), []);
    assert_eq!(parse(" \n# only a comment").unwrap(), []);
}

#[test]
fn a_comment_follows_a_blank() {
    assert_eq!(one("A=b#c"), "b#c");
    assert_eq!(one("A=b #c"), "b");
    assert_eq!(one("A= # nothing"), "");
    assert_eq!(one("A=#nothing"), "");
    assert_eq!(one("A=https://x/#top # link"), "https://x/#top");
}

#[test]
fn single_quotes_keep_everything() {
    assert_eq!(one(r"A='a\n $B # c' # note"), r"a\n $B # c");
    assert_eq!(one("A='two\nlines'"), "two\nlines");
}

#[test]
fn double_quotes_know_escapes() {
    assert_eq!(one(r#"A="x\ny\t\"z\" \\ \$B \q""#), "x\ny\t\"z\" \\ $B \\q");
    assert_eq!(one("A=\"two\nlines\""), "two\nlines");
    assert_eq!(one("A=\"日本\" # é"), "日本");
}

#[test]
fn nothing_is_expanded() {
    assert_eq!(one("A=$HOME/${B}"), "$HOME/${B}");
}

#[test]
fn a_fault_names_its_line_and_not_its_text() {
    let fault = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(fault("A=1\n\nhunter2"), "line 3: it is not NAME=value");
    assert_eq!(fault("A='\n'\n1B=2"), "line 3: the name is not made of letters, digits and _");
    assert_eq!(fault("=x"), "line 1: the name is not made of letters, digits and _");
    assert_eq!(fault("A=1\nB='x\ny\n"), "line 2: the quote is not closed");
    assert_eq!(fault("A=\"x\\"), "line 1: the quote is not closed");
    assert_eq!(fault("A='x'y"), "line 1: there is text after the closing quote");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ \\t\\nA-C=#'\"\\\\é]{0,60}") {
        if let Ok(variables) = parse(&text) {
            prop_assert!(variables.iter().all(|(name, _)| is_name(name)));
        }
    }

    #[test]
    fn a_quoted_value_comes_back(value in "[^']{0,40}") {
        prop_assert_eq!(one(&format!("A='{value}'")), value.clone());
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        prop_assert_eq!(one(&format!("A=\"{escaped}\"")), value);
    }
}
