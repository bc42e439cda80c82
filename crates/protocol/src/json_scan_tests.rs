use super::*;

fn scan(text: &str) -> ScanStatus {
    JsonScanner::new().feed(text.as_bytes())
}

#[test]
fn a_document_ends_with_its_last_bracket() {
    assert_eq!(scan("{}"), ScanStatus::Complete(2));
    assert_eq!(scan(r#" {"a":[1,{"b":"}]\"{"}],"c":-1.5e3} tail"#), ScanStatus::Complete(35));
    assert_eq!(scan("[[],[],{}]"), ScanStatus::Complete(10));
}

#[test]
fn what_may_go_on_is_not_broken() {
    for text in
        ["", "{", "[", "[1", "[1,", r#"{"a"#, r#"{"a""#, r#"{"a":"#, r#"{"a":1"#, r#"{"a":"x\"#]
    {
        assert_eq!(scan(text), ScanStatus::More, "{text}");
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
        assert_eq!(scan(text), ScanStatus::Broken, "{text}");
    }
}

#[test]
fn pieces_make_the_same_whole() {
    let text = r#"{"a":[1,{"b":"}]\"{"}],"c":true}"#;
    for cut in 1..text.len() {
        let mut scanner = JsonScanner::new();
        let (left, right) = text.split_at(cut);
        assert_eq!(scanner.feed(left.as_bytes()), ScanStatus::More, "{left}");
        assert_eq!(
            scanner.feed(right.as_bytes()),
            ScanStatus::Complete(right.len()),
            "{left} {right}"
        );
    }
}

#[test]
fn depth_is_bounded() {
    assert_eq!(scan(&"[".repeat(MAX_SCAN_DEPTH)), ScanStatus::More);
    assert_eq!(scan(&"[".repeat(MAX_SCAN_DEPTH + 1)), ScanStatus::TooDeep(MAX_SCAN_DEPTH + 1));
}

#[test]
fn depth_is_found_outside_of_strings() {
    assert_eq!(find_too_deep("[\n\"[[[\\\"[[[\",[[1]]]", 2), Some((2, 13)));
    assert_eq!(find_too_deep("[\"[[[[\",[]]", 2), None);
}
