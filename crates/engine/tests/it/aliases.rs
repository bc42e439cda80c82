//! Arguments that come with an alias from another agent.

use hermes_core::ToolCall;
use hermes_testkit::probe::ProbeTool;
use serde_json::{Value, json};

use crate::engine;

#[tokio::test]
async fn an_alias_takes_the_arguments_of_its_own_agent() {
    let tools = [
        ("terminal", &["bash", "shell", "run_terminal_cmd", "execute_command", "exec_command"][..]),
        ("patch", &["replace"]),
        ("search_files", &["grep"]),
        ("directory_list", &["list_files"]),
    ];
    let tools = tools.map(|(name, aliases)| {
        let probe = ProbeTool::new(name);
        probe.with_spec(|s| aliases.iter().fold(s, |s, alias| s.alias(*alias))).into_tool()
    });
    let (engine, caller, _dir) = engine(tools.into());
    let script = "ls | wc";
    for (name, given, expected) in [
        ("Bash", json!({ "command": "ls", "description": "d" }), json!({ "command": "ls" })),
        ("bash", json!({ "timeout": 5500 }), json!({ "timeout": 6 })),
        ("bash", json!({ "timeout": 600 }), json!({ "timeout": 600 })),
        ("shell", json!({ "timeout": 5000 }), json!({ "timeout": 5000 })),
        ("shell", json!({ "timeout_ms": 5000 }), json!({ "timeout": 5 })),
        ("shell", json!({ "command": ["bash", "-lc", script] }), json!({ "command": script })),
        ("shell", json!({ "command": ["ls", "-l", "a b"] }), json!({ "command": "ls -l 'a b'" })),
        ("run_terminal_cmd", json!({ "explanation": "e" }), json!({})),
        ("execute_command", json!({ "requires_approval": false }), json!({})),
        ("exec_command", json!({ "yield_time_ms": 1000 }), json!({})),
        ("replace", json!({ "instruction": "i" }), json!({})),
        ("Grep", json!({ "-n": true, "-i": true }), json!({ "case": "insensitive" })),
        (
            "grep",
            json!({ "output_mode": "files_with_matches" }),
            json!({ "output_mode": "files_only" }),
        ),
        ("list_files", json!({ "recursive": true }), json!({ "depth": 10 })),
        ("list_files", json!({ "recursive": false }), json!({ "depth": 1 })),
    ] {
        let result = engine.call(ToolCall::new("1", name, given.clone()), &caller).await;
        let seen: Value = serde_json::from_str(&result.content).unwrap();
        assert_eq!(seen, expected, "{name} {given}");
        assert_eq!(result.coercions.is_empty(), given == expected, "{name} {given}");
    }
    let own = json!({ "command": "ls", "description": "d", "timeout": 5000 });
    let result = engine.call(ToolCall::new("2", "terminal", own.clone()), &caller).await;
    assert_eq!(serde_json::from_str::<Value>(&result.content).unwrap(), own);
}
