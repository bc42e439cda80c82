//! `hermes batch` with a scripted model server.

use std::process::Stdio;
use std::time::Duration;

use hermes_testkit::models::{ModelServer, ReplyStep, ScriptedReply};
use serde_json::{Value, json};

use crate::context::TestContext;

fn with_model(server: &ModelServer) -> TestContext {
    let context = TestContext::new();
    context.settings(format!(
        "model:\n  default: scripted\n  base_url: {}\n  context_length: 32000\n",
        server.url()
    ));
    context
}

fn rows(context: &TestContext, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(context.work().join("out").join(name)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

const RUN: [&str; 8] = [
    "batch",
    "run",
    "prompts.jsonl",
    "--output=out",
    "--distribution=file=100",
    "--workers=2",
    "--seed=7",
    "--json",
];

#[test]
fn each_prompt_is_a_conversation_of_its_own() {
    let write = |name: &str| format!(r#"{{"path":"{name}","content":"x"}}"#);
    let server = ModelServer::start(vec![
        ScriptedReply::from_steps([
            ReplyStep::Thought("A file.".into()),
            ReplyStep::call("write_file", &write("a.txt")),
        ])
        .when("Write a file."),
        ScriptedReply::says("Hello.").when("Say hello."),
        ScriptedReply::says("It is written."),
    ]);
    let context = with_model(&server);
    context.file(
        "prompts.jsonl",
        "{\"prompt\":\"Write a file.\"}\noops\n{\"prompt\":\"Say hello.\"}\n",
    );
    let run = context.run(RUN.iter().filter(|word| **word != "--workers=2")).succeeds();
    assert!(run.stderr.contains("prompts.jsonl:2: "), "{}", run.stderr);
    let summary = run.json()["summary"].clone();
    assert_eq!((&summary["done"], &summary["bad_lines"]), (&json!(2), &json!(1)), "{summary}");
    let rows = rows(&context, "trajectories.jsonl");
    assert_eq!(rows.len(), 2);
    let said = |row: &Value, at: usize| {
        row["conversations"][at]["value"].as_str().unwrap_or_default().to_owned()
    };
    assert!(said(&rows[0], 0).contains("write_file"), "{}", rows[0]);
    assert!(
        said(&rows[0], 2).starts_with("<think>\nA file.\n</think>\n<tool_call>\n"),
        "{}",
        rows[0]
    );
    assert_eq!(rows[0]["tool_stats"]["write_file"]["success"], 1);
    assert_eq!(said(&rows[1], 2), "<think>\n\n</think>\nHello.");
    assert_eq!(rows[1]["metadata"]["model"], "scripted");
    // The file is in the directory of its prompt; the other prompt created none.
    let dirs = std::fs::read_dir(context.work().join("out/work")).unwrap();
    let dirs: Vec<_> = dirs.map(|entry| entry.unwrap().path()).collect();
    let [dir] = &dirs[..] else { panic!("{dirs:?}") };
    assert!(dir.file_name().unwrap().to_string_lossy().starts_with("0-"), "{dir:?}");
    assert!(dir.join("a.txt").exists());
    let taken = context.run(RUN).exits(2);
    assert!(taken.stdout.contains("--resume"), "{}", taken.stdout);
}

#[test]
fn toolsets_without_a_tool_that_works_are_not_drawn() {
    let server = ModelServer::start(vec![ScriptedReply::says("Hello.").again()]);
    let context = with_model(&server);
    context.file("prompts.jsonl", "{\"prompt\":\"Hi.\"}\n{\"prompt\":\"Ho.\"}\n{\"x\":1}\n");
    let with = |distribution: &str, output: &str| {
        let output = format!("--output={output}");
        let args = ["batch", "run", "prompts.jsonl", "--seed=1", &output, "--distribution"];
        context.run(args.into_iter().chain([distribution]))
    };
    let run = with("research_full", "out").succeeds();
    assert!(run.stderr.contains("web, browser, vision"), "{}", run.stderr);
    assert!(run.stderr.contains("prompts.jsonl:3: missing field `prompt`\n"), "{}", run.stderr);
    for row in rows(&context, "trajectories.jsonl") {
        assert_eq!(row["toolsets_used"], json!(["terminal"]));
        let system = row["conversations"][0]["value"].as_str().unwrap_or_default();
        assert!(!system.contains("<tools>[]"), "{system}");
    }
    let refused = with("safe", "none").exits(4);
    assert!(refused.stderr.contains("No toolset of the distribution 'safe'"), "{}", refused.stderr);
    assert!(!context.work().join("none").exists());
}

#[test]
fn a_batch_that_is_killed_goes_on() {
    let server = ModelServer::start(vec![
        ScriptedReply::from_steps([ReplyStep::Wait(15), ReplyStep::Text("Done.".into())]).again(),
    ]);
    let context = with_model(&server);
    let count = 12;
    let lines: String = (0..count).map(|n| format!("{{\"prompt\":\"Task {n}.\"}}\n")).collect();
    context.file("prompts.jsonl", lines);
    for (at, wait) in [60, 150, 260].into_iter().enumerate() {
        let mut command = context.command(RUN);
        if at > 0 {
            command.arg("--resume");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().expect("killed");
        child.wait().expect("gone");
    }
    let summary = context.run(RUN.iter().chain(&["--resume"])).succeeds().json()["summary"].clone();
    assert_eq!(summary["done"], count, "{summary}");
    let rows = rows(&context, "trajectories.jsonl");
    let order: Vec<u64> = rows.iter().filter_map(|row| row["prompt_index"].as_u64()).collect();
    assert_eq!(order, (0..count).collect::<Vec<_>>());
    let kept: usize = (0..1).map(|n| self::rows(&context, &format!("batch_{n}.jsonl")).len()).sum();
    assert_eq!(kept, rows.len());
}

#[test]
fn what_fails_says_so() {
    let server = ModelServer::start(vec![
        ScriptedReply::fails(400, json!({"error": {"message": "No such model"}})).again(),
    ]);
    let context = with_model(&server);
    context.file("prompts.jsonl", "{\"prompt\":\"One.\"}\n");
    let run = context.run(RUN).exits(1);
    assert_eq!(run.json()["summary"]["failed"], 1);
    let failure = rows(&context, "failures.jsonl")[0]["error"].to_string();
    assert!(failure.contains("No such model"), "{failure}");
}

#[test]
fn an_answer_that_breaks_off_is_asked_for_again_and_never_kept() {
    let half = ScriptedReply::from_steps([ReplyStep::Text("Let me ".into()), ReplyStep::Cut]);
    let unread = json!({"error": {"message": "Failed to call", "code": "tool_use_failed"}});
    let unread = ScriptedReply::fails(400, unread).when("Count.");
    let hello = [half.when("Say hello."), ScriptedReply::says("Hello.").when("Say hello.")];
    let scenes = hello.into_iter().chain(std::iter::repeat_n(unread, 4));
    let server = ModelServer::start(scenes.collect::<Vec<_>>());
    let context = with_model(&server);
    context.file("prompts.jsonl", "{\"prompt\":\"Say hello.\"}\n{\"prompt\":\"Count.\"}\n");
    let run = context.run(RUN).exits(1);
    let summary = run.json()["summary"].clone();
    assert_eq!((&summary["done"], &summary["failed"]), (&json!(1), &json!(1)), "{summary}");
    let failed = rows(&context, "failures.jsonl");
    assert!(failed[0]["error"].to_string().contains("broke off"), "{failed:?}");
    server.add(ScriptedReply::says("One."));
    let again = context.run(RUN.iter().copied().chain(["--resume"])).succeeds();
    assert_eq!(again.json()["summary"]["done"], 2);
    let rows = rows(&context, "trajectories.jsonl");
    let said: Vec<&Value> = rows.iter().map(|row| &row["conversations"][2]["value"]).collect();
    assert_eq!(said, ["<think>\n\n</think>\nHello.", "<think>\n\n</think>\nOne."]);
}

#[test]
fn a_file_without_prompts_is_a_mistake() {
    let server = ModelServer::start(Vec::new());
    let context = with_model(&server);
    for text in ["", "oops\n"] {
        context.file("prompts.jsonl", text);
        let run = context.run(RUN).exits(2);
        assert!(run.stdout.contains("has no prompts"), "{}", run.stdout);
    }
}

#[test]
fn what_is_left_out_is_told_with_the_reason() {
    let server = ModelServer::start(vec![
        ScriptedReply::from_steps([ReplyStep::call("launch_rocket", "{}")]).when("Launch."),
        ScriptedReply::says("There is none."),
    ]);
    let context = with_model(&server);
    context.file("prompts.jsonl", "{\"prompt\":\"Launch.\"}\n");
    let summary = context.run(RUN).succeeds().json()["summary"].clone();
    assert_eq!(
        summary["left_out_why"],
        json!([{"prompt_index": 0, "why": "it calls 'launch_rocket', which is not a known tool"}]),
        "{summary}"
    );
}

#[test]
fn without_a_folder_the_output_is_named_after_the_prompts() {
    let server = ModelServer::start(vec![ScriptedReply::says("Hello.")]);
    let context = with_model(&server);
    context.file("prompts.jsonl", "{\"prompt\":\"Say hello.\"}\n");
    context.run(["batch", "run", "prompts.jsonl", "--distribution", "file=100"]).succeeds();
    assert!(context.work().join("prompts-batch/trajectories.jsonl").exists());
}
