use serde_json::json;

use super::*;

fn read(skills: Value) -> SkillSettings {
    let variable = |name: &str| match name {
        "HOME" => Some("/u".to_owned()),
        "MINE" => Some("/opt/mine".to_owned()),
        _ => None,
    };
    SkillSettings::read(&json!({ "skills": skills }), Path::new("/h"), &variable)
}

#[test]
fn skills_are_switched_off_by_any_spelling() {
    let choices = read(json!({
        "disabled": ["Deploy K8s", 7], "platform_disabled": {"cli": "other", "telegram": ["third"]},
    }));
    assert!(choices.is_disabled("deploy-k8s") && choices.is_disabled("other"));
    assert!(!choices.is_disabled("third") && !choices.is_disabled("7"));
}

#[test]
fn folders_are_a_list_or_one_text() {
    let dirs = |said: Value| read(json!({ "external_dirs": said })).external_dirs;
    assert_eq!(dirs(json!("~/x")), [Path::new("/u/x")]);
    assert_eq!(
        dirs(json!(["rel", "$MINE/a", "${MINE}b", "/a/$NONE/$", "~other/x"])),
        ["/h/rel", "/opt/mine/a", "/opt/mineb", "/a/$NONE/$", "/h/~other/x"].map(Path::new)
    );
}

#[test]
fn what_is_not_said_well_is_not_said() {
    for odd in [json!(null), json!(true), json!([1]), json!({"disabled": {"a": 1}, "trusted": 3})] {
        let choices = read(odd);
        assert_eq!(choices, SkillSettings::default());
    }
    assert!(!read(json!({"template_vars": false})).expands_vars);
}
