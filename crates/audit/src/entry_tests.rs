#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn written(text: &str) -> String {
    String::from_utf8(entry_fields(text.as_bytes()).into_owned()).unwrap()
}

#[test]
fn a_plain_entry_stays_as_it_is() {
    assert_eq!(written(r#"{"tool":"x","n":[1, 2]}"#), r#""tool":"x","n":[1, 2]"#);
    assert_eq!(written("{}"), "");
}

#[test]
fn the_logs_own_fields_are_kept_apart() {
    assert_eq!(
        written(r#"{"seq":9,"a":{"seq":1},"hash":"x"}"#),
        r#""_seq":9,"a":{"seq":1},"_hash":"x""#
    );
    assert_eq!(written("{\"\\u0073eq\":9}"), r#""_seq":9"#);
}

#[test]
fn everything_else_becomes_one_line_of_an_object() {
    assert_eq!(written("[1,\n2]"), r#""value":[1,2]"#);
    assert_eq!(written("{ }"), "");
    assert!(written("{\"a\":\n").contains("\"unreadable\""));
    assert!(written(&"[".repeat(50_000)).contains("\"unreadable\""));
}

#[test]
fn a_long_entry_keeps_its_short_fields() {
    let entry = json!({ "tool": "x", "text": "y".repeat(5 << 20) });
    let kept = written(&entry.to_string());
    assert!(kept.starts_with(r#""tool":"x","event":"shortened","bytes":"#), "{kept}");
}
