//! Which tools a model sees, and that it reaches the others.

use hermes_testkit::models::{ModelServer, ScriptedReply};
use serde_json::{Value, json};

use crate::context::TestContext;

/// Tokens of definitions that a request may carry.
const MAX_SHOWN_TOKENS: u64 = 6_000;

#[test]
fn every_platform_shows_at_most_six_thousand_tokens_and_reaches_every_tool() {
    let context = TestContext::new();
    let toolsets = context.run(["toolsets", "list", "--json"]).succeeds().json();
    let names = toolsets["toolsets"].as_array().expect("a list").iter();
    let platforms: Vec<&str> = names
        .filter(|toolset| toolset["kind"] == "platform")
        .filter_map(|toolset| toolset["name"].as_str())
        .filter(|name| *name != "hermes-webhook")
        .collect();
    assert!(platforms.len() > 15, "{platforms:?}");
    let listed = |toolset: &str| {
        let args = ["tools", "list", "--json", "--cost", "--toolset", toolset];
        context.run(args).succeeds().json()
    };
    let count = |list: &Value| list["tools"].as_array().map_or(0, Vec::len);
    let all = count(&listed("all"));
    for platform in platforms {
        let list = listed(platform);
        let cost = &list["cost"];
        assert!(
            cost["tokens"].as_u64().is_some_and(|n| n <= MAX_SHOWN_TOKENS),
            "{platform}: {cost}"
        );
        assert!(cost["tokens"].as_u64().is_some_and(|n| n > 4_000), "{platform}: {cost}");
        let without_user = ["hermes-acp", "hermes-api-server"].contains(&platform);
        assert_eq!(count(&list) + usize::from(without_user), all, "{platform}");
    }
}

#[test]
fn a_model_finds_and_calls_a_tool_of_every_family() {
    // What to search for, the tool of that family, its arguments, and a part of its result.
    let cases = [
        (
            "pack files into a zip archive",
            "file_compress",
            json!({"action": "create", "archive": "a.zip", "paths": ["a.txt"]}),
        ),
        ("list directory contents", "directory_list", json!({"path": "."})),
        ("machine metrics: memory and disk", "system_info", json!({})),
        ("session environment variables", "env_manager", json!({"action": "list"})),
        ("debug a program with breakpoints", "code_debug", json!({"action": "list"})),
        ("task list", "todo", json!({})),
        ("notes kept across sessions", "memory", json!({"action": "add", "content": "Tabs."})),
    ];
    let mut replies = Vec::new();
    for (query, tool, arguments) in &cases {
        replies.push(ScriptedReply::calls("tool_search", &json!({"query": query}).to_string()));
        let call = json!({"name": tool, "arguments": arguments});
        replies.push(ScriptedReply::calls("tool_call", &call.to_string()));
    }
    replies.push(ScriptedReply::says("Done."));
    let server = ModelServer::start(replies);
    let context = TestContext::new();
    let url = server.url();
    context.settings(format!(
        "model:\n  default: scripted\n  base_url: {url}\n  context_length: 32000\n"
    ));
    context.file("a.txt", "text\n");
    let run = context.run(["--json", "run", "Look for tools"]).succeeds();
    let results: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a JSON line"))
        .filter(|event| event["type"] == "call_result")
        .collect();
    assert_eq!(results.len(), 2 * cases.len(), "{}", run.stdout);
    for ((_, tool, _), pair) in cases.iter().zip(results.chunks(2)) {
        let found: Value =
            serde_json::from_str(pair[0]["content"].as_str().expect("text")).expect("JSON");
        let matches = found["matches"].as_array().expect("a list");
        assert!(matches.iter().any(|found| found["name"] == *tool), "{tool}: {found}");
        assert_eq!(
            (&pair[1]["tool"], &pair[1]["status"]),
            (&json!(tool), &json!("success")),
            "{}",
            pair[1]
        );
    }
}
