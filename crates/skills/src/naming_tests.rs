use super::*;

#[test]
fn a_name_becomes_what_is_typed() {
    for (name, typed) in [
        ("axolotl", "axolotl"),
        ("Deploy K8s", "deploy-k8s"),
        ("a.b_c", "ab-c"),
        ("--x__y  z--", "x-y-z"),
        ("../etc", "etc"),
        ("技能", "技能"),
        ("!?", ""),
    ] {
        assert_eq!(slug(name), typed, "{name}");
    }
}

#[test]
fn rules_for_names() {
    for good in ["ok-name", "a", "9lives", &"a".repeat(64)] {
        assert_eq!(name_problem(good), None, "{good}");
    }
    for bad in ["Bad", "-x", "x-", "a--b", "a b", "ä", &"a".repeat(65)] {
        assert!(name_problem(bad).is_some(), "{bad}");
    }
}

#[test]
fn a_text_is_one_visible_line() {
    assert_eq!(sanitize_line("two\n  lines\u{200b}\u{202e} here\u{7}", 100), "two lines here");
    assert_eq!(sanitize_line(&"wörter ".repeat(20), 12), "wörter wö...");
    assert_eq!(sanitize_line("twelve chars", 12), "twelve chars");
}
