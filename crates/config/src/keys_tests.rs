use std::collections::HashSet;

use serde_json::json;

use super::*;

#[test]
fn names_are_unique_and_described() {
    let names: HashSet<_> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len());
    for key in KEYS {
        assert!(key.about.ends_with('.'), "{}", key.name);
        assert_eq!(Key::find(key.name), Some(key));
    }
}

#[test]
fn every_default_is_a_value_the_setting_can_have() {
    for key in KEYS.iter().filter(|key| key.default != Preset::Unset) {
        let default = key.default.to_value();
        assert_eq!(key.kind.check(&default), Some(default), "{}", key.name);
    }
}

#[test]
fn kinds_refuse_what_they_should() {
    let cases = [
        (Kind::Flag, json!("true"), false),
        (Kind::Flag, json!(false), true),
        (POSITIVE, json!(0), false),
        (POSITIVE, json!(-1), false),
        (POSITIVE, json!(1.5), false),
        (POSITIVE, json!("1"), false),
        (POSITIVE, json!(1), true),
        (UP_TO_50, json!(51), false),
        (UP_TO_50, json!(50), true),
        (Kind::Percent, json!(100), true),
        (Kind::Percent, json!(0.5), true),
        (Kind::Percent, json!(100.5), false),
        (Kind::Switch, json!("auto"), true),
        (Kind::Switch, json!("maybe"), false),
        (Kind::Text, json!(1), false),
        (Kind::TextList, json!("a"), false),
        (Kind::TextList, json!(["a", 1]), false),
        (Kind::TextList, json!([]), true),
        (Kind::PortList, json!([5432, 65_535]), true),
        (Kind::PortList, json!([0]), false),
        (Kind::PortList, json!([65_536]), false),
        (Kind::PortList, json!(["5432"]), false),
        (Kind::PortList, json!(5432), false),
        (Kind::Map, json!([]), false),
        (Kind::Map, json!({"a": 1}), true),
        (Kind::Number, json!(-0.5), false),
        (Kind::Number, json!("1"), false),
        (Kind::Number, json!(600.0), true),
        (Kind::Model, json!({"provider": "work"}), false),
        (Kind::Model, json!("work:m"), true),
        (Kind::Models, json!("m"), false),
        (Kind::Models, json!(["m", {"provider": "work", "model": "m"}]), true),
    ];
    for (kind, value, fits) in cases {
        assert_eq!(kind.check(&value).is_some(), fits, "{kind}: {value}");
    }
    assert_eq!(Kind::Switch.check(&json!(true)), Some(json!("on")));
    assert_eq!(Kind::Switch.check(&json!(false)), Some(json!("off")));
}

#[test]
fn other_sections_are_not_ours() {
    for section in OTHER_SECTIONS {
        assert!(KEYS.iter().all(|key| key.name.split('.').next() != Some(*section)));
    }
}
