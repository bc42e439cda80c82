use serde_json::{Value, json};

use super::*;

#[test]
fn only_what_is_too_deep_is_taken_out() {
    let flat = r#"{"a": ["]}\\\"", {"b": "[[{"}], "c": 1}"#;
    assert_eq!(truncate_nested(flat.as_bytes()), flat.as_bytes());
    let deep = format!("[1, {}\"x\"{}, 2]", "[".repeat(500), "]".repeat(500));
    let read: Value = serde_json::from_slice(&truncate_nested(deep.as_bytes())).unwrap();
    assert_eq!((&read[0], &read[2]), (&json!(1), &json!(2)));
    assert!(read.to_string().contains(TOO_DEEP_MARKER));
}
