#![allow(clippy::unwrap_used)]

use super::*;

fn key() -> LogKey {
    LogKey::new([7; 32])
}

#[test]
fn a_line_is_json_and_comes_back() {
    let mut out = Vec::new();
    let fields = br#""tool":"a \"b\"","n":[1,{}]"#;
    let hash = compose(&mut out, &key(), 12, Timestamp::UNIX_EPOCH, fields, ChainHash::GENESIS);
    assert_eq!(out.pop(), Some(b'\n'));
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let names: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(names, ["seq", "time", "tool", "n", "prev", "hash"]);
    assert_eq!(value["time"], "1970-01-01T00:00:00.000Z");

    let line = LogLine::parse(&out).unwrap();
    assert_eq!((line.seq, line.time), (12, "1970-01-01T00:00:00.000Z"));
    assert_eq!(line.fields, fields);
    assert_eq!((line.prev, line.hash), (ChainHash::GENESIS, hash));
    assert!(line.is_intact(&key()));
    assert!(!line.is_intact(&LogKey::new([8; 32])));
}

#[test]
fn an_entry_without_fields_is_a_line_too() {
    let mut out = Vec::new();
    compose(&mut out, &key(), 1, Timestamp::UNIX_EPOCH, b"", ChainHash::GENESIS);
    out.pop();
    assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
    assert_eq!(LogLine::parse(&out).unwrap().fields, b"");
}

#[test]
fn other_lines_are_not_ours() {
    for text in ["", "{}", "not json", "{\"seq\":1,\"time\":\"x\"}", &"x".repeat(500)] {
        assert!(LogLine::parse(text.as_bytes()).is_none(), "{text}");
    }
    assert!(ChainHash::parse("A".repeat(32).as_bytes()).is_none(), "one spelling only");
}
