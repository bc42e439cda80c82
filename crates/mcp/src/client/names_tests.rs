use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn is_callable(name: &str) -> bool {
    hermes_engine::is_valid_tool_name(name)
}

#[test]
fn a_plain_name_stays_as_it_is() {
    assert_eq!(model_name("github", "create_issue"), "mcp__github__create_issue");
    assert_eq!(model_name("my-server", "get-sum"), "mcp__my-server__get-sum");
    assert_eq!(
        hermes_agent_name("my-server", "get-sum").as_deref(),
        Some("mcp__my_server__get_sum")
    );
    assert_eq!(hermes_agent_name("github", "create_issue"), None);
    assert_eq!(canonical("github", "a.b"), "mcp-github:a.b");
}

#[test]
fn what_would_look_alike_does_not() {
    assert_ne!(model_name("a__b", "c"), model_name("a", "b__c"));
    assert_ne!(model_name("a_", "b"), model_name("a", "_b"));
    assert_ne!(model_name("ä", "t"), model_name("ö", "t"));
    assert_ne!(model_name("a", "x.y"), model_name("a", "x/y"));
    let long = "t".repeat(80);
    assert_ne!(model_name("a", &format!("{long}1")), model_name("a", &format!("{long}2")));
    assert!(is_callable(&model_name("", "")));
    assert!(is_callable(&model_name("a", "")));
}

#[test]
fn files_of_names_that_differ_differ() {
    assert_eq!(file_stem("github"), "github");
    assert_ne!(file_stem("GitHub"), file_stem("github"));
    assert_ne!(file_stem("../x"), file_stem("__/x"));
    assert!(!file_stem("../../etc").contains('/'));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_name_is_callable_and_its_own(
        pairs in prop::collection::hash_set(("[ab_-]{0,4}|\\PC{0,6}", "[ab_.]{0,5}|\\PC{0,80}"), 0..24)
    ) {
        let mut owners: HashMap<String, (String, String)> = HashMap::new();
        for (server, tool) in pairs {
            let name = model_name(&server, &tool);
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
        assert_eq!(printable_name("s", plain), plain);
    }
    for odd in ["", "-rf", "x; rm -rf ~", "x\ny", "$(id)", "é", &"x".repeat(200)] {
        let name = printable_name("s", odd);
        assert!(name.starts_with("mcp__s__"), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
    }
}
