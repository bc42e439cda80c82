#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::chain::{ChainHash, LogKey, compose};

fn entry(seconds: i64, fields: &Value) -> AuditEntry {
    let text = fields.to_string();
    let inside = &text.as_bytes()[1..text.len() - 1];
    let time = Timestamp::from_second(seconds).unwrap();
    let mut line = Vec::new();
    compose(&mut line, &LogKey::new([1; 32]), 5, time, inside, ChainHash::GENESIS);
    line.pop();
    AuditEntry::parse(&line).unwrap()
}

fn sample() -> AuditEntry {
    entry(
        1000,
        &json!({
            "session": "s 1", "call": "c1", "tool": "read_file", "verdict": "allow",
            "status": "success", "note": "say \"Äpfel\"",
            "effects": [
                { "scope": "file.read", "resource": "/home/a/notes.txt" },
                { "scope": "net", "resource": "example.org" },
            ],
        }),
    )
}

fn matches(query: &AuditQuery) -> bool {
    let entry = sample();
    let matches = query.matches(&entry);
    assert!(!matches || query.may_match(entry.line.as_bytes()), "{query:?}");
    matches
}

#[test]
fn every_condition_can_say_yes_and_no() {
    let some = |text: &str| Some(text.to_owned());
    let base = AuditQuery::default();
    assert!(matches(&base));
    for (tool, right) in [("read_file", true), ("read", false)] {
        assert_eq!(matches(&AuditQuery { tool: some(tool), ..base.clone() }), right);
    }
    for (session, right) in [("s 1", true), ("s 2", false)] {
        assert_eq!(matches(&AuditQuery { session: some(session), ..base.clone() }), right);
    }
    for (word, right) in [("success", true), ("denied", false)] {
        assert_eq!(matches(&AuditQuery { status: some(word), ..base.clone() }), right);
    }
    for (word, right) in [("allow", true), ("deny", false)] {
        assert_eq!(matches(&AuditQuery { verdict: some(word), ..base.clone() }), right);
    }
    for (word, right) in [("c1", true), ("c", false)] {
        assert_eq!(matches(&AuditQuery { call: some(word), ..base.clone() }), right);
    }
    for (text, right) in [("ÄPFEL", true), ("say \"äpfel\"", true), ("birnen", false)] {
        assert_eq!(matches(&AuditQuery { text: some(text), ..base.clone() }), right, "{text}");
    }
}

#[test]
fn scope_and_resource_are_of_one_effect() {
    let with = |scope: Option<&str>, resource: Option<&str>| {
        let own = |text: Option<&str>| text.map(str::to_owned);
        matches(&AuditQuery { scope: own(scope), resource: own(resource), ..AuditQuery::default() })
    };
    assert!(with(Some("net"), None));
    assert!(with(None, Some("notes")));
    assert!(with(Some("file.read"), Some("/home/a")));
    assert!(!with(Some("net"), Some("notes")));
    assert!(!with(Some("file"), None));
}

#[test]
fn times_include_the_first_and_not_the_last() {
    let at = |s| Some(Timestamp::from_second(s).unwrap());
    for (since, until, right) in [
        (at(1000), at(1001), true),
        (at(1001), None, false),
        (None, at(1000), false),
        (at(999), None, true),
    ] {
        assert_eq!(matches(&AuditQuery { since, until, ..AuditQuery::default() }), right);
    }
}
