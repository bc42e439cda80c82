//! `hermes run` with a scripted model server.

use hermes_testkit::models::{ModelServer, ReplyStep, ScriptedReply};
use serde_json::{Value, json};

use crate::context::{Run, TestContext};

/// A home whose settings name this model server.
fn with_model(server: &ModelServer) -> TestContext {
    let context = TestContext::new();
    point(&context, server, "");
    context
}

fn point(context: &TestContext, server: &ModelServer, more: &str) {
    let url = server.url();
    context.settings(format!(
        "model:\n  default: scripted\n  base_url: {url}\n  context_length: 32000\n{more}"
    ));
}

fn events(run: &Run) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

fn of_type<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == name).collect()
}

#[test]
fn a_task_is_seen_through_and_only_the_answer_is_data() {
    let server = ModelServer::start(vec![
        ScriptedReply::calls("write_file", r#"{"path":"out.txt","content":"hello\n"}"#),
        ScriptedReply::says("It is written."),
    ]);
    let context = with_model(&server);
    let run = context.run(["run", "Write", "hello", "to out.txt"]).succeeds();
    assert_eq!(run.stdout, "It is written.\n");
    assert!(run.stderr.contains("write_file"), "{}", run.stderr);
    assert!(run.stderr.contains("2 turns, 1 call,"), "{}", run.stderr);
    let written = std::fs::read_to_string(context.work().join("out.txt")).expect("the file");
    assert_eq!(written, "hello\n");
    let asked = server.model_requests();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0]["messages"][1]["content"], "Write hello to out.txt");
    assert_eq!(asked[1]["messages"][3]["role"], "tool");
    // The start of the prompt must not change, or servers cannot cache it.
    assert_eq!(asked[0]["messages"][0], asked[1]["messages"][0]);
    assert_eq!(asked[0]["tools"], asked[1]["tools"]);
}

#[test]
fn programs_get_an_event_a_line_and_the_result_last() {
    let server = ModelServer::start(vec![
        ScriptedReply::from_steps([
            ReplyStep::Text("I look. ".into()),
            ReplyStep::call("read_file", r#"{"path":"a.txt"}"#),
            ReplyStep::call("read_file", r#"{"path":"missing.txt"}"#),
            ReplyStep::Usage { input: 100, output: 10, cached: 0, cost: None },
        ]),
        ScriptedReply::from_steps([
            ReplyStep::Text("One is there.".into()),
            ReplyStep::Usage { input: 200, output: 5, cached: 100, cost: None },
        ]),
    ]);
    let context = with_model(&server);
    context.file("a.txt", "content of a\n");
    let run = context.run(["--json", "run", "Which are there?"]).succeeds();
    let events = events(&run);
    assert_eq!(events[0]["type"], "session");
    let calls = of_type(&events, "call");
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["arguments"], json!({"path": "a.txt"}));
    let results = of_type(&events, "call_result");
    let status = |path: &str| {
        let id =
            &calls.iter().find(|call| call["arguments"]["path"] == path).expect("a call")["id"];
        results.iter().find(|result| &result["id"] == id).expect("its result")["status"].clone()
    };
    assert_eq!(status("a.txt"), "success");
    assert_eq!(status("missing.txt"), "not_found");
    let last = events.last().expect("a result");
    assert_eq!(last["type"], "result");
    assert_eq!(last["status"], "success");
    assert_eq!(last["text"], "One is there.");
    assert_eq!(last["usage"]["input_tokens"], 300);
    assert_eq!(last["session"], events[0]["session"]);
}

#[test]
fn a_session_is_kept_and_can_be_gone_on_with() {
    let server = ModelServer::start(vec![
        ScriptedReply::says("Blue."),
        ScriptedReply::says("As I said: blue."),
    ]);
    let context = with_model(&server);
    let first = events(&context.run(["--json", "run", "Which colour?"]).succeeds());
    let id = first[0]["session"].as_str().expect("an id").to_owned();
    let shown = context.run(["sessions", "show", &id, "--json"]).succeeds().json();
    assert!(shown.to_string().contains("Which colour?"), "{shown}");
    let again = context.run(["run", "--resume", &id, "Say it again"]).succeeds();
    assert_eq!(again.stdout, "As I said: blue.\n");
    let asked = server.model_requests();
    let roles: Vec<&str> = asked[1]["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(asked[0]["messages"][0], asked[1]["messages"][0]);
    let listed = context.run(["sessions", "list", "--json"]).succeeds().json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1));
    context.run(["run", "--resume", "nothing_like_it", "x"]).exits(1);
}

#[test]
fn the_last_session_goes_on_in_another_folder() {
    let server =
        ModelServer::start(vec![ScriptedReply::says("Blue."), ScriptedReply::says("Here.")]);
    let context = with_model(&server);
    context.run(["run", "Which colour?"]).succeeds();
    let other = context.work().join("other");
    std::fs::create_dir(&other).expect("a directory");
    let dir = other.to_str().expect("a name");
    let run = context.run(["--json", "run", "--resume", "last", "-C", dir, "Where?"]).succeeds();
    let lines = events(&run);
    assert_eq!((&lines[0]["type"], &lines[1]["type"]), (&json!("session"), &json!("warning")));
    let shown = server.model_requests()[1]["messages"][0]["content"].to_string();
    assert!(shown.contains("working directory has changed") && shown.contains("other"), "{shown}");
}

#[test]
fn what_sub_agents_do_in_the_background_is_waited_for() {
    let goal = r#"{"goal":"Think for long","background":true}"#;
    let last = |text: &str, scene: ScriptedReply| ScriptedReply { last: text.to_owned(), ..scene };
    let server = ModelServer::start(vec![
        last("Meanwhile", ScriptedReply::says("It says 42.")),
        last("dispatched", ScriptedReply::says("I tell you later.")),
        last("Hand it on", ScriptedReply::calls("delegate_task", goal)),
        last(
            "Think for long",
            ScriptedReply::from_steps([ReplyStep::Wait(300), ReplyStep::Text("It is 42.".into())]),
        ),
    ]);
    let context = with_model(&server);
    let run = context.run(["run", "Hand it on"]).succeeds();
    assert_eq!(run.stdout, "It says 42.\n", "{}", run.stderr);
    let asked = server.model_requests().pop().expect("it was asked").to_string();
    assert!(asked.contains("It is 42."), "{asked}");
}

#[test]
fn a_call_that_cannot_be_made_is_shown_with_what_was_asked() {
    let server = ModelServer::start(vec![
        ScriptedReply::from_steps([
            ReplyStep::call("no_such_tool", r#"{"a":1}"#),
            ReplyStep::call("read_file", r#"{"limit":"x"}"#),
        ]),
        ScriptedReply::says("Well."),
    ]);
    let context = with_model(&server);
    let lines = events(&context.run(["--json", "run", "Go on"]).succeeds());
    let (calls, results) = (of_type(&lines, "call"), of_type(&lines, "call_result"));
    let ids = |lines: &[&Value]| -> Vec<String> {
        let mut ids: Vec<_> = lines.iter().map(|line| line["id"].to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!((calls.len(), ids(&calls)), (2, ids(&results)), "{lines:?}");
    assert_eq!(calls[0]["arguments"], json!({"a": 1}), "{lines:?}");
}

#[test]
fn sub_agents_in_the_background_end_with_the_task() {
    let goal = r#"{"goal":"Think for long","background":true}"#;
    let last = |text: &str, scene: ScriptedReply| ScriptedReply { last: text.to_owned(), ..scene };
    let cut_off = [ReplyStep::Text("It is handed on.".into()), ReplyStep::Finish("length".into())];
    let server = ModelServer::start(vec![
        last("Running in the background", ScriptedReply::from_steps(cut_off)),
        last("Hand it on", ScriptedReply::calls("delegate_task", goal)),
        last(
            "Think for long",
            ScriptedReply::from_steps([ReplyStep::Wait(60_000), ReplyStep::Text("Late.".into())]),
        ),
    ]);
    let context = with_model(&server);
    let run = context.run(["--json", "run", "Hand it on"]).exits(1);
    let lines = events(&run);
    let warned = of_type(&lines, "warning");
    assert_eq!(warned.len(), 1, "{lines:?}");
    let shown = warned[0]["message"].as_str().expect("words");
    assert!(shown.contains("running in the background (deleg_1: Think for long)"), "{shown}");
    assert_eq!(lines.last().expect("a result")["text"], "It is handed on.");
    let all = context.run(["sessions", "list", "--all", "--json"]).succeeds().json();
    // It may have been stopped before it started.
    for child in
        all["sessions"].as_array().expect("a list").iter().filter(|s| s["source"] == "subagent")
    {
        assert_eq!(child["end_reason"], "interrupted", "{all}");
    }
}

#[test]
fn a_sub_agent_hears_of_its_processes() {
    let last = |text: &str, scene: ScriptedReply| ScriptedReply { last: text.to_owned(), ..scene };
    let begin = r#"{"command":"sleep 0.4","background":true,"notify_on_complete":true}"#;
    let look = ScriptedReply::calls("sleep", r#"{"seconds":0.2}"#);
    let server = ModelServer::start(vec![
        last("Hand it on", ScriptedReply::calls("delegate_task", r#"{"goal":"Mind it"}"#)),
        last("Meanwhile", ScriptedReply::says("I was told.")),
        last("I was told.", ScriptedReply::says("It was told.")),
        last("Mind it", ScriptedReply::calls("terminal", begin)),
        last("", look).again(),
    ]);
    let context = with_model(&server);
    let run = context.run(["run", "--max-turns", "30", "Hand it on"]);
    let last = |body: &Value| body["messages"].as_array().and_then(|m| m.last()).cloned();
    let heard: Vec<_> = server.model_requests().iter().filter_map(last).collect();
    assert_eq!(run.stdout, "It was told.\n", "{heard:#?}");
}

#[test]
fn nobody_to_ask_means_that_it_is_not_done() {
    let server = ModelServer::start(vec![
        ScriptedReply::calls("terminal", r#"{"command":"git push --force"}"#),
        ScriptedReply::says("It was not allowed."),
    ]);
    let context = with_model(&server);
    let run = context.run(["--json", "run", "Push it"]).exits(3);
    let events = events(&run);
    let results = of_type(&events, "call_result");
    assert_eq!(results[0]["status"], "approval_required", "{results:?}");
}

#[test]
fn a_call_of_a_sub_agent_that_needs_approval_is_reported() {
    let last = |text: &str, scene: ScriptedReply| ScriptedReply { last: text.to_owned(), ..scene };
    for options in [r#"{"goal":"Push it"}"#, r#"{"goal":"Push it","background":true}"#] {
        let server = ModelServer::start(vec![
            last("It was held back.", ScriptedReply::says("It is not done.")),
            last("dispatched", ScriptedReply::says("I tell you later.")),
            last("Hand it on", ScriptedReply::calls("delegate_task", options)),
            last("Push it", ScriptedReply::calls("terminal", r#"{"command":"git push --force"}"#)),
            last("", ScriptedReply::says("It was held back.")),
        ]);
        let context = with_model(&server);
        let run = context.run(["--json", "run", "Hand it on"]).exits(3);
        let result = events(&run).pop().expect("a result");
        assert_eq!(result["status"], "failure", "{result}");
        let held = result["held_calls"].as_array().expect("a list");
        assert_eq!((held.len(), &held[0]["tool"]), (1, &json!("terminal")), "{result}");
        let waiting = context.run(["permissions", "approve"]).succeeds();
        let token = held[0]["token"].as_str().expect("a token");
        assert!(waiting.stdout.contains(token), "{token}: {}", waiting.stdout);
    }
}

#[test]
fn a_model_may_approve_and_what_it_does_not_is_asked() {
    let command = r#"{"command":"git push --force"}"#;
    for (opinion, status) in [("APPROVE", "success"), ("Fine. APPROVE", "approval_required")] {
        let server = ModelServer::start(vec![
            ScriptedReply::says(opinion).when("a rule has stopped it"),
            ScriptedReply::calls("terminal", command),
            ScriptedReply::says("Done."),
        ]);
        let context = with_model(&server);
        point(&context, &server, "approvals:\n  mode: smart\n");
        let run = context.run(["--json", "run", "Push it"]);
        let events = events(&if status == "success" { run.succeeds() } else { run.exits(3) });
        let results = of_type(&events, "call_result");
        let shown = results[0]["status"].as_str().expect("a status");
        // Without a repository, git itself fails once it may run.
        let ran = results[0]["content"].as_str().is_some_and(|c| c.contains("exit_code"));
        assert_eq!(ran, status == "success", "{opinion}: {shown} {}", results[0]["content"]);
    }
}

#[test]
fn budgets_end_a_task_with_a_summary_and_say_so() {
    let server = ModelServer::start(vec![
        ScriptedReply::says("I have looked at one file.").when("used up"),
        ScriptedReply::calls("read_file", r#"{"path":"a.txt"}"#).again(),
    ]);
    let context = with_model(&server);
    context.file("a.txt", "x\n");
    let run = context.run(["--json", "run", "--max-turns", "2", "Look on and on"]).exits(1);
    let events = events(&run);
    let last = events.last().expect("a result");
    assert_eq!(last["status"], "failure");
    assert_eq!(last["end"], "budget");
    assert_eq!(last["text"], "I have looked at one file.");
}

#[test]
fn the_closing_request_is_kept_within_the_budget() {
    let look = |cost: f64| {
        ScriptedReply::from_steps([
            ReplyStep::call("read_file", r#"{"path":"a.txt"}"#),
            ReplyStep::Usage { input: 9_000, output: 10, cached: 0, cost: Some(cost) },
        ])
    };
    let closing = ScriptedReply::from_steps([
        ReplyStep::Text("I have looked.".into()),
        ReplyStep::Usage { input: 9_000, output: 10, cached: 0, cost: Some(0.3) },
    ]);
    let server = ModelServer::start(vec![closing.when("used up"), look(0.3), look(0.3), look(9.0)]);
    let context = with_model(&server);
    context.file("a.txt", "x\n");
    let run = context.run(["--json", "run", "--budget", "1", "Look on and on"]).exits(1);
    let last = events(&run).pop().expect("a result");
    assert_eq!((&last["end"], &last["text"]), (&json!("budget"), &json!("I have looked.")));
    let cost = last["usage"]["cost_usd"].as_f64().expect("a cost");
    assert!(cost <= 1.0, "{last}");
}

#[test]
fn an_unknown_provider_before_the_colon_is_an_error_and_a_tag_after_it_is_not() {
    let server = ModelServer::start(vec![ScriptedReply::says("Here.").again()]);
    let context = with_model(&server);
    let run = context.run(["run", "-m", "nosuch:foo", "Hello"]);
    assert_ne!(run.code, 0);
    for part in ["`nosuch`", "openrouter", "ollama"] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    assert!(server.model_requests().is_empty());
    for model in ["llama3:8b", "org/model:free"] {
        context.run(["run", "-m", model, "Hello"]).succeeds();
        assert_eq!(server.model_requests().pop().expect("it was asked")["model"], model);
    }
}

#[test]
fn whoever_names_a_model_means_that_one() {
    let server = ModelServer::start(vec![ScriptedReply::says("Here.")]);
    let context = with_model(&server);
    let mut command = context.command(["run", "-m", "named", "Hello"]);
    command.env("HERMES_MODEL", "usual");
    context.finish(command, b"").succeeds();
    assert_eq!(server.model_requests()[0]["model"], "named");
}

#[test]
fn troubles_of_the_server_are_told_with_what_to_do() {
    let server = ModelServer::start(vec![
        ScriptedReply::fails(401, json!({"error": {"message": "Incorrect API key provided"}}))
            .again(),
    ]);
    let context = with_model(&server);
    let run = context.run(["run", "Hello"]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.to_lowercase().contains("key"), "{}", run.stderr);
}

#[test]
fn a_busy_server_is_asked_again() {
    let server =
        ModelServer::start(vec![ScriptedReply::busy(429, "0"), ScriptedReply::says("At last.")]);
    let context = with_model(&server);
    let run = context.run(["run", "Hello"]).succeeds();
    assert_eq!(run.stdout, "At last.\n");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn without_a_model_it_says_how_to_set_one_up() {
    let context = TestContext::new();
    context.settings("model:\n  base_url: http://127.0.0.1:9/v1\n  default: none\n");
    let run = context.run(["run", "Hello"]);
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("error:") || run.stderr.contains("warning:"), "{}", run.stderr);
    assert!(!context.work().join("out.txt").exists());
}

#[test]
fn models_without_tool_calls_ask_in_their_text() {
    let server = ModelServer::start(vec![
        ScriptedReply::fails(
            400,
            json!({"error": {"message": "registry/library/tiny does not support tools"}}),
        ),
        ScriptedReply::says(
            "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"t.txt\", \
             \"content\": \"spoken\"}}\n</tool_call>",
        ),
        ScriptedReply::says("Done."),
    ]);
    let context = with_model(&server);
    context.run(["run", "Write it"]).succeeds();
    let written = std::fs::read_to_string(context.work().join("t.txt")).expect("the file");
    assert_eq!(written, "spoken");
    let asked = server.model_requests();
    assert!(asked[1].get("tools").is_none(), "{}", asked[1]);
    assert!(asked[1]["messages"][0].to_string().contains("write_file"));
}

#[test]
fn the_project_and_the_memory_are_told() {
    let server = ModelServer::start(vec![
        ScriptedReply::calls("read_file", r#"{"path":"sub/a.txt"}"#),
        ScriptedReply::says("Read."),
    ]);
    let context = with_model(&server);
    context.file("AGENTS.md", "Always use tabs here.");
    std::fs::create_dir(context.work().join("sub")).expect("made");
    context.file("sub/AGENTS.md", "This part is frozen.");
    context.file("sub/a.txt", "x\n");
    let known = "content=The user is called Ada.";
    context.run(["call", "memory", "action=add", "target=user", known]).succeeds();
    context.run(["run", "Look at it"]).succeeds();
    let asked = server.model_requests();
    let system = asked[0]["messages"][0]["content"].to_string();
    assert!(system.contains("Always use tabs here."), "{system}");
    assert!(system.contains("Ada"), "{system}");
    assert!(!system.contains("frozen"), "{system}");
    assert!(asked[1]["messages"][3]["content"].to_string().contains("This part is frozen."));
}

#[test]
fn a_project_cannot_show_the_model_what_is_not_its_own() {
    use std::os::unix::fs::symlink;
    let server = ModelServer::start(vec![
        ScriptedReply::calls("read_file", r#"{"path":"sub/a.txt"}"#),
        ScriptedReply::says("Read."),
    ]);
    let context = with_model(&server);
    let outside = context.root().join("private.txt");
    std::fs::write(&outside, "SECRET OUTSIDE").expect("written");
    symlink(&outside, context.work().join("AGENTS.md")).expect("linked");
    std::fs::create_dir(context.work().join("sub")).expect("made");
    context.file("sub/a.txt", "x\n");
    // In the project, and still protected.
    context.file(".env", "KEY=SECRETINSIDE\n");
    symlink("../.env", context.work().join("sub/CLAUDE.md")).expect("linked");
    let run = context.run(["run", "Look at it"]).succeeds();
    assert!(run.stderr.contains("resolves to a path outside the project"), "{}", run.stderr);
    assert!(run.stderr.contains("CLAUDE.md is not shown to the model"), "{}", run.stderr);
    let asked = server.model_requests();
    let system = asked[0]["messages"][0]["content"].to_string();
    assert!(system.contains("AGENTS.md") && system.contains("Not shown"), "{system}");
    for request in asked {
        assert!(!request.to_string().contains("SECRET"), "{request}");
    }
}

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let server = ModelServer::start(vec![ScriptedReply::says("Hello.").again()]);
    let context = with_model(&server);
    let memories = context.home().join("memories");
    std::fs::create_dir_all(&memories).expect("made");
    for pipe in [memories.join("MEMORY.md"), context.home().join("SOUL.md")] {
        let made = std::process::Command::new("mkfifo").arg(pipe).status();
        assert!(made.expect("mkfifo").success());
    }
    let run = context.run(["run", "Hello"]).succeeds();
    assert!(run.stderr.contains("MEMORY.md: it is not a regular file"), "{}", run.stderr);
    assert!(run.stderr.contains("SOUL.md cannot be read"), "{}", run.stderr);
    let refused = context.run(["call", "memory", "action=add", "target=memory", "content=x"]);
    assert!(refused.stdout.contains("\"unavailable\""), "{}", refused.stdout);
    std::fs::remove_file(memories.join("MEMORY.md")).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(context.home().join(".env")).status();
    assert!(made.expect("mkfifo").success());
    let run = context.run(["run", "Hello"]).succeeds();
    assert!(
        run.stderr.contains(".env could not be read: it is not a regular file"),
        "{}",
        run.stderr
    );
}

#[test]
fn standard_input_can_be_a_part_of_the_task() {
    let server = ModelServer::start(vec![ScriptedReply::says("Seen.")]);
    let context = with_model(&server);
    context.feed(["run", "Review this:", "-"], "line one\nline two\n").succeeds();
    let said = server.model_requests()[0]["messages"][1]["content"].clone();
    assert_eq!(said, "Review this:\n\nline one\nline two\n");
    context.run(["run", "  "]).exits(2);
}

#[test]
fn another_provider_gets_neither_the_key_nor_the_prices_of_the_usual_one() {
    let usage = || ReplyStep::Usage { input: 1000, output: 10, cached: 0, cost: None };
    let says = || ScriptedReply::from_steps([ReplyStep::Text("Here.".into()), usage()]);
    let (server, other) = (ModelServer::start([says()]), ModelServer::start([says()]));
    let context = TestContext::new();
    context.settings(format!(
        "model:\n  default: scripted\n  base_url: {}\n  api_key: key-of-the-usual-one\n  \
         context_length: 32000\n  prices: {{input: 5, output: 5}}\nproviders:\n  other:\n    \
         base_url: {}\n    context_length: 32000\n",
        server.url(),
        other.url(),
    ));
    for (model, server) in [("strange", &server), ("other:strange", &other)] {
        let run = context.run(["--json", "run", "-m", model, "hello"]).succeeds();
        let events = events(&run);
        let result = of_type(&events, "result")[0];
        assert_eq!(result["usage"]["cost_usd"], Value::Null, "{model}");
        assert_eq!(server.model_requests()[0]["model"], "strange");
    }
    assert_eq!(other.requests()[0].headers.get("authorization"), None);
    assert!(server.requests()[0].headers.contains_key("authorization"));
}

#[test]
fn an_answer_in_a_pipe_does_not_steer_the_terminal() {
    let text = "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}and \u{202e}turned";
    let server = ModelServer::start(vec![ScriptedReply::says(text)]);
    let run = with_model(&server).run(["run", "hello"]).succeeds();
    assert_eq!(run.stdout, "red and turned\n");
}

#[test]
fn a_model_that_cannot_be_asked_is_an_error_and_its_key_is_not_told() {
    let body = json!({"error": {"message": "Incorrect API key provided: sk-very-secret-key"}});
    let server = ModelServer::start(vec![ScriptedReply::fails(401, body)]);
    let context = TestContext::new();
    context.settings(format!(
        "model:\n  default: scripted\n  base_url: {}\n  api_key: sk-very-secret-key\n  \
         context_length: 32000\n",
        server.url()
    ));
    let run = context.run(["run", "hello"]).exits(4);
    assert!(run.stderr.contains("error: Incorrect API key"), "{}", run.stderr);
    assert!(!run.stderr.contains("secret"), "{}", run.stderr);
}

#[test]
fn an_answer_that_is_none_is_no_success() {
    for (finish, end) in [("content_filter", "withheld"), ("stop", "silent")] {
        let scene = ScriptedReply::from_steps([ReplyStep::Finish(finish.into())]).again();
        let server = ModelServer::start(vec![scene]);
        let run = with_model(&server).run(["--json", "run", "hello"]).exits(1);
        let events = events(&run);
        assert_eq!(of_type(&events, "result")[0]["end"], end);
    }
}

#[test]
fn a_task_ends_when_its_time_is_up_though_the_model_is_silent() {
    let server = ModelServer::start(vec![ScriptedReply::from_steps([ReplyStep::Hang])]);
    let run = with_model(&server).run(["run", "--timeout", "0.2", "hello"]);
    assert!(run.stderr.contains("deadline of this task has passed"), "{}", run.stderr);
}

#[test]
fn the_last_session_goes_on() {
    let server = ModelServer::start(vec![ScriptedReply::says("One."), ScriptedReply::says("Two.")]);
    let context = with_model(&server);
    context.run(["run", "first"]).succeeds();
    context.run(["run", "--resume", "last", "second"]).succeeds();
    assert!(server.model_requests()[1].to_string().contains("first"));
}

#[test]
fn a_provider_that_nobody_knows_is_not_taken_for_a_part_of_the_models_name() {
    let server = ModelServer::start(vec![
        ScriptedReply::calls("delegate_task", r#"{"goal":"Count the stars"}"#),
        ScriptedReply::says("It could not be done."),
    ]);
    let context = TestContext::new();
    point(&context, &server, "delegation:\n  provider: nosuch\n  model: strange\n");
    context.run(["run", "hand it on"]).succeeds();
    let asked = server.model_requests();
    assert_eq!(asked.len(), 2, "the sub-agent has no model");
    assert!(asked[1].to_string().contains("unknown provider `nosuch`"), "{}", asked[1]);
}

#[test]
fn a_command_that_fails_is_seen_to() {
    let server = ModelServer::start(vec![
        ScriptedReply::calls("terminal", r#"{"command":"exit 3"}"#),
        ScriptedReply::says("It failed."),
    ]);
    let run = with_model(&server).run(["run", "try it"]).succeeds();
    assert!(run.stderr.contains("exit code 3"), "{}", run.stderr);
}

#[test]
fn nobody_who_reads_on_is_no_success() {
    let server =
        ModelServer::start(vec![ScriptedReply::calls("read_file", r#"{"path":"a.txt"}"#).again()]);
    let context = with_model(&server);
    context.file("a.txt", "a\n");
    let mut command = context.command(["run", "--json", "Read it."]);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::null()).spawn().expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}

#[test]
fn a_call_that_nobody_can_approve_exits_3_with_the_approval_command() {
    let call = || {
        vec![
            ScriptedReply::calls("terminal", r#"{"command":"git push origin main"}"#),
            ScriptedReply::says("I could not push."),
        ]
    };
    let server = ModelServer::start(call());
    let context = with_model(&server);
    let run = context.run(["run", "push it"]).exits(3);
    assert_eq!(run.stdout, "I could not push.\n");
    assert!(run.stderr.contains("1 call needs approval"), "{}", run.stderr);
    let line = run.stderr.lines().find(|line| line.contains("hermes permissions approve "));
    let token = line.and_then(|line| line.split_whitespace().last()).expect("a token");

    // The command works as printed.
    context.run(["permissions", "approve", token]).succeeds();

    let server = ModelServer::start(call());
    let context = with_model(&server);
    let run = context.run(["run", "--json", "push it"]).exits(3);
    let events = events(&run);
    let result = of_type(&events, "result")[0];
    assert_eq!((&result["status"], &result["end"]), (&json!("failure"), &json!("done")));
    let held = &result["held_calls"][0];
    assert_eq!(held["tool"], "terminal");
    let approve = held["approve"].as_str().expect("a command");
    assert_eq!(approve, format!("hermes permissions approve {}", held["token"].as_str().unwrap()));

    let server = ModelServer::start(call());
    let run = with_model(&server).feed(["chat"], "push it\n").exits(3);
    assert!(run.stderr.contains("hermes permissions approve"), "{}", run.stderr);
}

#[test]
fn a_failed_command_is_shown_as_failed() {
    let server = ModelServer::start(vec![
        ScriptedReply::calls("terminal", r#"{"command":"exit 3"}"#),
        ScriptedReply::says("It failed."),
    ]);
    let run = with_model(&server).run(["run", "try it"]).succeeds();
    let line = run.stderr.lines().find(|line| line.contains("terminal")).expect("a line");
    assert!(line.starts_with('✗') && line.ends_with("exit code 3"), "{line}");
}

#[test]
fn the_setting_toolsets_limits_what_the_model_is_shown() {
    let server = ModelServer::start(vec![ScriptedReply::says("Hello.")]);
    let context = with_model(&server);
    point(&context, &server, "toolsets: [todo]\n");
    context.run(["run", "hello"]).succeeds();
    let asked = server.model_requests().pop().expect("it was asked");
    let names: Vec<_> = asked["tools"].as_array().expect("tools").iter().collect();
    let names: Vec<_> = names.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect();
    assert_eq!(names, ["todo"]);
}
