use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn knowing(value: &str) -> Redactor {
    Redactor::new([("DB", value)]).expect("one secret")
}

fn redact_json(redactor: &Redactor, text: &str) -> String {
    let mut text = text.to_owned();
    redactor.redact_json(&mut text);
    text
}

#[test]
fn strings_keys_and_numbers_are_cleaned() {
    let redactor = knowing("1234567890");
    let text = r#"{"a": "x1234567890y", "1234567890": [1234567890, -1.5, true], "b":{}}"#;
    let clean = redact_json(&redactor, text);
    assert_eq!(
        clean,
        r#"{"a": "x[secret:DB]y", "[secret:DB]": ["[secret:DB]", -1.5, true], "b":{}}"#
    );
    assert_eq!(redact_json(&redactor, &clean), clean);
}

#[test]
fn escapes_hide_nothing_and_stay_whole() {
    let redactor = knowing("a\"b\\c/dé😀");
    for written in [
        r#"["\n a\"b\\c/dé😀 \u0041"]"#,
        r#"["\n a\"b\\c\/d\u00e9\ud83d\ude00 \u0041"]"#,
        r#"["\n \u0061\u0022\u0062\u005c\u0063\u002f\u0064\u00E9\uD83D\uDE00 \u0041"]"#,
    ] {
        let clean = redact_json(&redactor, written);
        let value: Value = serde_json::from_str(&clean).expect("JSON");
        assert_eq!(value, json!(["\n [secret:DB] A"]), "{written}");
    }
}

#[test]
fn json_within_json_is_cleaned() {
    let redactor = knowing("pa\"ss\\word1");
    let inner = json!({"password": "pa\"ss\\word1"}).to_string();
    let middle = json!({"body": inner}).to_string();
    let outer = json!({"log": middle}).to_string();
    for text in [inner, middle, outer] {
        let clean = redact_json(&redactor, &text);
        assert!(serde_json::from_str::<Value>(&clean).is_ok(), "{clean}");
        assert!(clean.contains("[secret:DB]") && !clean.contains("word1"), "{clean}");
    }
}

#[test]
fn headers_are_known_by_their_keys() {
    let text = r#"{"x-api-key":"12ab34cd56ef","Authorization":"Basic dXNlcjpwYXNz","n":"\n"}"#;
    assert_eq!(
        redact_json(&Redactor::default(), text),
        r#"{"x-api-key":"[redacted:api-key]","Authorization":"Basic [redacted:authorization]","n":"\n"}"#
    );
    let plain = r#"{"x-api-key":"12ab34cd56ef"}"#;
    assert_eq!(redact_json(&Redactor::default(), plain), r#"{"x-api-key":"[redacted:api-key]"}"#);
    // The same text under another key may be anything.
    let other = r#"{"commit":"12ab34cd56ef","n":"\n"}"#;
    assert_eq!(redact_json(&Redactor::default(), other), other);
}

#[test]
fn what_is_clean_stays_to_the_letter() {
    let text = "{ \"a\" : [1.0, 1e5, \"\\u0041\\/\", \"\\ud800\"] }\n";
    assert_eq!(redact_json(&knowing("hunter22"), text), text);
}

#[test]
fn what_is_no_json_is_cleaned_all_the_same() {
    let redactor = knowing("hunter 22");
    for text in
        ["hunter 22", "\"a\" hunter 22", "[\"hunter 22", "\\ hunter 22", "{\"a\":hunter 22}"]
    {
        let clean = redact_json(&redactor, text);
        assert!(clean.contains("[secret:DB]") && !clean.contains("hunter"), "{clean}");
    }
}

fn document(secret: String) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        ("\\PC{0,6}", "\\PC{0,6}").prop_map(move |(a, b)| json!(format!("{a}{secret}{b}"))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("\\PC{0,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => {
            for (key, item) in fields {
                found.push(key.clone());
                strings(item, found);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn json_stays_json_and_loses_the_secret(
        (secret, value) in "[ -~é\n]{6,20}"
            .prop_filter("blank at an end", |s| s.trim() == s && !crate::common_values::is_common_value(s))
            .prop_flat_map(|secret| (Just(secret.clone()), document(secret))),
        pretty in any::<bool>(),
    ) {
        let redactor = knowing(&secret);
        let text = if pretty {
            serde_json::to_string_pretty(&value).expect("a value")
        } else {
            value.to_string()
        };
        let clean = redact_json(&redactor, &text);
        let back: Value = serde_json::from_str(&clean).expect("still JSON");
        let mut found = Vec::new();
        strings(&back, &mut found);
        prop_assert!(found.iter().all(|text| !text.contains(&secret)), "{}", clean);
        prop_assert_eq!(redact_json(&redactor, &clean), clean);
    }

    #[test]
    fn any_text_can_be_cleaned(
        parts in proptest::collection::vec("[\"\\\\{}\\[\\]:, u0-9é]{0,5}|true|\\PC", 1..20),
    ) {
        let once = redact_json(&knowing("hunter22"), &parts.join("hunter22"));
        prop_assert!(!once.contains("hunter22"));
    }
}

#[test]
fn values_of_named_entries_and_options_are_redacted() {
    for text in [
        r#"{"env":[{"name":"DB_PASSWORD","value":"hT5nB7cD1wZ3"},{"name":"A","value":"b"}]}"#,
        r#"{"args":["run","--password","hT5nB7cD1wZ3","-v"]}"#,
        r#"{"auths":{"ghcr.io":{"auth":"bWU6aFQ1bkI3Y0Qxd1oz"}}}"#,
    ] {
        let mut json = text.to_owned();
        Redactor::default().redact_json(&mut json);
        assert!(!json.contains("hT5nB7") && !json.contains("bWU6"), "{json}");
        assert_eq!(json.matches("[redacted]").count(), 1, "{json}");
        serde_json::from_str::<serde_json::Value>(&json).expect("still JSON");
    }
    let mut plain =
        r#"{"name":"DB_PASSWORD","from":"hT5nB7cD1wZ3","x":["--password"],"y":"hT5nB7cD1wZ3"}"#
            .to_owned();
    let before = plain.clone();
    Redactor::default().redact_json(&mut plain);
    assert_eq!(plain, before);
}
