use super::*;

fn scan(text: &str) -> Step {
    Scanner::new().feed(text.as_bytes())
}

#[test]
fn a_document_ends_with_its_last_bracket() {
    assert_eq!(scan("{}"), Step::Complete(2));
    assert_eq!(scan(r#" {"a":[1,{"b":"}]\"{"}],"c":-1.5e3} tail"#), Step::Complete(35));
    assert_eq!(scan("[[],[],{}]"), Step::Complete(10));
}

#[test]
fn what_may_go_on_is_not_broken() {
    for text in
        ["", "{", "[", "[1", "[1,", r#"{"a"#, r#"{"a""#, r#"{"a":"#, r#"{"a":1"#, r#"{"a":"x\"#]
    {
        assert_eq!(scan(text), Step::More, "{text}");
    }
}

#[test]
fn what_cannot_go_on_is_broken() {
    for text in [
        "{1",
        "{,",
        "[,",
        "[1 2",
        "[1,]",
        "{\"a\" 1",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1,{",
        "[}",
        "{]",
        "[1}",
        "[\"a\nb\"]",
        "x",
        "1",
        "\"a\"",
        "[:",
        "[\"a\"\"b\"",
    ] {
        assert_eq!(scan(text), Step::Broken, "{text}");
    }
}

#[test]
fn pieces_make_the_same_whole() {
    let text = r#"{"a":[1,{"b":"}]\"{"}],"c":true}"#;
    for cut in 1..text.len() {
        let mut scanner = Scanner::new();
        let (left, right) = text.split_at(cut);
        assert_eq!(scanner.feed(left.as_bytes()), Step::More, "{left}");
        assert_eq!(scanner.feed(right.as_bytes()), Step::Complete(right.len()), "{left} {right}");
    }
}

#[test]
fn depth_is_bounded() {
    assert_eq!(scan(&"[".repeat(SCAN_DEPTH)), Step::More);
    assert_eq!(scan(&"[".repeat(SCAN_DEPTH + 1)), Step::TooDeep(SCAN_DEPTH + 1));
}

#[test]
fn depth_is_found_outside_of_strings() {
    assert_eq!(too_deep_at("[\n\"[[[\\\"[[[\",[[1]]]", 2), Some((2, 13)));
    assert_eq!(too_deep_at("[\"[[[[\",[]]", 2), None);
}
