//! `hermes run` with small models, and with replies that break off.

use std::collections::BTreeMap;

use hermes_testkit::models::{ModelServer, ReplyStep, ScriptedReply, ServerScript};
use serde_json::{Value, json};

use crate::context::TestContext;

/// A home whose settings name this server, and nothing else about it.
fn with_model(server: &ModelServer) -> TestContext {
    let context = TestContext::new();
    context.settings(format!("model:\n  default: scripted\n  base_url: {}\n", server.url()));
    context
}

/// A server that reports the size of its context window, as llama.cpp does.
fn with_window(tokens: u64) -> ModelServer {
    let props = json!({"default_generation_settings": {"n_ctx": tokens}});
    let pages = BTreeMap::from([("/props".to_owned(), props)]);
    ModelServer::start(ServerScript { scenes: vec![ScriptedReply::says("Here.").again()], pages })
}

fn tools(asked: &Value) -> Vec<&str> {
    let tools = asked["tools"].as_array().expect("tools");
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

#[test]
fn a_small_window_that_the_server_tells_gets_fewer_tools() {
    let mut counts = Vec::new();
    for window in [4_096, 8_192, 131_072] {
        let server = with_window(window);
        let run = with_model(&server).run(["run", "hello"]).succeeds();
        // Earlier requests query the properties of the server.
        let asked = server.model_requests().pop().expect("a request");
        let shown = tools(&asked);
        assert!(shown.contains(&"read_file") && shown.contains(&"terminal"), "{shown:?}");
        assert!(shown.contains(&"tool_search"), "{shown:?}");
        let taken = asked["tools"].to_string().len() as u64 / 4;
        assert!(taken < window / 5 * 2, "{taken} of {window}");
        assert!(!run.stderr.contains("of the model's context window"), "{}", run.stderr);
        counts.push(shown.len());
    }
    assert!(counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
    // A window that is full before the first message is reported.
    let server = with_window(512);
    let run = with_model(&server).run(["run", "hello"]).succeeds();
    assert!(
        run.stderr.contains("of the 512 tokens of the model's context window"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_answer_that_nobody_has_seen_is_asked_for_again() {
    let half =
        || ScriptedReply::from_steps([ReplyStep::Text("Let me look at ".into()), ReplyStep::Cut]);
    let server = ModelServer::start(vec![half(), ScriptedReply::says("Done.")]);
    let run = with_model(&server).run(["run", "hello"]).succeeds();
    assert_eq!(run.stdout, "Done.\n");
    // JSON output reports that the earlier text is discarded.
    let server = ModelServer::start(vec![half(), ScriptedReply::says("Done.")]);
    let run = with_model(&server).run(["--json", "run", "hello"]).succeeds();
    let events: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    let again = events.iter().position(|event| event["type"] == "again").expect("again");
    assert!(events[..again].iter().any(|event| event["text"] == "Let me look at "));
    assert_eq!(events.last().map(|event| &event["text"]), Some(&json!("Done.")));
}

#[test]
fn a_conversation_is_not_told_as_json() {
    let run = TestContext::new().run(["--json", "chat"]).exits(2);
    assert!(run.stdout.contains("does not support --json"), "{}", run.stdout);
}
