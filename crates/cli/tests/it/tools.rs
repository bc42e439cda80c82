//! `hermes tools`: listing, details, search, and export for providers.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::context::{TestContext, assert_fields};

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
fn the_list_has_the_fields_that_scripts_rely_on() {
    let context = TestContext::new();
    let list = context.run(["tools", "list", "--json"]).succeeds().silent().json();
    assert_eq!(list["schema_version"], 1);
    for tool in list["tools"].as_array().expect("a list") {
        assert_fields(
            tool,
            &[
                "name",
                "toolset",
                "description",
                "emoji",
                "aliases",
                "available",
                "reason",
                "tokens",
            ],
        );
        assert!(tool["tokens"].as_u64().is_some_and(|n| n > 10), "{tool}");
        assert_eq!(tool["available"].as_bool(), Some(tool["reason"].is_null()), "{tool}");
    }
    let found = names(&list["tools"]);
    assert!(found.is_sorted(), "{found:?}");
    for name in [
        "todo",
        "sleep",
        "system_info",
        "env_manager",
        "read_file",
        "directory_list",
        "tool_search",
    ] {
        assert!(found.contains(&name), "{name} is missing: {found:?}");
    }
}

#[test]
fn the_list_can_be_narrowed() {
    let context = TestContext::new();
    let list = context.run(["tools", "list", "--json", "--toolset", "todo"]).succeeds().json();
    assert_eq!(names(&list["tools"]), ["todo"]);
    let list = context
        .run(["tools", "list", "--json", "--toolset", "todo,file", "--without", "file"])
        .succeeds()
        .json();
    assert_eq!(names(&list["tools"]), ["todo"]);
    let run = context.run(["tools", "list", "--toolset", "fiel"]).exits(2);
    assert!(run.stderr.contains("Did you mean 'file'"), "{}", run.stderr);
}

#[test]
fn the_list_for_people_has_a_line_for_each_tool() {
    let context = TestContext::new();
    let json = context.run(["tools", "list", "--json"]).succeeds().json();
    let run = context.run(["tools", "list"]).succeeds().silent();
    assert_eq!(run.stdout.lines().count(), names(&json["tools"]).len());
    for (line, name) in run.stdout.lines().zip(names(&json["tools"])) {
        assert!(line.contains(&format!(" {name} ")), "{line}");
    }
}

#[test]
fn costs_are_added_up() {
    let context = TestContext::new();
    let list = context
        .run(["tools", "list", "--json", "--cost", "--toolset", "todo,file"])
        .succeeds()
        .json();
    let sum: u64 =
        list["tools"].as_array().expect("a list").iter().filter_map(|t| t["tokens"].as_u64()).sum();
    assert_eq!(list["cost"]["tokens"], sum);
    assert_eq!(list["cost"]["deferred"], 0);
    let run = context.run(["tools", "list", "--cost", "--toolset", "todo,file"]).succeeds();
    assert!(run.stderr.contains(&format!("{sum} tokens")), "{}", run.stderr);
}

#[test]
fn deferring_follows_the_settings() {
    let context = TestContext::new();
    context.settings("tools:\n  tool_search:\n    enabled: on\n");
    let args = ["tools", "list", "--json", "--cost", "--toolset", "system"];
    let cost = context.run(args).succeeds().json()["cost"].clone();
    assert!(cost["deferred"].as_u64().is_some_and(|n| n >= 3), "{cost}");
    context.settings("tools:\n  tool_search:\n    enabled: off\n");
    assert_eq!(context.run(args).succeeds().json()["cost"]["deferred"], 0);
}

#[test]
fn one_tool_is_shown_in_full() {
    let context = TestContext::new();
    let by_name = context.run(["tools", "show", "read_file", "--json"]).succeeds().json();
    let by_alias = context.run(["tools", "show", "file_read", "--json"]).succeeds().json();
    assert_eq!(by_name, by_alias);
    assert_fields(
        &by_name,
        &["schema_version", "parameters", "annotations", "requires_env", "examples", "tokens"],
    );
    assert_eq!(by_name["parameters"]["required"], json!(["path"]));
}

#[test]
fn one_tool_is_shown_to_people() {
    let context = TestContext::new();
    assert_snapshot!(context.run(["tools", "show", "todo"]).transcript(), @r#"
    exit 0
    --- stdout
    📋 todo  toolset todo
    The session's task list, for work of three or more steps. Returns the whole list. Keep exactly one item in_progress; mark items completed as soon as they are done.
    also: todo_write, todo_read, todo_list, write_todos
    costs 176 tokens

    Parameters
      todos (list of object)  All items by priority, or with merge only those that change. Leave out to read.
      merge (boolean)  Update items by id and append new ones, instead of replacing the list.

    Examples
      Start a list
        hermes call todo '{"todos":[{"id":"1","content":"Reproduce the bug","status":"in_progress"},{"id":"2","content":"Fix it","status":"pending"}]}'
      Add one item to the list
        hermes call todo '{"merge":true,"todos":[{"id":"docs","content":"Update the manual","status":"pending"}]}'
      Read the list
        hermes call todo '{}'
    --- stderr
    "#);
}

#[test]
fn an_unknown_tool_is_an_error_that_suggests() {
    let context = TestContext::new();
    for verb in ["show", "why", "check", "export"] {
        let run = context.run(["tools", verb, "read_fle"]).exits(1);
        assert_eq!(run.stdout, "");
        let expected = "error: No tool named 'read_fle'\nhint: Did you mean 'read_file'";
        assert!(run.stderr.starts_with(expected), "{verb}: {}", run.stderr);
        let error = context.run(["tools", verb, "read_fle", "--json"]).exits(1).error("not_found");
        error.suggests("read_file");
    }
    let error = context.run(["tools", "show", "zzzz", "--json"]).exits(1).error("not_found");
    assert!(error.hint.contains("hermes tools list"), "{error:?}");
}

#[test]
fn why_tells_whether_a_tool_works_and_where_it_belongs() {
    let context = TestContext::new();
    let why = context.run(["tools", "why", "todo", "--json"]).succeeds().json();
    assert_eq!(why["available"], true);
    assert_eq!(why["reason"], Value::Null);
    assert!(why["toolsets"].as_array().expect("a list").contains(&json!("hermes-cli")), "{why}");
    let run = context.run(["tools", "why", "todo"]).succeeds();
    assert!(run.stdout.starts_with("todo is available.\n"), "{}", run.stdout);
}

#[test]
fn search_finds_by_what_a_tool_does() {
    let context = TestContext::new();
    let found = context
        .run(["tools", "search", "wait", "until", "a", "file", "changes", "--json"])
        .succeeds()
        .json();
    assert_eq!(found["query"], "wait until a file changes");
    assert_eq!(names(&found["matches"])[0], "sleep");
    let found =
        context.run(["tools", "search", "file", "--limit", "1", "--json"]).succeeds().json();
    assert_eq!(names(&found["matches"]).len(), 1);
}

#[test]
fn a_search_without_a_match_is_no_failure() {
    let context = TestContext::new();
    let found = context.run(["tools", "search", "qqqqzzzz", "--json"]).succeeds().json();
    assert_eq!(found["matches"], json!([]));
    let run = context.run(["tools", "search", "qqqqzzzz"]).succeeds();
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("No tool matches 'qqqqzzzz'"), "{}", run.stderr);
}

#[test]
fn definitions_come_in_every_providers_format() {
    let context = TestContext::new();
    let export = |format: &str| {
        context.run(["tools", "export", "--format", format, "sleep"]).succeeds().json()
    };
    assert_eq!(export("openai")[0]["function"]["name"], "sleep");
    assert_eq!(export("openai")[0]["type"], "function");
    let strict = export("openai-strict");
    assert_eq!(strict[0]["function"]["strict"], true);
    assert_eq!(strict[0]["function"]["parameters"]["additionalProperties"], false);
    assert_eq!(export("responses")[0]["name"], "sleep");
    assert_eq!(export("anthropic")[0]["input_schema"]["type"], "object");
    assert_eq!(export("gemini")[0]["functionDeclarations"][0]["name"], "sleep");
    assert_eq!(export("draft-07")[0]["parameters"]["type"], "object");

    let run = context.run(["tools", "export", "--format", "opnai"]).exits(2);
    assert!(run.stderr.contains("openai-strict"), "{}", run.stderr);
}

#[test]
fn an_export_tells_what_was_lost() {
    let context = TestContext::new();
    let run = context
        .run(["tools", "export", "--format", "gemini", "todo", "--json"])
        .succeeds()
        .silent();
    let export = run.json();
    assert_eq!(export["format"], "gemini");
    let loss = &export["losses"][0];
    assert_fields(loss, &["tool", "path", "keyword", "action"]);
    let run = context.run(["tools", "export", "--format", "gemini", "todo"]).succeeds();
    assert!(run.stderr.lines().all(|line| line.starts_with("todo: ")), "{}", run.stderr);
}

#[test]
fn an_export_leaves_out_what_the_settings_switch_off() {
    let context = TestContext::new();
    context.settings("agent:\n  disabled_toolsets: [system]\n");
    let export = context.run(["tools", "export", "--format", "anthropic"]).succeeds().json();
    let found = names(&export);
    assert!(found.contains(&"todo") && !found.contains(&"sleep"), "{found:?}");
    assert!(!found.contains(&"tool_call"), "the bridge is not for export: {found:?}");
}

#[test]
fn exports_are_the_same_byte_for_byte() {
    let context = TestContext::new();
    let once = context.run(["tools", "export"]).succeeds().stdout;
    assert_eq!(once, context.run(["tools", "export"]).succeeds().stdout);
}

#[test]
fn arguments_are_fitted_to_any_schema() {
    let context = TestContext::new();
    context.file("schema.json", r#"{"type":"object","properties":{"n":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}},"required":["n"]}"#);
    let coerce = ["tools", "coerce", "--schema", "schema.json"];
    let run = context
        .run(coerce.iter().chain(&[r#"{"n":"12","tags":"['a','b']"}"#, "--json"]))
        .succeeds();
    let value = run.json();
    assert_fields(&value, &["arguments", "coerced", "errors"]);
    assert_eq!(value["arguments"], json!({ "n": 12, "tags": ["a", "b"] }));
    assert_eq!(value["coerced"].as_array().map(Vec::len), Some(2));
    assert_eq!(value["errors"], json!([]));

    let value = context.run(coerce.iter().chain(&[r#"{"n":"twelve"}"#, "--json"])).exits(1).json();
    assert_fields(&value["errors"][0], &["path", "expected", "received"]);
    assert_eq!(value["errors"][0]["path"], "/n");

    let run = context.feed(coerce.iter().chain(&["-"]), r#"{"n":7}"#).succeeds().silent();
    assert_eq!(run.stdout, "{\"n\":7}\n");
}

#[test]
fn a_schema_that_cannot_be_used_is_named() {
    let context = TestContext::new();
    context.file("text.json", "plain text");
    context.file("odd.json", r#"{"type":"objekt"}"#);
    let coerce = |file: &str| context.run(["tools", "coerce", "--json", "--schema", file, "{}"]);
    assert!(coerce("absent.json").exits(1).error("not_found").message.contains("absent.json"));
    assert!(
        coerce("text.json")
            .exits(2)
            .error("invalid_arguments")
            .message
            .contains("text.json is not JSON")
    );
    assert!(coerce("odd.json").exits(2).error("invalid_arguments").message.contains("odd.json: "));
    assert!(coerce(".").exits(2).error("invalid_arguments").message.contains("Cannot read ."));
}

#[test]
fn the_built_in_tools_keep_the_rules() {
    let context = TestContext::new();
    let check = context.run(["tools", "check", "--json"]).succeeds().json();
    assert_eq!(check["problems"], json!([]));
    assert!(check["checked"].as_u64().is_some_and(|n| n >= 9));
}

#[test]
fn a_new_tool_is_a_file_that_is_never_overwritten() {
    let context = TestContext::new();
    let run = context.run(["tools", "new", "word_count", "--toolset", "text"]).succeeds();
    assert_eq!(run.stdout, "./word_count.rs\n");
    let path = context.work().join("word_count.rs");
    let source = std::fs::read_to_string(&path).expect("the file");
    assert!(source.contains(r#"ToolSpec::new("word_count", "text")"#), "{source}");
    assert!(source.contains("struct WordCount;"), "{source}");

    std::fs::write(&path, "mine").expect("a change");
    let run = context.run(["tools", "new", "word_count"]).exits(2);
    assert!(run.stderr.contains("never overwritten"), "{}", run.stderr);
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), "mine");

    let made = context.run(["tools", "new", "other-one", "--json"]).succeeds().json();
    assert_eq!(made["path"], "./other_one.rs");
    for bad in ["Upper", "9lives", "white space", "", "a/b", "naïve"] {
        context.run(["tools", "new", "--json", "--", bad]).exits(2).error("invalid_arguments");
    }
}

#[test]
fn the_reference_page_can_be_made() {
    let context = TestContext::new();
    let page = context.run(["tools", "reference"]).succeeds().stdout;
    assert!(page.starts_with("# Tools\n"), "{page}");
    assert!(page.contains("`read_file`"));
}
