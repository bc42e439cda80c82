//! Backends that do not respond, or cannot be opened.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use hermes_testkit::models::{ModelServer, ScriptedReply};
use serde_json::{Value, json};

use crate::context::{Stream, TestContext};

/// A container engine that runs this script for every command.
fn engine(does: &str) -> TestContext {
    let context = TestContext::new();
    let program = context.root().join("bin").join("docker");
    std::fs::create_dir_all(program.parent().expect("a directory")).expect("it is made");
    std::fs::write(&program, format!("#!/bin/sh\n{does}\n")).expect("it is written");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("it can be run");
    context.settings("terminal:\n  backend: docker\n");
    context
}

fn command(context: &TestContext, args: &[&str]) -> Command {
    let mut command = context.command(args);
    let own = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{own}", context.root().join("bin").display()));
    command
}

fn ask(stream: &mut Stream<'_>, tool: &str, arguments: &Value) -> Value {
    stream.send(&format!("{}\n", json!({ "name": tool, "arguments": arguments })));
    let answer = stream.answer();
    match answer.pointer("/tool_results/0/content") {
        Some(content) => content.clone(),
        None => answer,
    }
}

/// Waits until no process has this text in its command line.
fn until_gone(words: &str) {
    let begin = Instant::now();
    let runs = || {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let lines = all.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
        lines
            .into_iter()
            .any(|line| String::from_utf8_lossy(&line).replace('\0', " ").contains(words))
    };
    while runs() {
        assert!(begin.elapsed() < Duration::from_secs(60), "still there: {words}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const AWAY: &str = "echo 'Cannot connect to the Docker daemon' >&2; exit 1";

#[test]
fn an_engine_that_does_not_answer_holds_up_nobody() {
    let context = engine("exec sleep 40351");
    let mut stream = Stream::start(&context, command(&context, &["exec"]));
    let todo = ask(&mut stream, "todo", &json!({}));
    assert_eq!(todo["status"], "success", "{todo}");
    let ran = ask(&mut stream, "terminal", &json!({ "command": "echo x", "timeout": 1 }));
    assert_eq!(ran["kind"], "unavailable", "{ran}");
    assert!(ran["error"].as_str().expect("why").contains("within 1 s"), "{ran}");
    assert!(ran["hint"].as_str().expect("what to do").contains("doctor"), "{ran}");
    stream.close();
    stream.end().exits(4);
    until_gone("sleep 40351");
}

#[test]
fn one_call_waits_no_longer_than_its_time() {
    let context = engine("exec sleep 40352");
    let args = ["call", "terminal", "command=echo x", "--timeout", "1"];
    let run = context.finish(command(&context, &args), b"");
    assert_ne!(run.code, 0, "{run:?}");
    until_gone("sleep 40352");
}

#[test]
fn what_needs_no_place_works_without_one() {
    let context = engine(AWAY);
    let todo = context.finish(command(&context, &["call", "todo"]), b"").succeeds();
    assert!(todo.stderr.contains("is not running"), "{}", todo.stderr);
    let run = context.finish(command(&context, &["call", "terminal", "command=pwd"]), b"").exits(4);
    assert!(run.error("unavailable").message.contains("is not running"));
}

#[test]
fn a_task_begins_without_its_place() {
    let server = ModelServer::start(vec![
        ScriptedReply::calls("terminal", r#"{"command":"pwd"}"#),
        ScriptedReply::says("It cannot be done."),
    ]);
    let context = engine(AWAY);
    context.settings(format!(
        "terminal:\n  backend: docker\nmodel:\n  default: scripted\n  base_url: {}\n  \
         context_length: 32000\n",
        server.url()
    ));
    let run = context.finish(command(&context, &["run", "Where", "are", "we?"]), b"").succeeds();
    assert_eq!(run.stdout, "It cannot be done.\n");
    let shown = server.model_requests()[1]["messages"][3]["content"].to_string();
    assert!(shown.contains("the engine is not running"), "{shown}");
}

#[test]
fn a_server_begins_without_its_place() {
    let context = engine(AWAY);
    let mut stream = Stream::start(&context, command(&context, &["mcp", "serve"]));
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    });
    stream.send(&format!("{hello}\n"));
    assert_eq!(stream.answer()["id"], 1);
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "terminal", "arguments": { "command": "pwd" } },
    });
    stream.send(&format!("{begun}\n{call}\n"));
    let answer = loop {
        let answer = stream.answer();
        if answer["id"] == 2 {
            break answer;
        }
    };
    assert!(answer.to_string().contains("the engine is not running"), "{answer}");
    stream.end();
}

/// An engine that starts later.
#[test]
fn a_place_that_comes_up_is_found() {
    let context = engine(
        "[ -e \"$HOME/up\" ] || { echo 'Cannot connect to the Docker daemon' >&2; exit 1; }
case $1 in
ps) ;;
image) echo sha256:1 ;;
run) echo hermes-ready; exec cat >/dev/null ;;
inspect) echo 1 ;;
exec) shift 2; [ \"$1\" = 1 ] && shift; exec \"$@\" ;;
esac",
    );
    context.settings("terminal:\n  backend: docker\n  container_persistent: false\n  cwd: /usr\n");
    let mut stream = Stream::start(&context, command(&context, &["exec"]));
    let ran = ask(&mut stream, "terminal", &json!({ "command": "pwd" }));
    assert!(ran["error"].as_str().expect("why").contains("is not running"), "{ran}");
    std::fs::write(context.root().join("up"), "").expect("it comes up");
    let begin = Instant::now();
    let ran = loop {
        let ran = ask(&mut stream, "terminal", &json!({ "command": "pwd" }));
        if ran["status"] == "success" || begin.elapsed() > Duration::from_secs(60) {
            break ran;
        }
    };
    assert_eq!(ran["output"], "/usr\n", "{ran}");
    stream.end();
}

#[test]
fn a_host_that_lacks_the_folder_is_let_go() {
    let said = |name: &str| std::env::var(name).ok();
    let (Some(port), Some(key), Some(host_key), Some(user)) = (
        said("HERMES_TEST_SSH_PORT"),
        said("HERMES_TEST_SSH_KEY"),
        said("HERMES_TEST_SSH_HOST_KEY").and_then(|file| std::fs::read_to_string(file).ok()),
        said("HERMES_TEST_SSH_USER"),
    ) else {
        println!("skipped: no ssh server (scripts/components/sshd.sh start DIR)");
        return;
    };
    let context = TestContext::new();
    let known = context.root().join("known");
    std::fs::write(&known, format!("[127.0.0.1]:{port} {host_key}")).expect("it is written");
    let config = context.root().join("ssh_config");
    std::fs::write(&config, format!("UserKnownHostsFile {}\n", known.display()))
        .expect("it is written");
    context.settings(format!(
        "terminal:\n  backend: ssh\n  ssh_host: 127.0.0.1\n  ssh_user: {user}\n  ssh_port: {port}\n  \
         ssh_key: {key}\n  ssh_config: {}\n  cwd: /not/there\n",
        config.display()
    ));
    let run = context.run(["call", "terminal", "command=pwd"]);
    assert_ne!(run.code, 0);
    assert!(run.stdout.contains("/not/there"), "{run:?}");
    until_gone(&format!("-F {}", config.display()));
}
