#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn short_text_is_borrowed_unchanged() {
    assert!(matches!(excerpt("abc", 3), Cow::Borrowed("abc")));
    assert!(matches!(excerpt("äöü", 3), Cow::Borrowed("äöü")));
    assert!(matches!(excerpt("", 0), Cow::Borrowed("")));
}

#[test]
fn long_text_is_cut_between_characters() {
    assert_eq!(excerpt("abcdef", 4), "abc…");
    assert_eq!(excerpt("ääää", 3), "ää…");
    assert_eq!(excerpt("日本語日本語", 4), "日本語…");
    assert_eq!(excerpt("abc", 1), "…");
}

#[test]
fn values_are_compact_json_within_the_limit() {
    assert_eq!(excerpt_value(&json!({"a": [1, "x"]}), 80), r#"{"a":[1,"x"]}"#);
    let long = json!(vec!["é".repeat(30); 30]);
    for limit in [1, 2, 5, 40, 80] {
        let text = excerpt_value(&long, limit);
        assert!(text.chars().count() <= limit, "{limit}: {text}");
        assert!(text.ends_with('…'));
    }
}

#[test]
fn brief_values_stay_values_when_short() {
    assert_eq!(brief_value(&json!([1, 2]), 80), json!([1, 2]));
    assert_eq!(brief_value(&json!("x".repeat(9)), 4), json!("xxx…"));
    assert_eq!(brief_value(&json!(vec![7; 100]), 6), json!("[7,7,…"));
}

#[test]
fn a_deep_value_is_read_only_as_far_as_shown() {
    let mut value = json!(1);
    for _ in 0..2_000 {
        value = Value::Array(vec![value]);
    }
    assert_eq!(excerpt_value(&value, 10), "[[[[[[[[[…");
}
