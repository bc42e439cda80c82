use std::collections::HashSet;

use serde_json::json;

use super::*;

#[test]
fn names_are_unique_and_described() {
    let names: HashSet<_> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len());
    for key in KEYS {
        assert!(key.about.ends_with('.'), "{}", key.name);
        assert_eq!(SettingKey::find(key.name), Some(key));
    }
}

#[test]
fn every_default_is_a_value_the_setting_can_have() {
    for key in KEYS.iter().filter(|key| key.default != DefaultValue::Unset) {
        let default = key.default.to_value();
        assert_eq!(key.kind.normalize(&default), Some(default), "{}", key.name);
    }
}

#[test]
fn kinds_refuse_what_they_should() {
    let cases = [
        (SettingKind::Flag, json!("true"), false),
        (SettingKind::Flag, json!(false), true),
        (POSITIVE_COUNT, json!(0), false),
        (POSITIVE_COUNT, json!(-1), false),
        (POSITIVE_COUNT, json!(1.5), false),
        (POSITIVE_COUNT, json!("1"), false),
        (POSITIVE_COUNT, json!(1), true),
        (UP_TO_50, json!(51), false),
        (UP_TO_50, json!(50), true),
        (SettingKind::Percent, json!(100), true),
        (SettingKind::Percent, json!(0.5), true),
        (SettingKind::Percent, json!(100.5), false),
        (SettingKind::Switch, json!("auto"), true),
        (SettingKind::Switch, json!("maybe"), false),
        (SettingKind::Text, json!(1), false),
        (SettingKind::TextList, json!("a"), false),
        (SettingKind::TextList, json!(["a", 1]), false),
        (SettingKind::TextList, json!([]), true),
        (SettingKind::PortList, json!([5432, 65_535]), true),
        (SettingKind::PortList, json!([0]), false),
        (SettingKind::PortList, json!([65_536]), false),
        (SettingKind::PortList, json!(["5432"]), false),
        (SettingKind::PortList, json!(5432), false),
        (SettingKind::Map, json!([]), false),
        (SettingKind::Map, json!({"a": 1}), true),
        (SettingKind::Number, json!(-0.5), false),
        (SettingKind::Number, json!("1"), false),
        (SettingKind::Number, json!(600.0), true),
        (SettingKind::Model, json!({"provider": "work"}), false),
        (SettingKind::Model, json!("work:m"), true),
        (SettingKind::Models, json!("m"), false),
        (SettingKind::Models, json!(["m", {"provider": "work", "model": "m"}]), true),
    ];
    for (kind, value, fits) in cases {
        assert_eq!(kind.normalize(&value).is_some(), fits, "{kind}: {value}");
    }
    assert_eq!(SettingKind::Switch.normalize(&json!(true)), Some(json!("on")));
    assert_eq!(SettingKind::Switch.normalize(&json!(false)), Some(json!("off")));
}

#[test]
fn other_sections_are_not_ours() {
    for section in OTHER_SECTIONS {
        assert!(KEYS.iter().all(|key| key.name.split('.').next() != Some(*section)));
    }
}

#[test]
fn documented_names_are_known_and_misspelled_ones_are_not() {
    let known = [
        ("terminal.timeout", json!(5)),
        ("terminal", json!({"timeout": 5, "ssh_host": "h"})),
        ("model", json!("gpt")),
        ("model.prices", json!({"m": {"input": 1}})),
        ("model.prices.m.input", json!(1)),
        ("tools.tool_search", json!(false)),
        ("providers.work.base_url", json!("u")),
        ("auxiliary.session_search.model", json!("m")),
        ("mcp_servers.a.command", json!("c")),
        ("messaging.targets.ops.kind", json!("ntfy")),
        ("moa.presets.deep.layers", json!(2)),
        ("_config_version", json!(39)),
        ("tts.provider", json!("edge")),
    ];
    for (name, value) in known {
        assert!(is_known_setting(name, &value), "{name}");
    }
    let unknown = [
        ("model.defualt", json!("m")),
        ("terminal", json!({"timeuot": 5})),
        ("terminal", json!(5)),
        ("terminal.timeout.seconds", json!(5)),
        ("modle.default", json!("m")),
        ("mcp_server.a", json!({})),
        ("model.pricess", json!({})),
        ("anything", json!(1)),
    ];
    for (name, value) in unknown {
        assert!(!is_known_setting(name, &value), "{name}");
    }
}
