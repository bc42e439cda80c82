#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::RepairKind::*;
use super::*;

fn kinds(text: &str) -> Vec<RepairKind> {
    let parsed = parse_arguments(text).unwrap();
    parsed.repairs.iter().map(|repair| repair.kind).collect()
}

/// Text, value, repairs; none of them a guess.
#[test]
fn sloppy_spelling_is_mended_without_guessing() {
    let table: Vec<(&str, Value, Vec<RepairKind>)> = vec![
        (r#"{"a":1}"#, json!({"a": 1}), vec![]),
        (r"[1,2]", json!([1, 2]), vec![]),
        ("7", json!(7), vec![]),
        ("", json!({}), vec![Empty]),
        (" \n\t", json!({}), vec![Empty]),
        ("null", json!({}), vec![Empty]),
        ("None", json!({}), vec![Literal, Empty]),
        (r#"{"a":1,}"#, json!({"a": 1}), vec![ExtraComma]),
        ("[1,2,]", json!([1, 2]), vec![ExtraComma]),
        (r#"{,"a":[,1,,2]}"#, json!({"a": [1, 2]}), vec![ExtraComma; 3]),
        ("{'a':'b'}", json!({"a": "b"}), vec![SingleQuotes, SingleQuotes]),
        (r#"{'a':'say "hi"'}"#, json!({"a": "say \"hi\""}), vec![SingleQuotes, SingleQuotes]),
        (r"{'a':'it\'s'}", json!({"a": "it's"}), vec![SingleQuotes, SingleQuotes, Escape]),
        ("{a: 1, b-c: 2, $d: 3}", json!({"a": 1, "b-c": 2, "$d": 3}), vec![BareKey; 3]),
        ("{größe: 1}", json!({"größe": 1}), vec![BareKey]),
        (
            r#"{"a":True,"b":False,"c":None}"#,
            json!({"a": true, "b": false, "c": null}),
            vec![Literal; 3],
        ),
        ("{\"a\":\"x\ny\tz\"}", json!({"a": "x\ny\tz"}), vec![ControlCharacter]),
        (
            r#"{"re":"\d+\.rs","p":"C:\dir"}"#,
            json!({"re": "\\d+\\.rs", "p": "C:\\dir"}),
            vec![Escape; 3],
        ),
        (r#"{"a":.5,"b":+3,"c":2.}"#, json!({"a": 0.5, "b": 3, "c": 2.0}), vec![Number; 3]),
        ("{\"a\":1 // one\n, /* two */ \"b\":2}", json!({"a": 1, "b": 2}), vec![Comment, Comment]),
        (r#"{"a":1}}]"#, json!({"a": 1}), vec![SurplusCloser]),
        ("```json\n{\"a\":1}\n```", json!({"a": 1}), vec![Fence]),
        ("```\n{\"a\":1}\n```\nDone.", json!({"a": 1}), vec![Fence]),
        ("```json {\"a\":1}```", json!({"a": 1}), vec![Fence]),
        ("```json\n{\"a\":1}", json!({"a": 1}), vec![Fence]),
        ("Here's the call: {\"a\":1}", json!({"a": 1}), vec![Prose]),
        ("{\"a\":1} Let me know, if that's right", json!({"a": 1}), vec![Prose]),
        ("Sure:\n```json\n{\"a\":1}\n```\nOk?", json!({"a": 1}), vec![Prose, Prose]),
        (r#""{\"a\":1}""#, json!({"a": 1}), vec![DoubleEncoding]),
        (r#""\"{\\\"a\\\":1}\"""#, json!({"a": 1}), vec![DoubleEncoding, DoubleEncoding]),
        (r#"'{"a":1,}'"#, json!({"a": 1}), vec![SingleQuotes, DoubleEncoding, ExtraComma]),
        (r#"{"a":"\ud83d\ude00",}"#, json!({"a": "😀"}), vec![ExtraComma]),
        (r#"{"a":"\uZZZZ"}"#, json!({"a": "\\uZZZZ"}), vec![Escape]),
        ("\u{feff}{\"a\":1}", json!({"a": 1}), vec![]),
    ];
    for (text, value, expected) in table {
        let parsed = parse_arguments(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(parsed.value, value, "{text}");
        assert_eq!(kinds(text), expected, "{text}");
        assert!(!parsed.is_guess, "{text}");
    }
}

#[test]
fn text_whose_meaning_is_plain_is_repaired() {
    let table: Vec<(&str, Value, Vec<RepairKind>)> = vec![
        (r#"{\"key\": \"value\"}"#, json!({"key": "value"}), vec![DoubleEncoding]),
        (
            "{\\\"a\\\": \\\"x\\\\ny\\\",\n  \\\"b\\\": [1]}",
            json!({"a": "x\ny", "b": [1]}),
            vec![DoubleEncoding],
        ),
        ("{“key”: “a value”}", json!({"key": "a value"}), vec![TypographicQuotes; 2]),
        ("{„key“: [‘x’, ‘y’]}", json!({"key": ["x", "y"]}), vec![TypographicQuotes; 3]),
        ("{“key”: \"“kept”\"}", json!({"key": "“kept”"}), vec![TypographicQuotes]),
        ("{\"a\":1, # one\n# two\n\"b\":\"# 3\"}", json!({"a": 1, "b": "# 3"}), vec![Comment; 2]),
    ];
    for (text, value, expected) in table {
        let parsed = parse_arguments(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(parsed.value, value, "{text}");
        assert_eq!(kinds(text), expected, "{text}");
        assert!(!parsed.is_guess, "{text}");
    }
}

/// A bare word may be a variable that the model meant to insert.
#[test]
fn a_bare_word_as_a_value_is_a_guess() {
    for (text, value) in [
        ("{\"action\": list}", json!({"action": "list"})),
        ("{\"path\": src/main.rs, \"n\": 1}", json!({"path": "src/main.rs", "n": 1})),
        ("{\"tags\": [fast, \"x\"]}", json!({"tags": ["fast", "x"]})),
    ] {
        let parsed = parse_arguments(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(parsed.value, value, "{text}");
        assert_eq!(kinds(text), [BareWord], "{text}");
        assert!(parsed.is_guess, "{text}");
    }
}

#[test]
fn cut_off_text_is_completed_as_a_guess() {
    let table: Vec<(&str, Value, RepairKind)> = vec![
        (r#"{"a":[1,2"#, json!({"a": [1, 2]}), MissingCloser),
        (r#"{"a":1,"#, json!({"a": 1}), MissingCloser),
        (r#"{"a":{"b":[{"c":1"#, json!({"a": {"b": [{"c": 1}]}}), MissingCloser),
        (r#"{"a":[1,2}"#, json!({"a": [1, 2]}), MissingCloser),
        (r#"{"a":"hel"#, json!({"a": "hel"}), UnterminatedString),
        (r#"{"a":"hel\"#, json!({"a": "hel"}), UnterminatedString),
        (r#"{"a":"hel\u00"#, json!({"a": "hel"}), UnterminatedString),
        (r#"{"a":1,"b"#, json!({"a": 1}), UnterminatedString),
        (r#"{"a":1,"b""#, json!({"a": 1}), MissingValue),
        (r#"{"a":1,"b":"#, json!({"a": 1}), MissingValue),
        (r#"{"a":1,"b":tru"#, json!({"a": 1}), MissingValue),
        (r#"{"a":1,"b":-"#, json!({"a": 1}), MissingValue),
        (r#"{"a":1,"b":}"#, json!({"a": 1}), MissingValue),
        (r#"{"a":,"b":2}"#, json!({"b": 2}), MissingValue),
        ("{", json!({}), MissingCloser),
        ("{\"a\":1\n\"b\":2}", json!({"a": 1, "b": 2}), MissingComma),
        ("[{\"a\":1} {\"a\":2}]", json!([{"a": 1}, {"a": 2}]), MissingComma),
        (r#""{\"a\":[1""#, json!({"a": [1]}), MissingCloser),
        (r#"{"a":1],"b":2}"#, json!({"a": 1, "b": 2}), SurplusCloser),
        (r#"{"a":"\ud83d"}"#, json!({"a": "\u{fffd}"}), HalfCharacter),
    ];
    for (text, value, kind) in table {
        let parsed = parse_arguments(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(parsed.value, value, "{text}");
        assert!(parsed.is_guess, "{text}");
        assert!(kinds(text).contains(&kind), "{text}: {:?}", kinds(text));
    }
}

/// Text, byte offset of the fault, a part of what was expected.
#[test]
fn what_has_no_clear_reading_is_refused() {
    let table = [
        ("{\"a\":NaN}", 5, "finite"),
        ("{\"a\":-Infinity}", 5, "number"),
        ("{\"a\":1e999}", 5, "number"),
        ("{\"a\":007}", 5, "number"),
        ("{\"a\":very fast}", 5, "double quotes"),
        ("{\"a\":undefined}", 5, "double quotes"),
        ("{\"a\":x+1}", 5, "double quotes"),
        ("{\"a\":#fff}", 5, "double quotes"),
        ("{\"a\": # fff\n}", 6, "double quotes"),
        ("{“a”: “he said “hi” twice”}", 21, "straight"),
        ("{‘a’: ‘it’s’}", 15, "straight"),
        ("{\\\"a\\\": \"b\"}", 1, "key"),
        ("{\"a\" 1}", 5, "`:`"),
        ("{\"a\":\"he said \"hi\" \"}", 15, "`,` or `}`"),
        ("[1 x]", 3, "`,` or `]`"),
        ("{{}}", 1, "key"),
        ("{\"a\":1}{\"b\":2}", 7, "end"),
        ("{\"a\":1}, \"b\":2}", 7, "end"),
        ("first {\"a\":1} or {\"b\":2}", 14, "end"),
        ("see [1] {\"a\":1}", 0, "value"),
        ("hello", 0, "value"),
        ("True story", 5, "end"),
        ("// only a comment", 17, "a JSON value"),
    ];
    for (text, offset, expected) in table {
        let error = parse_arguments(text).expect_err(text);
        assert_eq!(error.offset, offset, "{text}: {error}");
        assert!(error.expected.contains(expected), "{text}: {error}");
    }
}

#[test]
fn errors_name_line_column_and_surroundings() {
    let error = parse_arguments("{\n  \"ä\": 1,\n  \"ü\": oops no\n}").unwrap_err();
    assert_eq!((error.line, error.column), (3, 8));
    assert_eq!(error.found, "'o'");
    assert!(error.excerpt.contains("oops"), "{}", error.excerpt);
    insta::assert_snapshot!(error.to_string().replace('\n', "⏎"), @r#"line 3, column 8: expected a value (text needs double quotes), found 'o' near `{⏎  "ä": 1,⏎  "ü": oops no⏎}`"#);
}

#[test]
fn large_integers_stay_exact_on_both_paths() {
    for text in [r#"{"n":9007199254740993}"#, r#"{"n":9007199254740993,}"#] {
        assert_eq!(parse_arguments(text).unwrap().value, json!({"n": 9_007_199_254_740_993_u64}));
    }
    for text in [r#"{"n":18446744073709551615}"#, r#"{'n':18446744073709551615}"#] {
        assert_eq!(parse_arguments(text).unwrap().value, json!({"n": u64::MAX}));
    }
    for text in [r#"{"n":18446744073709551616}"#, r#"{n:18446744073709551616}"#] {
        assert_eq!(
            parse_arguments(text).unwrap().value,
            json!({"n": 18_446_744_073_709_551_616.0_f64})
        );
    }
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn the_depth_limit_is_the_same_on_both_paths() {
    let strict = parse_arguments(&nested(MAX_DEPTH)).unwrap();
    assert!(strict.repairs.is_empty() && !strict.is_guess);
    assert!(parse_arguments(&nested(MAX_DEPTH).replace("[]", "[1,]")).is_ok());
    for text in [nested(MAX_DEPTH + 1), nested(MAX_DEPTH + 1).replace("[]", "[1,]")] {
        let error = parse_arguments(&text).unwrap_err();
        assert!(error.expected.contains("128 levels"), "{error}");
        assert_eq!(error.offset, MAX_DEPTH);
    }
}

#[test]
fn ten_thousand_levels_are_refused_not_fatal() {
    for text in [nested(10_000), "[".repeat(10_000), r#"{"a":"#.repeat(10_000)] {
        assert!(parse_arguments(&text).is_err());
    }
}

#[test]
fn megabytes_of_trouble_take_one_pass() {
    let size = 2 << 20;
    let long = format!("{{'a': '{}", "x\n".repeat(size / 2));
    let parsed = parse_arguments(&long).unwrap();
    assert_eq!(parsed.value["a"].as_str().unwrap().len(), size);
    assert!(parsed.is_guess);

    let commas = format!("[{}]", ",".repeat(size));
    assert_eq!(parse_arguments(&commas).unwrap().repairs.len(), MAX_LISTED_REPAIRS);
    let closers = format!("{{}}{}", "]".repeat(size));
    assert_eq!(parse_arguments(&closers).unwrap().value, json!({}));
    let slashes = format!("{{\"a\":\"{}", "\\".repeat(size));
    assert_eq!(parse_arguments(&slashes).unwrap().value["a"].as_str().unwrap().len(), size / 2);
    assert!(parse_arguments(&"/*".repeat(size / 2)).is_err());
    assert!(parse_arguments(&"{".repeat(size)).is_err());
}

#[test]
fn repairs_are_told_with_their_place() {
    let parsed = parse_arguments(r#"{"a":1,}"#).unwrap();
    assert_eq!(parsed.repairs[0].to_string(), "surplus comma ignored (byte 6)");
    assert_eq!(
        serde_json::to_value(&parsed.repairs).unwrap(),
        json!([{"kind": "extra_comma", "offset": 6}])
    );
}

#[test]
fn a_key_with_different_values_is_refused_and_named() {
    for text in [
        r#"{"command":"a","command":"b"}"#,
        r#"{"x":[{"command":1,"command":2}]}"#,
        r#"{"command":{"a":1},"command":{"a":2}}"#,
        "{command: 1, 'command': 2,}",
        r#"{"command":1,"comm\u0061nd":2}"#,
    ] {
        let error = parse_arguments(text).unwrap_err().to_string();
        assert!(error.contains("different values for the key `command`"), "{error}");
    }
    for text in [r#"{"a":[1],"a":[1]}"#, "{'a':[1],'a':[1]}"] {
        assert_eq!(parse_arguments(text).unwrap().value, json!({"a": [1]}), "{text}");
    }
}
