//! `hermes toolsets`: built-in and custom groups of tools.

use insta::assert_snapshot;
use serde_json::json;

use crate::context::{TestContext, assert_fields};

#[test]
fn a_toolset_is_shown_with_the_fields_that_scripts_rely_on() {
    let context = TestContext::new();
    let value = context.run(["toolsets", "show", "debugging", "--json"]).succeeds().silent().json();
    assert_fields(&value, &["name", "tools", "direct", "includes"]);
    assert_eq!(value["name"], "debugging");
    let tools: Vec<&str> =
        value["tools"].as_array().expect("a list").iter().filter_map(|t| t.as_str()).collect();
    assert!(tools.is_sorted(), "{tools:?}");
    assert!(tools.contains(&"read_file") && tools.contains(&"terminal"), "{tools:?}");
    assert!(value["includes"].as_array().expect("a list").contains(&json!("file")));
}

#[test]
fn everything_and_the_star_are_the_same() {
    let context = TestContext::new();
    let all = context.run(["toolsets", "show", "all", "--json"]).succeeds().json();
    let star = context.run(["toolsets", "show", "*", "--json"]).succeeds().json();
    assert_eq!(all["tools"], star["tools"]);
}

#[test]
fn the_list_names_every_toolset_once() {
    let context = TestContext::new();
    let value = context.run(["toolsets", "list", "--json"]).succeeds().json();
    assert_eq!(value["schema_version"], 1);
    let mut names: Vec<&str> = value["toolsets"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|t| t["name"].as_str())
        .collect();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for name in ["file", "todo", "hermes-cli", "hermes-telegram", "safe", "coding"] {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    let lines = context.run(["toolsets", "list"]).succeeds().silent().stdout;
    assert_eq!(lines.lines().count(), count);
}

#[test]
fn an_unknown_toolset_is_an_error_that_suggests() {
    let context = TestContext::new();
    let run = context.run(["toolsets", "show", "debuging"]).exits(1);
    assert_snapshot!(run.transcript(), @r"
    exit 1
    --- stdout
    --- stderr
    error: there is no toolset `debuging`
    hint: Did you mean 'debugging'?
    ");
    context.run(["toolsets", "show", "debuging", "--json"]).exits(1).error("not_found");
}

#[test]
fn a_toolset_of_ones_own_outlives_the_process() {
    let context = TestContext::new();
    let run = context.run([
        "toolsets",
        "create",
        "mine",
        "--tools",
        "file_read,todo",
        "--includes",
        "web",
    ]);
    assert!(run.succeeds().stderr.starts_with("Saved in "));
    let shown = context.run(["toolsets", "show", "mine", "--json"]).succeeds().json();
    assert_eq!(shown["direct"], json!(["read_file", "todo"]), "an alias is kept as the tool");
    assert_eq!(shown["includes"], json!(["web"]));
    assert_eq!(shown["custom"], true);
    let listed = context.run(["tools", "list", "--toolset", "mine", "--json"]).succeeds().json();
    assert_eq!(listed["tools"].as_array().map(Vec::len), Some(2));

    let run = context.run(["toolsets", "create", "mine", "--tools", "sleep", "--json"]).exits(1);
    assert!(run.error("conflict").hint.contains("--replace"));
    context.run(["toolsets", "create", "mine", "--tools", "sleep", "--replace"]).succeeds();
    let shown = context.run(["toolsets", "show", "mine", "--json"]).succeeds().json();
    assert_eq!(shown["tools"], json!(["sleep"]));

    let deleted = context.run(["toolsets", "delete", "mine", "--json"]).succeeds().json();
    assert_eq!(deleted["deleted"], "mine");
    context.run(["toolsets", "show", "mine"]).exits(1);
    context.run(["toolsets", "delete", "mine", "--json"]).exits(1).error("not_found");
}

#[test]
fn a_misspelt_member_is_an_error_and_nothing_is_saved() {
    let context = TestContext::new();
    let run = context.run(["toolsets", "create", "mine", "--includes", "fille"]).exits(2);
    assert_snapshot!(run.transcript(), @r"
    exit 2
    --- stdout
    --- stderr
    error: toolset `mine` includes `fille`, which does not exist
    hint: Did you mean 'file'?
    ");
    let error =
        context.run(["toolsets", "create", "mine", "--tools", "read_fil", "--json"]).exits(2);
    error.error("invalid_arguments").suggests("read_file");
    assert!(!context.home().join("toolsets.json").exists());
}

#[test]
fn a_toolset_cannot_be_empty_include_itself_or_take_a_name() {
    let context = TestContext::new();
    for args in [
        vec!["mine"],
        vec!["mine", "--includes", "mine"],
        vec!["file", "--tools", "todo"],
        vec!["all", "--tools", "todo"],
        vec!["bad name", "--tools", "todo"],
        vec!["", "--tools", "todo"],
    ] {
        let words = ["toolsets", "create", "--json"].into_iter().chain(args.clone());
        let error = context.run(words).exits(2).error("invalid_arguments");
        assert!(!error.hint.is_empty(), "{args:?}");
    }
}

#[test]
fn circles_are_refused_and_members_in_use_stay() {
    let context = TestContext::new();
    context.run(["toolsets", "create", "inner", "--tools", "todo"]).succeeds();
    context.run(["toolsets", "create", "outer", "--includes", "inner"]).succeeds();
    let run =
        context.run(["toolsets", "create", "inner", "--includes", "outer", "--replace"]).exits(2);
    assert!(run.stderr.contains("would include itself"), "{}", run.stderr);
    let run = context.run(["toolsets", "delete", "inner", "--json"]).exits(1);
    assert!(run.error("conflict").message.contains("`outer`"));
    let run = context.run(["toolsets", "delete", "file"]).exits(2);
    assert!(run.stderr.contains("Only custom toolsets can be deleted"), "{}", run.stderr);
}

#[test]
fn a_seed_draws_the_same_toolsets_again() {
    let context = TestContext::new();
    let args = ["toolsets", "sample", "balanced", "--seed", "7", "--count", "20"];
    let first = context.run(args).succeeds();
    assert_eq!(first.stdout, context.run(args).succeeds().stdout);
    assert_eq!(first.stdout.lines().count(), 20);
    assert!(first.stdout.lines().all(|line| !line.is_empty()), "at least one toolset is drawn");
    let other =
        context.run(["toolsets", "sample", "balanced", "--seed", "99", "--count", "20"]).succeeds();
    assert_ne!(first.stdout, other.stdout);
}

#[test]
fn a_draw_without_a_seed_can_be_repeated() {
    let context = TestContext::new();
    let drawn = context.run(["toolsets", "sample", "balanced", "--json"]).succeeds().json();
    let seed = drawn["seed"].to_string();
    let again = context
        .run(["toolsets", "sample", "balanced", "--json", "--seed", &seed])
        .succeeds()
        .json();
    assert_eq!(drawn["toolsets"], again["toolsets"]);
}

#[test]
fn a_distribution_can_be_given_or_listed() {
    let context = TestContext::new();
    let drawn = context.run(["toolsets", "sample", "todo=100,file=0", "--seed", "1"]).succeeds();
    assert_eq!(drawn.stdout, "todo\n");
    let listed = context.run(["toolsets", "sample", "--json"]).succeeds().json();
    assert!(listed["distributions"].as_array().is_some_and(|d| d.len() >= 15));

    let run = context.run(["toolsets", "sample", "balancd", "--json"]).exits(1);
    run.error("not_found").suggests("balanced");
    let run = context.run(["toolsets", "sample", "web=5000", "--json"]).exits(2);
    assert!(run.error("invalid_arguments").hint.contains("web=50,file=20"));
    let run = context.run(["toolsets", "sample", "webb=50", "--json"]).exits(1);
    run.error("not_found").suggests("web");
    context.run(["toolsets", "sample", "default", "--count", "0"]).exits(2);
}
