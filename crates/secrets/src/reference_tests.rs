use proptest::prelude::*;
use serde_json::json;

use super::*;

fn names(text: &str) -> Vec<String> {
    find(text).into_iter().map(|reference| reference.name).collect()
}

fn lookup(name: &str) -> Option<Secret> {
    match name {
        "A" => Some(Secret::new("alpha")),
        "B.c-d" => Some(Secret::new("beta")),
        "LOOP" => Some(Secret::new("secret://A")),
        _ => None,
    }
}

#[test]
fn placeholders_are_found_whole_or_embedded() {
    assert_eq!(names("secret://A"), ["A"]);
    assert_eq!(names("Bearer secret://A, secret://B.c-d!"), ["A", "B.c-d"]);
    assert_eq!(names("https://secret://{A}.example.com"), ["A"]);
    assert_eq!(find("x secret://{A}b")[0].range, 2..14);
    assert_eq!(names("secret://secret://A"), ["secret"]);
}

#[test]
fn what_is_no_placeholder_stays_text() {
    for text in
        ["", "secret://", "secret://1A", "secret://{A", "secret://{A b}", "secret:/A", "secret://é"]
    {
        assert_eq!(names(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn names_have_rules() {
    for name in ["A", "_a", "a.b-c_9", &"x".repeat(128)] {
        assert!(is_valid_name(name), "{name}");
    }
    for name in ["", "9a", "-a", "a b", "é", "a/b", &"x".repeat(129)] {
        assert!(!is_valid_name(name), "{name}");
    }
}

#[test]
fn placeholders_are_filled_everywhere_in_a_value() {
    let mut value = json!({
        "headers": {"auth": "Bearer secret://A"},
        "list": ["secret://B.c-d", 1, null, "secret://{A}B"],
        "secret://A": "key",
    });
    assert_eq!(referenced_names(&value), ["A", "B.c-d"]);
    let used = resolve(&mut value, &lookup).expect("all are there");
    assert_eq!(used, ["A", "B.c-d"]);
    assert_eq!(
        value,
        json!({
            "headers": {"auth": "Bearer alpha"},
            "list": ["beta", 1, null, "alphaB"],
            "secret://A": "key",
        })
    );
}

#[test]
fn a_resolved_value_is_not_looked_through() {
    let mut value = json!("secret://LOOP");
    assert_eq!(resolve(&mut value, &lookup), Ok(vec!["LOOP".to_owned()]));
    assert_eq!(value, json!("secret://A"));
}

#[test]
fn a_missing_secret_changes_nothing_and_is_named() {
    let mut value = json!(["secret://A", "secret://NOPE", "secret://GONE", "secret://NOPE"]);
    let before = value.clone();
    let missing = resolve(&mut value, &lookup).expect_err("two are missing");
    assert_eq!(missing.names, ["NOPE", "GONE"]);
    assert_eq!(value, before);
    let message = missing.to_string();
    assert!(message.contains("`hermes secrets set NOPE`"), "{message}");
    assert!(message.contains("`hermes secrets set GONE`"), "{message}");
}

#[test]
fn depth_does_not_matter() {
    let mut value = json!("secret://A");
    for _ in 0..10_000 {
        value = Value::Array(vec![value]);
    }
    assert_eq!(resolve(&mut value, &lookup), Ok(vec!["A".to_owned()]));
    assert!(referenced_names(&value).is_empty());
    // Taken apart by hand, as dropping it would go just as deep.
    while let Value::Array(mut items) = value {
        value = items.pop().expect("one in each");
    }
    assert_eq!(value, json!("alpha"));
}

proptest! {
    #[test]
    fn ranges_lie_in_order_and_hold_their_names(
        parts in proptest::collection::vec("secret://|\\{|\\}|[A-Za-z0-9_.-]{1,5}|é| ", 0..30),
    ) {
        let text = parts.concat();
        let mut end = 0;
        for reference in find(&text) {
            prop_assert!(reference.range.start >= end);
            end = reference.range.end;
            let written = &text[reference.range.clone()];
            let bare = format!("secret://{}", reference.name);
            let braced = format!("secret://{{{}}}", reference.name);
            prop_assert!(written == bare || written == braced);
        }
    }
}
