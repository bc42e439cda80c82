#![allow(clippy::unwrap_used)]

use super::*;

fn explain(text: &str) -> String {
    let error = check_json(text).unwrap_err();
    format!("{error}\nhint: {}", error.hint())
}

#[test]
fn the_place_and_the_cure_are_named() {
    insta::assert_snapshot!(explain("{\n  \"a\": [1, 2,]\n}"), @"
    The request is not valid JSON: trailing comma at line 2, column 14, near `  \"a\": [1, 2,]`
    hint: Remove the comma before the closing bracket.
    ");
    insta::assert_snapshot!(explain("{'a': 1}"), @"
    The request is not valid JSON: key must be a string at line 1, column 2, near `{'a': 1}`
    hint: Use double quotes for keys and strings.
    ");
    insta::assert_snapshot!(explain(r#"{"tool_calls":[{"name":"f""#), @r#"
    The request is not valid JSON: EOF while parsing an object at line 1, column 26, near `{"tool_calls":[{"name":"f"`
    hint: The text ends too early; send it whole. At least `}]}` is missing.
    "#);
    insta::assert_snapshot!(explain(r#"{"a":"x"#), @r#"
    The request is not valid JSON: EOF while parsing a string at line 1, column 7, near `{"a":"x`
    hint: The text ends too early; send it whole. At least `"}` is missing.
    "#);
}

#[test]
fn every_common_slip_has_its_own_cure() {
    let table = [
        (r#"{"a":1,}"#, "Remove the comma"),
        ("[1,]", "Remove the comma"),
        (r#"{a:1}"#, "Put the key in double quotes"),
        ("[“a”]", "straight double quotes"),
        ("[True]", "in lower case"),
        ("[None]", "in lower case"),
        ("[NaN]", "no NaN"),
        ("[1, // one\n2]", "Remove the comment"),
        ("[\"a\nb\"]", "a newline is \\n"),
        (r#"["C:\dir"]"#, "two"),
        (r#"{"a" 1}"#, "colon"),
        (r#"{"a":1 "b":2}"#, "comma between"),
        (r#"{"a":"say "hi""}"#, "quote inside a string"),
        ("{}\n{}", "each on its own line"),
        ("hello", "Send JSON such as"),
        ("['a']", "Use double quotes"),
    ];
    for (text, cure) in table {
        let hint = check_json(text).unwrap_err().hint();
        assert!(hint.contains(cure), "{text}: {hint}");
    }
}

#[test]
fn columns_count_characters() {
    let ProtocolError::Syntax { line, column, excerpt, .. } =
        check_json("[\n\"äöü\" x]").unwrap_err()
    else {
        panic!("not a syntax error")
    };
    assert_eq!((line, column, excerpt.as_str()), (2, 7, "\"äöü\" x]"));
}

#[test]
fn an_excerpt_is_short_whatever_the_text() {
    let text = format!("[\"{}\" x{}", "é".repeat(100_000), "ü".repeat(100_000));
    let ProtocolError::Syntax { excerpt, .. } = check_json(&text).unwrap_err() else {
        panic!("not a syntax error")
    };
    assert_eq!(excerpt.chars().count(), 62);
    assert!(excerpt.starts_with('…') && excerpt.ends_with('…'), "{excerpt}");
}
