#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use crate::toolsets::fake_index::FakeIndex;
use crate::toolsets::{CustomToolset, CustomToolsets, ToolsetCatalog, ToolsetError};

fn toolset(name: &str, tools: &[&str], includes: &[&str]) -> CustomToolset {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let mut toolset = CustomToolset::new(name);
    toolset.tools = owned(tools);
    toolset.includes = owned(includes);
    toolset
}

fn known(name: &str) -> Option<String> {
    match name {
        "file_read" => Some("read_file".to_owned()),
        "my_tool" | "read_file" => Some(name.to_owned()),
        _ => None,
    }
}

fn create(toolsets: &mut ToolsetCatalog, toolset: CustomToolset) -> Result<(), ToolsetError> {
    toolsets.create(toolset, &(), &known)
}

fn load(document: &Value) -> Result<ToolsetCatalog, ToolsetError> {
    ToolsetCatalog::load(CustomToolsets::parse(&document.to_string())?, &(), &known)
}

#[test]
fn a_custom_toolset_behaves_like_a_built_in_one() {
    let mut toolsets = ToolsetCatalog::default();
    let mut flow = toolset("my_workflow", &["my_tool", "web_search"], &["terminal"]);
    flow.description = "Custom workflow toolset".to_owned();
    create(&mut toolsets, flow).unwrap();
    assert_eq!(
        toolsets.resolve("my_workflow", &()).unwrap(),
        ["my_tool", "process", "terminal", "web_search"]
    );
    let info = toolsets.summary("my_workflow", &()).unwrap();
    assert_eq!(info.direct, ["my_tool", "web_search"]);
    assert_eq!(info.description, "Custom workflow toolset");
    assert!(toolsets.names(&()).iter().any(|name| name == "my_workflow"));
}

#[test]
fn what_was_created_survives_writing_and_reading() {
    let mut toolsets = ToolsetCatalog::default();
    create(&mut toolsets, toolset("base", &["my_tool"], &[])).unwrap();
    create(&mut toolsets, toolset("more", &["todo"], &["base", "web_tools"])).unwrap();
    let text = toolsets.custom().to_json();
    let read = CustomToolsets::parse(&text).unwrap();
    assert_eq!(ToolsetCatalog::load(read, &(), &known).unwrap(), toolsets);
    assert!(text.ends_with("}\n"));
}

#[test]
fn members_get_their_canonical_names_each_once() {
    let index = FakeIndex::default().with("mcp-gh", &["mcp__gh__x"]).alias("gh", "mcp-gh");
    let mut toolsets = ToolsetCatalog::default();
    let mine = toolset("mine", &["file_read", "read_file"], &["gh", "mcp-gh", "*", "all"]);
    toolsets.create(mine, &index, &known).unwrap();
    let stored = toolsets.custom().get("mine").unwrap();
    assert_eq!(stored.tools, ["read_file"]);
    assert_eq!(stored.includes, ["mcp-gh", "all"]);
}

#[test]
fn names_follow_the_rule() {
    let longest = "a".repeat(64);
    for name in ["a", "0", "my-flow_2", longest.as_str()] {
        create(&mut ToolsetCatalog::default(), toolset(name, &[], &[])).unwrap();
    }
    let too_long = "a".repeat(65);
    for name in ["", "-a", "_a", "A", "a b", "a.b", "ä", "*", "mcp-x", "a\n", too_long.as_str()] {
        let error = create(&mut ToolsetCatalog::default(), toolset(name, &[], &[])).unwrap_err();
        assert!(matches!(error, ToolsetError::InvalidName { .. }), "{name:?}: {error}");
    }
}

#[test]
fn names_in_use_are_refused() {
    let index = FakeIndex::default().with("weather", &["forecast"]).alias("gh", "mcp-gh");
    for name in ["web", "coding", "hermes-cli", "all", "web_tools", "weather", "gh"] {
        let error =
            ToolsetCatalog::default().create(toolset(name, &[], &[]), &index, &known).unwrap_err();
        assert!(matches!(error, ToolsetError::Taken { .. }), "{name}: {error}");
    }
    let mut toolsets = ToolsetCatalog::default();
    create(&mut toolsets, toolset("mine", &[], &[])).unwrap();
    let error = create(&mut toolsets, toolset("mine", &[], &[])).unwrap_err();
    assert_eq!(error, ToolsetError::Exists { name: "mine".to_owned() });
}

#[test]
fn a_misspelt_include_is_refused_at_creation_and_at_load() {
    let message = "toolset `mine` includes `brower`, which does not exist; did you mean `browser`?";
    let mut toolsets = ToolsetCatalog::default();
    let error = create(&mut toolsets, toolset("mine", &[], &["web", "brower"])).unwrap_err();
    assert_eq!(error.to_string(), message);
    assert!(toolsets.custom().is_empty());
    let error = load(&json!({"toolsets": {"mine": {"includes": ["brower"]}}})).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn an_include_that_vanished_is_an_error_but_not_for_all() {
    let index = FakeIndex::default().with("weather", &["forecast"]);
    let mut toolsets = ToolsetCatalog::default();
    toolsets.create(toolset("mine", &[], &["weather"]), &index, &known).unwrap();
    assert_eq!(toolsets.resolve("mine", &index).unwrap(), ["forecast"]);
    let error = toolsets.resolve("mine", &()).unwrap_err();
    assert!(matches!(error, ToolsetError::UnknownInclude { .. }), "{error}");
    toolsets.resolve("all", &()).unwrap();
}

#[test]
fn the_toolset_of_a_server_may_be_away_at_load_but_not_at_creation() {
    let error =
        create(&mut ToolsetCatalog::default(), toolset("mine", &[], &["mcp-gh"])).unwrap_err();
    assert!(matches!(error, ToolsetError::UnknownInclude { .. }), "{error}");
    let document = json!({"toolsets": {"mine": {"tools": ["todo"], "includes": ["mcp-gh"]}}});
    let toolsets = load(&document).unwrap();
    assert_eq!(toolsets.resolve("mine", &()).unwrap(), ["todo"]);
    assert_eq!(toolsets.problems(&(), &known).len(), 1);
    let index = FakeIndex::default().with("mcp-gh", &["mcp__gh__x"]);
    assert_eq!(toolsets.resolve("mine", &index).unwrap(), ["mcp__gh__x", "todo"]);
    assert!(toolsets.problems(&index, &known).is_empty());
}

#[test]
fn a_misspelt_tool_is_refused_but_one_left_out_of_the_build_is_not() {
    let mut toolsets = ToolsetCatalog::default();
    let error = create(&mut toolsets, toolset("mine", &["serch_files"], &[])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "toolset `mine` names the tool `serch_files`, which does not exist; \
         did you mean `search_files`?"
    );
    create(&mut toolsets, toolset("mine", &["docker_manage"], &[])).unwrap();
}

#[test]
fn a_tool_that_is_gone_does_not_keep_the_rest_from_loading() {
    let toolsets = load(&json!({"toolsets": {"mine": {"tools": ["gone", "file_read"]}}})).unwrap();
    assert_eq!(toolsets.resolve("mine", &()).unwrap(), ["gone", "read_file"]);
    let problems = toolsets.problems(&(), &known);
    assert!(
        matches!(problems.as_slice(), [ToolsetError::UnknownTool { tool, .. }] if tool == "gone"),
        "{problems:?}"
    );
}

#[test]
fn a_cycle_is_refused_with_its_path() {
    let mut toolsets = ToolsetCatalog::default();
    let error = create(&mut toolsets, toolset("a", &[], &["a"])).unwrap_err();
    assert_eq!(error.to_string(), "toolset `a` would include itself: a → a");
    create(&mut toolsets, toolset("a", &["todo"], &[])).unwrap();
    create(&mut toolsets, toolset("b", &[], &["a"])).unwrap();
    create(&mut toolsets, toolset("c", &[], &["a", "b"])).unwrap();
    let error = toolsets.replace(toolset("a", &[], &["web", "c"]), &(), &known).unwrap_err();
    assert_eq!(error.to_string(), "toolset `a` would include itself: a → c → a");
    let error = toolsets.replace(toolset("a", &[], &["b"]), &(), &known).unwrap_err();
    assert_eq!(error.to_string(), "toolset `a` would include itself: a → b → a");
    assert_eq!(toolsets.resolve("c", &()).unwrap(), ["todo"]);
}

#[test]
fn a_cycle_through_ten_thousand_is_found_and_told_briefly() {
    let mut stored = serde_json::Map::new();
    stored.insert("c0".to_owned(), json!({}));
    for link in 1..10_000 {
        stored.insert(format!("c{link}"), json!({"includes": [format!("c{}", link - 1)]}));
    }
    let mut toolsets = load(&json!({"toolsets": stored})).unwrap();
    let error = toolsets.replace(toolset("c0", &[], &["c9999"]), &(), &known).unwrap_err();
    assert_eq!(
        error.to_string(),
        "toolset `c0` would include itself: c0 → c9999 → c9998 → … → c2 → c1 → c0"
    );
}

#[test]
fn replacing_changes_the_members_and_keeps_unknown_fields() {
    let mut toolsets =
        load(&json!({"toolsets": {"mine": {"tools": ["todo"], "colour": "red"}}})).unwrap();
    toolsets.replace(toolset("mine", &["memory"], &[]), &(), &known).unwrap();
    assert_eq!(toolsets.resolve("mine", &()).unwrap(), ["memory"]);
    assert!(toolsets.custom().to_json().contains("\"colour\": \"red\""));
}

#[test]
fn deleting_removes_only_what_nobody_needs() {
    let index = FakeIndex::default().with("weather", &["forecast"]);
    let mut toolsets = ToolsetCatalog::default();
    create(&mut toolsets, toolset("base", &["todo"], &[])).unwrap();
    create(&mut toolsets, toolset("more", &[], &["base"])).unwrap();
    let mut delete = |name| toolsets.delete(name, &index);
    let error = delete("base").unwrap_err();
    assert_eq!(error.to_string(), "toolset `base` is included by `more`; change those first");
    assert!(matches!(delete("web"), Err(ToolsetError::BuiltIn { .. })));
    assert!(matches!(delete("all"), Err(ToolsetError::BuiltIn { .. })));
    assert!(matches!(delete("weather"), Err(ToolsetError::Registered { .. })));
    let error = delete("mroe").unwrap_err();
    assert_eq!(error.suggestions(), ["more"]);
    assert_eq!(delete("more").unwrap().name, "more");
    assert_eq!(delete("base").unwrap().tools, ["todo"]);
    assert!(toolsets.custom().is_empty());
}

#[test]
fn unknown_fields_of_the_document_are_kept() {
    let text = r#"{"note":"mine","version":1,"toolsets":{"b":{"tools":["todo"],"z":1,"a":{"deep":[null]}},"a":{}},"more":[1.5]}"#;
    let written = CustomToolsets::parse(text).unwrap().to_json();
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        written.to_string(),
        r#"{"version":1,"toolsets":{"a":{"description":"","tools":[],"includes":[]},"b":{"description":"","tools":["todo"],"includes":[],"z":1,"a":{"deep":[null]}}},"note":"mine","more":[1.5]}"#
    );
}

#[test]
fn blank_text_is_an_empty_document() {
    for text in ["", " \n", "\u{feff}", "{}", "{\"version\":1}"] {
        assert!(CustomToolsets::parse(text).unwrap().is_empty(), "{text:?}");
    }
}

#[test]
fn a_wrong_document_is_told_by_place() {
    for (text, message) in [
        ("[]", "custom toolsets, the document: expected an object, found a list"),
        (r#"{"version":2}"#, "custom toolsets, version: expected 1, found 2"),
        (r#"{"version":"1"}"#, "custom toolsets, version: expected 1, found a string"),
        (r#"{"toolsets":[]}"#, "custom toolsets, toolsets: expected an object, found a list"),
        (
            r#"{"toolsets":{"a":null}}"#,
            "custom toolsets, toolsets.a: expected an object, found null",
        ),
        (
            r#"{"toolsets":{"a":{"description":1}}}"#,
            "custom toolsets, toolsets.a.description: expected a string, found a number",
        ),
        (
            r#"{"toolsets":{"a":{"tools":"todo"}}}"#,
            "custom toolsets, toolsets.a.tools: expected a list of names, found a string",
        ),
        (
            r#"{"toolsets":{"a":{"includes":["web",true]}}}"#,
            "custom toolsets, toolsets.a.includes[1]: expected a string, found a boolean",
        ),
        (
            r#"{"toolsets":{"web":{}}}"#,
            "a toolset cannot be called `web`: a built-in toolset has that name",
        ),
        (
            r#"{"toolsets":{"Web":{}}}"#,
            "`Web` cannot be the name of a toolset: it must start with a lower-case letter or a digit",
        ),
    ] {
        assert_eq!(CustomToolsets::parse(text).unwrap_err().to_string(), message);
    }
    let error = CustomToolsets::parse("{\n  \"toolsets\": {,}\n}").unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn absurd_nesting_is_an_error_and_nothing_worse() {
    let text = format!("{{\"toolsets\":{}", "[".repeat(1_000_000));
    assert!(matches!(CustomToolsets::parse(&text), Err(ToolsetError::Document { .. })));
}
