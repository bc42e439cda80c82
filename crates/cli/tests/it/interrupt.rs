//! Ctrl-C: running calls stop in order, and the exit code reports it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hermes_testkit::models::{ModelServer, ScriptedReply};
use serde_json::json;

use crate::context::{Stream, TestContext};

/// Waits until the process handles the interrupt itself, then sends it.
fn interrupt(stream: &Stream<'_>) {
    let pid = stream.child.id();
    until("the handler is installed", || handles_interrupts(pid));
    let status = Command::new("kill").args(["-INT", &pid.to_string()]).status().expect("kill runs");
    assert!(status.success());
}

/// The second bit of the mask of caught signals is SIGINT's.
fn handles_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 0b10 != 0)
}

#[test]
fn a_call_is_cancelled_and_answered() {
    let context = TestContext::new();
    let stream = context.stream(["call", "sleep", "seconds=3000", "--timeout", "4000"]);
    interrupt(&stream);
    let run = stream.wait().exits(130);
    run.error("cancelled");
}

#[test]
fn a_session_that_waits_for_input_ends() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    stream.send("{\"tool_calls\":[{\"id\":\"1\",\"name\":\"todo\"}]}\n");
    stream.answer();
    interrupt(&stream);
    let run = stream.wait().exits(130);
    assert_eq!(run.stdout, "");
}

#[test]
fn every_call_of_a_batch_is_answered() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec", "--session", "s"]);
    let mut calls = vec![
        json!({ "id": "first", "name": "todo", "arguments": { "todos": [{ "id": "1", "content": "begun" }] } }),
    ];
    calls.extend((0..20).map(|n| json!({ "id": n.to_string(), "name": "sleep", "arguments": { "until_file": format!("never{n}") } })));
    stream.send(&format!("{}\n", json!({ "tool_calls": calls })));
    until("the batch has begun", || context.home().join("session-state/s.json").exists());
    interrupt(&stream);
    let answer = stream.wait().exits(130).json();
    let results = answer["tool_results"].as_array().expect("results");
    assert_eq!(results.len(), 21);
    assert_eq!(results[0]["content"]["status"], "success");
    assert!(results[1..].iter().all(|r| r["content"]["kind"] == "cancelled"), "{answer}");
}

/// Asserts that no command is left running after `end` stops the program.
fn leaves_nothing(seconds: u32, end: impl FnOnce(&mut Stream<'_>)) {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    let background = format!("sleep {seconds}");
    let call = |command: &str, background: bool| {
        let arguments = json!({ "command": command, "background": background });
        json!({ "tool_calls": [{ "id": "1", "name": "terminal", "arguments": arguments }] })
            .to_string()
            + "\n"
    };
    stream.send(&call(&background, true));
    stream.answer();
    assert!(runs(&background));
    stream.send(&call(&format!("sleep {}; echo x", seconds + 1), false));
    until("the second command runs", || runs(&format!("sleep {}", seconds + 1)));
    end(&mut stream);
    stream.child.wait().expect("it ends");
    for command in [background, format!("sleep {}", seconds + 1)] {
        until("its commands are gone", || !runs(&command));
    }
}

/// Whether a process with exactly this command line is running.
fn runs(command: &str) -> bool {
    let wanted = command.replace(' ', "\0") + "\0";
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| line == wanted.as_bytes())
}

#[test]
fn a_terminal_that_closes_ends_what_was_started() {
    for (signal, seconds) in [("-HUP", 40_311), ("-QUIT", 40_321)] {
        leaves_nothing(seconds, |stream| {
            let pid = stream.child.id().to_string();
            for _ in 0..if signal == "-HUP" { 2 } else { 1 } {
                let status = Command::new("kill").args([signal, &pid]).status();
                assert!(status.expect("kill runs").success());
            }
        });
    }
}

#[test]
fn a_reader_that_goes_away_leaves_nothing_running() {
    let context = TestContext::new();
    let mut command = context.command(["exec"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let begun = r#"{"name":"terminal","arguments":{"command":"sleep 40331","background":true}}"#;
    writeln!(input, "{begun}").expect("it reads");
    output.read_line(&mut String::new()).expect("an answer");
    assert!(runs("sleep 40331"));
    drop(output);
    writeln!(input, r#"{{"name":"todo","arguments":{{}}}}"#).expect("it reads");
    assert!(child.wait().expect("it ends").success());
    assert!(!runs("sleep 40331"));
}

#[test]
fn a_reader_of_events_that_goes_away_leaves_nothing_running() {
    let server = ModelServer::start(vec![
        ScriptedReply::calls("terminal", r#"{"command":"sleep 40341","background":true}"#),
        ScriptedReply::calls("sleep", r#"{"until_file":"go","seconds":600}"#),
        ScriptedReply::calls("todo", "{}"),
        ScriptedReply::says("Done."),
    ]);
    let context = TestContext::new();
    let url = server.url();
    context.settings(format!(
        "model:\n  default: scripted\n  base_url: {url}\n  context_length: 32000\n"
    ));
    let mut command = context.command(["--json", "run", "Begin"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut lines = output.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("call_result")));
    assert!(runs("sleep 40341"));
    drop(lines);
    context.file("go", "");
    child.wait().expect("it ends");
    until("its command is gone", || !runs("sleep 40341"));
}

/// Waits until the condition is true.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "still waiting: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
