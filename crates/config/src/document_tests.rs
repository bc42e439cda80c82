#![allow(clippy::unwrap_used)]

use std::fs;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn value(text: &str) -> Value {
    ConfigDocument::parse("config.yaml", text).unwrap().value.clone()
}

fn complaint(text: &str) -> ConfigDiagnostic {
    match ConfigDocument::parse("config.yaml", text) {
        Err(ConfigError::Syntax(diagnostic)) => *diagnostic,
        other => panic!("expected a syntax error, got {other:?}"),
    }
}

fn at(diagnostic: &ConfigDiagnostic) -> (usize, usize) {
    let place = diagnostic.position.as_ref().unwrap();
    (place.line, place.column)
}

fn path(text: &str) -> KeyPath {
    text.parse().unwrap()
}

#[test]
fn order_and_unknown_keys_are_kept() {
    let text = "zeta: 1\nalpha:\n  unknown: [a, {b: c}]\nmcp_servers: {x: {command: y}}\n";
    let value = value(text);
    let keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["zeta", "alpha", "mcp_servers"]);
    assert_eq!(value["alpha"]["unknown"], json!(["a", {"b": "c"}]));
}

#[test]
fn nothing_is_an_empty_configuration() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "\u{feff}", "~", "{}"] {
        assert_eq!(value(text), json!({}), "{text:?}");
    }
}

#[test]
fn mark_and_line_breaks_of_other_systems() {
    assert_eq!(value("\u{feff}a: 1\r\nb:\r\n  - x\r\n  - y\r\n"), json!({"a": 1, "b": ["x", "y"]}));
    let document = ConfigDocument::parse("c", "\u{feff}a: 1\r\nb:\r\n  - x\r\n").unwrap();
    assert_eq!(document.position(&path("b.0")).unwrap().to_string(), "c:3:5");
    assert_eq!(document.position(&path("a")).unwrap().to_string(), "c:1:1");
}

#[test]
fn broken_texts_are_located_and_explained() {
    let cases = [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, 2, "brackets above"),
        ("a: b: c\n", 1, 5, "quotes"),
        ("a:\n\tb: 1\n", 2, 1, "spaces"),
        ("a: \"x\nb: 1\n", 2, 1, "never closed"),
        ("a: 1\nfoo\nb: 2\n", 2, 1, "space after the colon"),
        ("a: @home\n", 1, 4, "quotes"),
        ("a: {b: 1}}\n", 1, 10, "every ["),
        ("a: \"C:\\users\"\n", 1, 4, "backslash"),
        ("a: *nobody\n", 1, 4, "anchor"),
        ("a: - b\n", 1, 4, "line of its own"),
        ("a: 1\n---\nb: 2\n", 2, 1, "one document"),
        ("? [a]\n: b\n", 1, 3, "quotes around the key"),
        ("a: !!int x\n", 1, 10, "tag"),
    ];
    for (text, line, column, hint) in cases {
        let diagnostic = complaint(text);
        assert_eq!(at(&diagnostic), (line, column), "{text:?}: {diagnostic}");
        let found = diagnostic.hint.clone().unwrap();
        assert!(found.contains(hint), "{text:?}: {found}");
        assert!(diagnostic.excerpt.contains('^'), "{text:?}");
    }
}

#[test]
fn an_error_looks_like_this() {
    insta::assert_snapshot!(complaint("tool_output:\n\tmax_lines: 10\n"), @r"
    config.yaml:2:1: tabs disallowed within this context (block indentation)
     2 |  max_lines: 10
       | ^
    hint: indent with spaces; YAML does not allow tabs here
    ");
}

#[test]
fn a_key_given_twice_names_both_places() {
    insta::assert_snapshot!(complaint("toolsets: [a]\nmodel: {}\n\"toolsets\": [b]\n"), @r#"
    config.yaml:3:1: the key `toolsets` is given twice
     3 | "toolsets": [b]
       | ^^^^^^^^^^
    first defined at config.yaml:1:1
    hint: keep one of the two
    "#);
    assert_eq!(at(&complaint("a: {b: 1, c: 2, b: 3}\n")), (1, 17));
    assert_eq!(value("a: {x: 1}\nb: {x: 1}\n"), json!({"a": {"x": 1}, "b": {"x": 1}}));
}

#[test]
fn the_top_level_is_a_mapping() {
    for (text, found) in
        [("- a\n", "a list"), ("just text\n", "\"just text\""), ("5\n", "number 5")]
    {
        let diagnostic = complaint(text);
        assert!(diagnostic.message.contains(found), "{diagnostic}");
    }
    let hint = complaint("key:value\n").hint.unwrap();
    assert!(hint.contains("space after the colon"));
}

#[test]
fn aliases_and_merges_are_written_out() {
    let text = "base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo:\n  <<: [{y: 9}, *b]\nlist: [*b]\n\"<<\": plain\n";
    let document = ConfigDocument::parse("c", text).unwrap();
    let expected = json!({
        "base": {"x": 1, "y": 2},
        "one": {"x": 1, "y": 3},
        "two": {"x": 1, "y": 9},
        "list": [{"x": 1, "y": 2}],
        "<<": "plain",
    });
    assert_eq!(document.value(), &expected);
    assert_eq!(document.position(&path("two.x")).unwrap().line, 1);
    assert_eq!(document.get(&path("list.0.y")), Some(&json!(2)));
    assert!(complaint("a:\n  <<: 5\n").message.contains("<<"));
}

#[test]
fn a_value_cannot_contain_itself() {
    for text in ["a: &a [*a]\n", "a: &a {b: {c: *a}}\n", "a: &a\n  <<: *a\n"] {
        assert!(complaint(text).message.contains("part of"), "{text:?}");
    }
}

#[test]
fn alias_bombs_are_defused() {
    let mut lists = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    let mut merges = "a0: &a0 {x: 1}\n".to_owned();
    let mut deep = "a0: &a0 [x]\n".to_owned();
    for level in 1..200 {
        let before = level - 1;
        let many = vec![format!("*a{before}"); 10].join(", ");
        lists.push_str(&format!("a{level}: &a{level} [{many}]\n"));
        merges.push_str(&format!("a{level}: &a{level}\n  <<: [{many}]\n  k{level}: 1\n"));
        deep.push_str(&format!("a{level}: &a{level} [*a{before}]\n"));
    }
    assert!(complaint(&lists).message.contains("more than 250000 values"));
    assert!(complaint(&merges).message.contains("more than"));
    assert!(complaint(&deep).message.contains("levels deep"));
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), "*a, ".repeat(1000));
    assert!(complaint(&long).message.contains("more than"));
}

#[test]
fn depth_is_bounded_whatever_the_style() {
    let deep = 10_000;
    let texts = [
        format!("a: {}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("a: {}{}", "{a: ".repeat(deep), "}".repeat(deep)),
        format!("a:\n  {}x\n", "- ".repeat(deep)),
        (0..2_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect(),
        format!("a: {}", "[".repeat(deep)),
    ];
    for text in texts {
        let diagnostic = complaint(&text);
        assert!(diagnostic.message.contains("levels deep"), "{diagnostic}");
    }
    assert!(ConfigDocument::parse("c", "? ".repeat(deep)).is_err());
    let fine = format!("a: {}{}", "[".repeat(100), "]".repeat(100));
    assert!(ConfigDocument::parse("c", fine).is_ok());
}

#[test]
fn the_number_of_values_is_bounded() {
    let text = format!("a: [{}]", "1,".repeat(300_000));
    assert!(complaint(&text).message.contains("more than"));
    let text = format!("a: [{}]", "1,".repeat(200_000));
    assert_eq!(value(&text)["a"].as_array().unwrap().len(), 200_000);
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.yaml");
    assert_eq!(ConfigDocument::load(&path).unwrap().value(), &json!({}));

    fs::write(&path, b"a: 1\nb: \xff\n").unwrap();
    match ConfigDocument::load(&path).unwrap_err() {
        ConfigError::NotUtf8 { offset, byte, line, .. } => {
            assert_eq!((offset, byte, line), (8, 0xff, 2));
        }
        other => panic!("{other}"),
    }

    fs::write(&path, vec![b'#'; MAX_CONFIG_BYTES + 1]).unwrap();
    assert!(matches!(ConfigDocument::load(&path), Err(ConfigError::TooLarge { .. })));
    fs::write(&path, vec![b'#'; MAX_CONFIG_BYTES]).unwrap();
    assert!(ConfigDocument::load(&path).is_ok());

    assert!(matches!(ConfigDocument::load(dir.path()), Err(ConfigError::Read { .. })));
}

#[test]
fn many_comments_in_a_row_are_fine() {
    let text = format!("a:\n{}  b: 1\n", "  # comment\n".repeat(5_000));
    assert_eq!(value(&text), json!({"a": {"b": 1}}));
}

#[test]
fn keys_are_texts() {
    assert_eq!(value("1: a\ntrue: b\n2.50: c\n"), json!({"1": "a", "true": "b", "2.50": "c"}));
    assert_eq!(value("x: &k name\n*k : v\n"), json!({"x": "name", "name": "v"}));
}

#[test]
fn contents_are_not_shown_by_debug() {
    let document = ConfigDocument::parse("c", "api_key: hush\n").unwrap();
    assert!(!format!("{document:?}").contains("hush"));
}

#[test]
fn values_on_the_command_line() {
    let cases = [
        ("true", json!(true)),
        ("3", json!(3)),
        (" 2.5 ", json!(2.5)),
        ("[a, b]", json!(["a", "b"])),
        ("{k: v, n: [1]}", json!({"k": "v", "n": [1]})),
        ("null", json!(null)),
        ("\"3\"", json!("3")),
        ("'it''s'", json!("it's")),
        ("", json!("")),
        ("text", json!("text")),
        ("a: b", json!("a: b")),
        ("# x", json!("# x")),
        ("*a", json!("*a")),
        ("\"a\": b", json!("\"a\": b")),
        ("[a]: b", json!("[a]: b")),
        ("[a, b", json!("[a, b")),
        ("[a] b", json!("[a] b")),
        ("\"a\" b", json!("\"a\" b")),
        ("- a", json!("- a")),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_value(text), expected, "{text:?}");
    }
    let deep = "[".repeat(10_000);
    assert_eq!(parse_value(&deep), json!(deep));
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "[-a: \n\t\\[\\]{},#&*!|>'\"%@`?0-9<é]{0,80}") {
        let _ = ConfigDocument::parse("c", text);
    }

    #[test]
    fn json_is_read_as_it_is(text in "\\PC{0,20}", number in any::<i64>()) {
        let expected = json!({"text": text, "list": [number, null, true]});
        let written = serde_json::to_string(&expected).unwrap();
        prop_assert_eq!(value(&written), expected);
    }
}
