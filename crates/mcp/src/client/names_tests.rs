use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn is_callable(name: &str) -> bool {
    hermes_engine::is_valid_tool_name(name)
}

#[test]
fn a_plain_name_stays_as_it_is() {
    assert_eq!(wire("github", "create_issue"), "mcp__github__create_issue");
    assert_eq!(wire("my-server", "get-sum"), "mcp__my-server__get-sum");
    assert_eq!(other("my-server", "get-sum").as_deref(), Some("mcp__my_server__get_sum"));
    assert_eq!(other("github", "create_issue"), None);
    assert_eq!(canonical("github", "a.b"), "mcp-github:a.b");
}

#[test]
fn what_would_look_alike_does_not() {
    assert_ne!(wire("a__b", "c"), wire("a", "b__c"));
    assert_ne!(wire("a_", "b"), wire("a", "_b"));
    assert_ne!(wire("ä", "t"), wire("ö", "t"));
    assert_ne!(wire("a", "x.y"), wire("a", "x/y"));
    let long = "t".repeat(80);
    assert_ne!(wire("a", &format!("{long}1")), wire("a", &format!("{long}2")));
    assert!(is_callable(&wire("", "")));
    assert!(is_callable(&wire("a", "")));
}

#[test]
fn files_of_names_that_differ_differ() {
    assert_eq!(file("github"), "github");
    assert_ne!(file("GitHub"), file("github"));
    assert_ne!(file("../x"), file("__/x"));
    assert!(!file("../../etc").contains('/'));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_name_is_callable_and_its_own(
        pairs in prop::collection::hash_set(("[ab_-]{0,4}|\\PC{0,6}", "[ab_.]{0,5}|\\PC{0,80}"), 0..24)
    ) {
        let mut owners: HashMap<String, (String, String)> = HashMap::new();
        for (server, tool) in pairs {
            let name = wire(&server, &tool);
            prop_assert!(is_callable(&name), "{name}");
            prop_assert!(name.starts_with("mcp__"));
            if let Some(owner) = owners.insert(name.clone(), (server.clone(), tool.clone())) {
                prop_assert!(false, "{name} is {owner:?} and {:?}", (server, tool));
            }
        }
    }
}

#[test]
fn a_name_in_a_command_is_only_a_name() {
    for plain in ["echo", "get-sum", "a.b_C9"] {
        assert_eq!(safe("s", plain), plain);
    }
    for odd in ["", "-rf", "x; rm -rf ~", "x\ny", "$(id)", "é", &"x".repeat(200)] {
        let name = safe("s", odd);
        assert!(name.starts_with("mcp__s__"), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
    }
}
