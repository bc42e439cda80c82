//! Background processes: completion notices, detached processes, and those
//! that a crash left running.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::context::{Stream, TestContext};

fn request(id: u32, tool: &str, arguments: &Value) -> String {
    let function = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "id": id.to_string(), "type": "function", "function": function });
    json!({ "tool_calls": [call] }).to_string() + "\n"
}

/// Kills a program together with the guardian of its jobs.
fn crash(stream: &mut Stream<'_>) {
    let ours = stream.child.id().to_string();
    let listed = std::fs::read_dir("/proc").expect("processes").flatten();
    let guardian = listed.map(|process| process.path()).find(|process| {
        let read = |name: &str| std::fs::read_to_string(process.join(name)).unwrap_or_default();
        let stat = read("stat");
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        parent == Some(&ours) && read("cmdline").contains("hermes-guardian")
    });
    let guardian = guardian.expect("a guardian");
    let name = guardian.file_name().and_then(|name| name.to_str()).expect("a number");
    let pid = name.parse().ok().and_then(Pid::from_raw).expect("a number");
    kill_process(pid, Signal::KILL).expect("it can be killed");
    stream.child.kill().expect("it can be killed");
    stream.child.wait().expect("it ends");
}

#[test]
fn a_killed_hermes_leaves_only_what_was_detached() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    let arguments = json!({ "command": "exec sleep 301", "detach": true });
    stream.send(&request(1, "terminal", &arguments));
    let kept = stream.answer()["tool_results"][0]["content"]["pid"].clone();
    let kept = kept.as_i64().expect("its number");
    let arguments = json!({ "command": "sleep 302", "background": true });
    stream.send(&request(2, "terminal", &arguments));
    let ended = stream.answer()["tool_results"][0]["content"]["pid"].as_i64().expect("its number");
    let code = "import subprocess, pathlib\n\
                child = subprocess.Popen(['env', '-i', 'setsid', 'sleep', '303'])\n\
                pathlib.Path('script.pid').write_text(f'{child.pid}\\n')\n\
                while True: pass";
    stream.send(&request(3, "execute_code", &json!({ "code": code })));
    let script = wait_for("a script that runs", || {
        std::fs::read_to_string(context.work().join("script.pid"))
            .ok()?
            .strip_suffix('\n')?
            .parse()
            .ok()
    });
    assert!([kept, ended, script].into_iter().all(is_running));
    stream.child.kill().expect("it can be killed");
    stream.child.wait().expect("it ends");
    wait_for("their end", || (!is_running(ended) && !is_running(script)).then_some(()));
    assert!(is_running(kept));
    context.run(["processes", "list", "--json"]).succeeds();
    let kept = i32::try_from(kept).ok().and_then(Pid::from_raw).expect("a number");
    kill_process(kept, Signal::KILL).expect("it can be killed");
}

fn is_running(pid: i64) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "no sign of {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn exec_gives_notices_with_the_next_answer() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    let arguments = json!({ "command": "sleep 0.5; echo built", "background": true, "notify_on_complete": true });
    stream.send(&request(1, "terminal", &arguments));
    let started = stream.answer();
    let started = &started["tool_results"][0]["content"];
    assert_eq!(started["notify_on_complete"], true, "{started}");
    let begin = Instant::now();
    let mut shown = Value::Null;
    while shown.is_null() && begin.elapsed() < Duration::from_secs(30) {
        stream.send(&request(2, "process", &json!({ "action": "list" })));
        let answer = stream.answer();
        shown = answer["tool_results"][0]["content"]["notices"][0].clone();
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(shown["session_id"], started["session_id"], "{shown}");
    assert_eq!((&shown["event"], &shown["output"]), (&json!("completed"), &json!("built\n")));
    stream.close();
    stream.end().succeeds();
}

#[test]
fn one_call_says_that_nobody_will_be_told() {
    let context = TestContext::new();
    let arguments = r#"{"command":"sleep 30","background":true,"notify_on_complete":true}"#;
    let answer = context.run(["call", "terminal", arguments]).succeeds().json();
    assert!(answer["notify_unsupported"].as_str().is_some(), "{answer}");
    let left = context.run(["processes", "list", "--json"]).succeeds().json();
    assert_eq!(left["processes"], json!([]), "it has ended with the call");
}

#[test]
fn what_a_crash_leaves_is_told_and_ended() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    let arguments = json!({ "command": "sleep 300", "background": true });
    stream.send(&request(1, "terminal", &arguments));
    let id = stream.answer()["tool_results"][0]["content"]["session_id"].clone();
    crash(&mut stream);
    let next = context.run(["call", "terminal", "command=echo next"]).succeeds();
    assert!(next.stderr.contains("An earlier hermes has left `sleep 300` running"), "{next:?}");
    let left = context.run(["processes", "list", "--json"]).succeeds().json();
    assert_eq!(left["processes"][0]["session_id"], id, "{left}");
    let listed = context.run(["call", "process", "action=list"]).succeeds().json();
    assert_eq!(listed["processes"][0]["left_over"], true, "{listed}");
    let unknown = context.run(["processes", "kill", "proc_none", "--json"]);
    unknown.exits(1).error("not_found");
    context.run(["processes", "kill", "all"]).succeeds();
    let left = context.run(["processes", "list", "--json"]).succeeds().json();
    assert_eq!(left["processes"], json!([]));
    context.run(["call", "terminal", "command=echo next"]).succeeds().silent();
}

#[test]
fn a_foreground_command_is_found_after_a_crash_at_once() {
    let context = TestContext::new();
    let mut stream = context.stream(["exec"]);
    stream.send(&request(1, "terminal", &json!({ "command": "touch begun; sleep 300; true" })));
    let dir = context.home().join("cache/jobs/running");
    let begin = Instant::now();
    // The command is recorded at its start, not after a timeout.
    while !std::fs::read_dir(&dir).is_ok_and(|mut files| files.next().is_some()) {
        assert!(begin.elapsed() < Duration::from_secs(60), "it is never written down");
        std::thread::sleep(Duration::from_millis(2));
    }
    crash(&mut stream);
    let left = context.run(["processes", "list", "--json"]).succeeds().json();
    assert_eq!(left["processes"].as_array().map(Vec::len), Some(1), "{left}");
    context.run(["processes", "kill", "all"]).succeeds();
}

#[test]
fn a_place_that_cannot_be_opened_still_answers_every_call() {
    let context = TestContext::new();
    context.settings("terminal:\n  backend: docker\n  docker_program: /bin/false\n");
    let calls = json!({ "tool_calls": [
        { "id": "1", "name": "todo", "arguments": {} },
        { "id": "2", "name": "terminal", "arguments": { "command": "pwd" } },
    ]});
    let run = context.feed(["exec"], format!("\u{feff}{calls}\n"));
    let lines = run.json_lines();
    let results = lines[0]["tool_results"].as_array().expect("results");
    assert_eq!(results.len(), 2, "{lines:?}");
    assert_eq!(results[0]["content"]["status"], "success", "{lines:?}");
    assert_eq!(results[1]["content"]["kind"], "unavailable", "{lines:?}");
    assert!(run.stderr.contains("docker"), "{run:?}");
}
