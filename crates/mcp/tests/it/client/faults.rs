//! Servers that fail in every way, and the resulting messages.

use serde_json::{Value, json};

use super::{World, odd, until, with};

fn text(answer: &Value) -> String {
    answer.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_told_as_they_are() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    assert_eq!(world.call("mcp__odd__echo", json!({"text": "hi"})).await, json!({"result": "hi"}));
    // By its exact name, too.
    assert_eq!(world.call("mcp-odd:echo", json!({"text": "hi"})).await, json!({"result": "hi"}));
    assert_eq!(world.call("mcp__odd__structured", json!({})).await, json!({"result": {"n": 5}}));
    let image = world.result("mcp__odd__image", json!({})).await;
    assert_eq!(image.attachments[0].media_type, "image/png");
    assert_eq!(std::fs::read(&image.attachments[0].path).unwrap(), b"\x89PNG\r\n\x1a\n");
    let failed = world.call("mcp__odd__fail", json!({})).await;
    assert!(text(&failed).contains("there is no such thing"), "{failed}");
    assert_eq!(failed["kind"], "conflict");
    let long = world.result("mcp__odd__echo", json!({"text": "z".repeat(200)})).await;
    assert!(long.untrusted);
    world.call("mcp__odd__log", json!({})).await;
    until("the log is there", || servers.status()[0].log == ["warning: watch out"]).await;
    let status = servers.status().remove(0);
    assert_eq!((status.status, status.transport), ("connected", "stdio"));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn content_of_an_unknown_kind_does_not_lose_the_rest() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let answer = world.call("mcp__odd__hologram", json!({})).await;
    let shown = answer["result"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(shown.contains("hologram") && shown.ends_with("\nrest"), "{shown}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_tool_that_is_nested_too_deep_costs_the_others_nothing() {
    let world = World::new();
    let mut schema = json!({"type": "string"});
    for _ in 0..58 {
        schema = json!({"type": "object", "properties": {"a": schema}});
    }
    // Deeper than can be parsed, or serialized here.
    let deep = schema.to_string().replace(
        r#"{"type":"string"}"#,
        &format!("{}{{}}{}", r#"{"not":"#.repeat(30), "}".repeat(30)),
    );
    let good = json!({"name": "good", "inputSchema": {"type": "object"}});
    let file = world.path("tools.json");
    let tools = format!(r#"[{good}, {{"name": "deep", "inputSchema": {deep}}}]"#);
    std::fs::write(&file, tools).unwrap();
    let servers = world.ready(&json!({"odd": odd(&[&format!("tools={}", file.display())])})).await;
    assert_eq!(world.call("mcp__odd__good", json!({})).await, json!({"result": "I am good"}));
    let problems = servers.status().remove(0).problems.join("\n");
    assert!(
        problems.contains("'deep' is omitted: its definition is nested too deeply"),
        "{problems}"
    );
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_with_a_pattern_that_cannot_be_read_here_can_be_called() {
    let world = World::new();
    let tool = |name: &str, property: Value| {
        json!({"name": name, "inputSchema": {"type": "object", "properties": {
            "a": property, "n": {"type": "integer"}}}})
    };
    let tools = json!([
        tool("dash", json!({"type": "string", "pattern": "[^]["})),
        tool("typo", json!({"type": "strng"})),
        tool("dangling", json!({"$ref": "#/$defs/none"})),
    ]);
    let file = world.path("tools.json");
    std::fs::write(&file, tools.to_string()).unwrap();
    let servers = world.ready(&json!({"odd": odd(&[&format!("tools={}", file.display())])})).await;
    for name in ["dash", "typo", "dangling"] {
        let tool = format!("mcp__odd__{name}");
        let answer = world.call(&tool, json!({"a": "zz"})).await;
        assert_eq!(answer, json!({"result": format!("I am {name}")}));
        // The rest of the schema is enforced.
        let wrong = world.call(&tool, json!({"n": "many"})).await;
        assert_eq!(wrong["kind"], "invalid_arguments", "{wrong}");
    }
    let status = servers.status().remove(0);
    assert_eq!((status.notes.len(), status.problems.len()), (3, 0), "{status:?}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_in_every_call_is_left_alone() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    for number in 0..3 {
        let file = world.path(&number.to_string()).display().to_string();
        let lost = world.call("mcp__odd__die", json!({"file": file})).await;
        assert_eq!(lost["effect_disposition"], "unknown", "{lost}");
    }
    let alone = world.call("mcp__odd__echo", json!({"text": "hi"})).await;
    assert!(text(&alone).contains("3 times in a row and is suspended"), "{alone}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_floods_do_no_harm() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    assert_eq!(
        world.call("mcp__odd__garbage", json!({})).await,
        json!({"result": "after garbage"})
    );
    assert_eq!(world.call("mcp__odd__flood", json!({})).await, json!({"result": "flooded"}));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_a_hundred_megabytes_is_refused_and_the_server_lives_on() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let big = world.call("mcp__odd__big", json!({"megabytes": 100})).await;
    assert_eq!(big["kind"], "limit", "{big}");
    assert_eq!(world.call("mcp__odd__echo", json!({"text": "hi"})).await, json!({"result": "hi"}));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_nobody_leaves_the_call_waiting_for_its_time() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": with(odd(&[]), json!({"timeout": 0.2}))})).await;
    let late = world.call("mcp__odd__wrong_id", json!({})).await;
    assert_eq!(
        (late["kind"].as_str(), late["effect_disposition"].as_str()),
        (Some("timeout"), Some("unknown"))
    );
    assert!(text(&late).contains("0.2 s"), "{late}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_in_a_call_is_started_again_and_the_call_is_not_repeated() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let file = world.path("died").display().to_string();
    let lost = world.call("mcp__odd__die", json!({"file": file})).await;
    assert_eq!(lost["effect_disposition"], "unknown", "{lost}");
    assert_eq!(lost["kind"], "network", "{lost}");
    assert!(lost["stderr"].as_str().unwrap().contains("I am dying now"), "{lost}");
    // The next call finds it alive.
    assert_eq!(
        world.call("mcp__odd__die", json!({"file": file})).await,
        json!({"result": "alive again"})
    );
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_can_do_no_harm_is_repeated() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let file = world.path("died").display().to_string();
    let done = world.call("mcp__odd__safe_die", json!({"file": file})).await;
    assert_eq!(done, json!({"result": "alive again"}));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_start_says_why() {
    let world = World::new();
    let servers = world
        .ready(&json!({
            "gone": odd(&["exit"]),
            "none": {"command": "no-such-program-anywhere"},
            "off": with(odd(&[]), json!({"enabled": false})),
        }))
        .await;
    let all = servers.status();
    let by_name = |name: &str| all.iter().find(|it| it.name == name).unwrap();
    let gone = by_name("gone").error.clone().unwrap();
    assert!(gone.contains("exit status: 7"), "{gone}");
    let none = by_name("none").error.clone().unwrap();
    assert!(none.contains("program 'no-such-program-anywhere' not found"), "{none}");
    assert_eq!(by_name("off").status, "disabled");
    let tried = servers.test_server("gone").await.unwrap_err();
    assert!(
        tried.details()["stderr"].as_str().unwrap().contains("ERROR: no licence found"),
        "{tried:?}"
    );
    assert!(servers.test_server("nope").await.unwrap_err().hint().contains("gone"));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_at_its_start_is_given_up_with_its_last_words() {
    let world = World::new();
    let entry = with(odd(&["hang"]), json!({"connect_timeout": 1.5, "required": true}));
    let servers = world.start(&json!({"slow": entry}));
    let required = servers.wait_required().await.unwrap_err();
    assert!(required.message().contains("'slow' did not respond within 1.5 s"), "{required}");
    assert_eq!(required.details()["stderr"], "still loading");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_three_failures_a_server_is_left_alone() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&["exit"])})).await;
    let mut last = String::new();
    for _ in 0..3 {
        last = servers.test_server("odd").await.unwrap_err().message().to_owned();
    }
    assert!(last.contains("3 times in a row and is suspended"), "{last}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn some_broken_servers_cost_the_others_nothing() {
    let world = World::new();
    let mut all = serde_json::Map::new();
    for number in 0..15 {
        all.insert(format!("good{number}"), odd(&[]));
    }
    for number in 0..5 {
        let mode = ["exit", "hang", "garbage", "flood", "wrong"][number];
        all.insert(format!("bad{number}"), with(odd(&[mode]), json!({"connect_timeout": 60})));
    }
    let servers = world.start(&Value::Object(all));
    until("fifteen servers are there", || {
        servers.status().iter().filter(|it| it.status == "connected").count() == 15
    })
    .await;
    let answer = world.call("mcp__good14__echo", json!({"text": "hi"})).await;
    assert_eq!(answer, json!({"result": "hi"}));
    servers.stop().await;
    let left = std::fs::read_dir(world.path("state/mcp/running")).unwrap().count();
    assert_eq!(left, 0, "nothing of them runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_nested_too_deep_fails_its_call_at_once() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let deep = world.call("mcp__odd__deep", json!({})).await;
    assert!(text(&deep).contains("cannot parse the response"), "{deep}");
    // The call was made anyway.
    assert_eq!(deep["effect_disposition"], "unknown", "{deep}");
    assert_eq!(world.call("mcp__odd__echo", json!({"text": "hi"})).await, json!({"result": "hi"}));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_come_twice_and_tools_that_are_none_are_left_out() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&["twice"])})).await;
    let problems = servers.status().remove(0).problems.join("\n");
    assert!(problems.contains("duplicate tool named 'echo'"), "{problems}");
    assert!(problems.contains("'no_schema' is omitted"), "{problems}");
    // Arguments are an object, so it could never be called.
    assert!(problems.contains("'of_text' is omitted"), "{problems}");
    let offered = world.tools();
    assert!(!offered.iter().any(|name| name.ends_with("__of_text")), "{offered:?}");
    assert!(offered.iter().any(|name| name.ends_with("__of_any")), "{offered:?}");
    assert_eq!(world.call("mcp__odd__echo", json!({"text": "hi"})).await, json!({"result": "hi"}));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_do_not_know_the_newer_protocol_are_greeted_the_older_way() {
    for mode in ["deaf", "silent"] {
        let world = World::new();
        let entry = with(odd(&[mode]), json!({"probe_timeout": 0.1}));
        let servers = world.ready(&json!({"odd": entry})).await;
        let answer = world.call("mcp__odd__echo", json!({"text": mode})).await;
        assert_eq!(answer, json!({"result": mode}));
        assert_eq!(servers.status()[0].protocol.as_deref(), Some("2025-11-25"));
        servers.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_a_server_that_is_not_there_is_unavailable_and_no_other_is_offered() {
    let world = World::new();
    let servers = world
        .ready(&json!({
            "gone": odd(&["exit"]),
            "good": odd(&[]),
            "off": with(odd(&[]), json!({"enabled": false})),
            "unset": {"url": "https://h.test/mcp", "headers": {"X": "${HERMES_TEST_NOT_SET}"}},
        }))
        .await;
    for (name, why) in [
        ("mcp__gone__echo", "exit status: 7"),
        ("mcp-gone:echo", "exit status: 7"),
        ("mcp__off__echo", "'off' is disabled"),
        ("mcp__unset__echo", "${HERMES_TEST_NOT_SET} is not set"),
    ] {
        let answer = world.call(name, json!({"text": "hi"})).await;
        assert_eq!(answer["kind"], "unavailable", "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(why), "{answer}");
        assert!(!answer.to_string().contains("mcp__good"), "{answer}");
    }
    let gone = world.call("mcp__gone__echo", json!({})).await;
    assert!(gone["stderr"].as_str().unwrap().contains("ERROR: no licence found"), "{gone}");
    // A running server has the tool or does not.
    assert_eq!(world.call("mcp__good__nonesuch", json!({})).await["kind"], "not_found");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_one_tool_starts_its_server_and_no_other() {
    let world = World::new();
    let entries = json!({"good": odd(&[]), "slow": odd(&["hang"])});
    let servers = world.prepare(&entries);
    servers.start_for("mcp__good__echo").await;
    let answer = world.call("mcp__good__echo", json!({"text": "hi"})).await;
    assert_eq!(answer, json!({"result": "hi"}));
    let all = servers.status();
    assert_eq!((all[0].status, all[1].status), ("connected", "idle"));
    servers.stop().await;
    // Known tools are offered before any server is started.
    let next = World { home: world.home, ..World::new() };
    let servers = next.prepare(&entries);
    servers.start_for("mcp__good__echo").await;
    assert!(servers.status().iter().all(|it| it.status == "idle"), "{:?}", servers.status());
    assert!(next.engine.snapshot().get("mcp__good__echo").is_some());
    assert_eq!(servers.pending(), ["slow"]);
    let answer = next.call("mcp__slow__echo", json!({})).await;
    assert!(answer["error"].as_str().unwrap().contains("has not listed its tools yet"), "{answer}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_required_server_whose_entry_is_wrong_lets_nothing_begin() {
    let world = World::new();
    let servers = world.start(&json!({"x": {"url": "ftp://h.test", "required": true}}));
    let error = servers.wait_required().await.unwrap_err();
    assert_eq!(error.kind(), hermes_core::ErrorKind::Unavailable);
    assert!(error.message().contains("MCP server 'x'"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_only_slow_to_start_is_not_taken_for_an_old_one() {
    let world = World::new();
    let entry = with(odd(&["late"]), json!({"probe_timeout": 0.1}));
    let servers = world.ready(&json!({ "odd": entry })).await;
    assert_eq!(servers.status()[0].protocol.as_deref(), Some("2025-11-25"));
    assert_eq!(world.call("mcp__odd__echo", json!({"text": "hi"})).await, json!({"result": "hi"}));
    servers.stop().await;
    let (mut kept, mut dirs) = (String::new(), vec![world.path("cache")]);
    while let Some(dir) = dirs.pop() {
        for file in std::fs::read_dir(dir).unwrap().flatten() {
            match file.path().is_dir() {
                true => dirs.push(file.path()),
                false => kept += &std::fs::read_to_string(file.path()).unwrap_or_default(),
            }
        }
    }
    assert!(kept.contains(r#""era":"modern""#), "{kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_slow_to_start_and_takes_no_greeting_is_started_again() {
    let world = World::new();
    let entry = with(odd(&["modern", "belated"]), json!({"probe_timeout": 0.1}));
    let servers = world.ready(&json!({ "odd": entry })).await;
    assert_eq!(servers.status()[0].protocol.as_deref(), Some("2026-07-28"));
    assert_eq!(world.call("mcp__odd__echo", json!({"text": "hi"})).await, json!({"result": "hi"}));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_a_server_says_of_a_refusal_is_told() {
    let world = World::new();
    let servers = world.ready(&json!({"odd": odd(&[])})).await;
    let refused = world.call("mcp__odd__refuse", json!({})).await;
    assert_eq!(refused["code"], -32000, "{refused}");
    assert!(text(&refused).contains("quota"), "{refused}");
    assert!(refused["data"].as_str().unwrap().contains("\"left\""), "{refused}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_the_greeting_is_quoted() {
    let world = World::new();
    let servers = world.start(&json!({"odd": odd(&["refuse"])}));
    let error = servers.test_server("odd").await.unwrap_err();
    assert!(error.message().contains("the licence has expired"), "{error}");
    assert!(!error.message().contains("exited"), "{error}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_greeting_cannot_be_used_has_answered() {
    let world = World::new();
    let servers = world.start(&json!({"odd": odd(&["nameless"])}));
    let error = servers.test_server("odd").await.unwrap_err();
    assert!(error.message().contains("response to the handshake cannot be used"), "{error}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_speaks_a_version_that_nobody_knows_is_not_used() {
    let world = World::new();
    let servers = world.start(&json!({"odd": odd(&["ancient"])}));
    let error = servers.test_server("odd").await.unwrap_err();
    assert!(error.message().contains("1999-01-01"), "{error}");
    assert!(error.hint().contains("version") && !error.hint().contains("licence"), "{error:?}");
    servers.stop().await;
}
