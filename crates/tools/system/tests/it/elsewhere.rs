//! Commands on a remote backend: the state that is kept, and the results.

use std::sync::Arc;

use hermes_exec::RemoteBackend;
use hermes_testkit::backends::{LoopbackTransport, PathMappedBackend};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::{Desired, Desk, eventually};

fn desk(way: LoopbackTransport) -> Desk {
    Desk::with(Desired { backend: Some(Arc::new(RemoteBackend::new(way))), ..Desired::default() })
}

fn behind() -> (Desk, TempDir) {
    let there = tempfile::tempdir().unwrap();
    let backend = Arc::new(PathMappedBackend::new(there.path()));
    (Desk::with(Desired { backend: Some(backend), ..Desired::default() }), there)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_of_a_command_that_was_ended_is_kept() {
    let desk = desk(LoopbackTransport::default());
    let command = "export KEPT=yes; cd /usr; echo begun; sleep 600";
    let answer = desk.call("terminal", json!({ "command": command, "timeout": 1 })).await;
    assert_eq!((&answer["status"], &answer["output"]), (&json!("timeout"), &json!("begun\n")));
    assert_eq!(desk.output("echo $KEPT $PWD").await, "yes /usr\n");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_may_take_away_the_folder_of_the_session() {
    let (desk, there) = (desk(LoopbackTransport::default()), tempfile::tempdir().unwrap());
    let dir = there.path().canonicalize().unwrap();
    desk.run(&format!("mkdir {0}/gg && cd {0}/gg", dir.display())).await;
    let answer = desk.run("rm -r ../gg").await;
    assert_eq!(answer["cwd"], dir.display().to_string(), "{answer}");
    assert!(answer["note"].as_str().unwrap().contains("no longer exists"), "{answer}");
    assert_eq!(desk.output("pwd").await, format!("{}\n", dir.display()));
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greeting_is_no_output() {
    let desk = desk(LoopbackTransport { banner: "Welcome!", ..LoopbackTransport::default() });
    let arguments = json!({ "command": "echo out; echo err >&2", "separate": true });
    let answer = desk.call("terminal", arguments).await;
    assert_eq!((&answer["stdout"], &answer["stderr"]), (&json!("out\n"), &json!("err\n")));
    // No output may be lost, whatever arrives first.
    let answer = desk.run("seq 1000; cat").await;
    let lines = answer["output"].as_str().unwrap().lines().filter(|line| *line != "Welcome!");
    assert_eq!(lines.count(), 1000, "{answer}");
    assert_eq!(answer["exit_code"], 0, "{answer}");
    let id = desk.start("sleep 600").await;
    let killed = desk.process("kill", &id).await;
    assert_eq!((&killed["status"], &killed["output"]), (&json!("killed"), &json!("")), "{killed}");
    desk.engine.shutdown().await;
}

async fn poll(desk: &Desk, id: &Value, what: &str) -> Value {
    let mut seen = desk.process("poll", id).await;
    while !seen["output"].as_str().unwrap_or_default().contains(what) && seen["exit_code"].is_null()
    {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        seen = desk.process("poll", id).await;
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_has_whole_lines() {
    let desk = desk(LoopbackTransport::default());
    let id = desk.start("read x; echo got $x; read y").await;
    let arguments = json!({ "action": "submit", "session_id": id, "data": "a" });
    let mut answer = desk.call("process", arguments).await;
    if answer["output"] == "" {
        answer = poll(&desk, &id, "got").await;
    }
    assert_eq!(answer["output"], "got a\n", "{answer}");
    desk.process("kill", &id).await;
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_whose_end_is_not_known_is_told_so() {
    let desk = desk(LoopbackTransport::default());
    let id = desk.start("read x; kill -9 $$").await;
    let arguments = json!({ "action": "submit", "session_id": id, "data": "a", "timeout": 30 });
    let answer = desk.call("process", arguments).await;
    assert_eq!(answer["status"], "lost", "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("is not known"), "{answer}");
    assert!(answer["exit_code"].is_null(), "{answer}");
    let listed = desk.call("process", json!({ "action": "list" })).await;
    assert_eq!(listed["processes"][0]["status"], "lost", "{listed}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lingers_ages_until_it_has_ended() {
    let desk = Desk::new();
    let answer = desk.run("while [ ! -e stop ]; do sleep 0.02; done &").await;
    let id = answer["session_id"].clone();
    let first = desk.process("poll", &id).await;
    assert_eq!(first["status"], "lingering", "{first}");
    let mut seen = first.clone();
    while seen["uptime_seconds"] == first["uptime_seconds"] {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        seen = desk.process("poll", &id).await;
    }
    std::fs::write(desk.path().join("stop"), "").unwrap();
    let mut status = Value::Null;
    while status != "exited" {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        status = desk.process("poll", &id).await["status"].clone();
        assert_ne!(status, "running");
    }
    eventually("its processes are gone", || crate::desk::processes_of(&id) == 0).await;
    desk.engine.shutdown().await;
}

/// A program that polls for keys.
const GLANCES: &str = r#"python3 -c '
import os, select, sys, termios, tty
tty.setcbreak(0)
os.write(1, (sys.argv[1] + "drawn").encode().replace(b"E", b"\x1b"))
while not select.select([0], [], [], 60)[0]: pass
' "#;

#[tokio::test(flavor = "multi_thread")]
async fn one_that_keeps_up_its_screen_is_no_question() {
    let desk = Desk::new();
    for (cursor, status) in [("E[?25l", "running"), ("E[?25h", "awaiting_input")] {
        let arguments = json!({ "command": format!("{GLANCES}'{cursor}'"), "pty": true });
        let answer = desk.call("terminal", arguments).await;
        assert_eq!(answer["status"], status, "{answer}");
        assert!(answer["screen"].as_str().unwrap().contains("drawn"), "{answer}");
        let id = answer["session_id"].clone();
        let keys = json!({ "action": "keys", "session_id": id, "keys": "q", "timeout": 30 });
        let ended = desk.call("process", keys).await;
        assert_eq!((&ended["status"], &ended["exit_code"]), (&json!("exited"), &json!(0)));
    }
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_waited_for_or_loaded_are_where_commands_run() {
    let (desk, there) = behind();
    std::fs::write(there.path().join("x.env"), "A=1\n").unwrap();
    let missing = json!({ "until_file": "/behind/ready", "seconds": 0.05 });
    assert_eq!(desk.call("sleep", missing).await["woke"], "elapsed");
    std::fs::write(there.path().join("ready"), "").unwrap();
    let woke = desk.call("sleep", json!({ "until_file": "/behind/ready", "seconds": 60 })).await;
    assert_eq!(woke["woke"], "file", "{woke}");
    let here = desk.dir.path().join("here");
    std::fs::write(&here, "").unwrap();
    let gone = json!({ "until_file": here, "file_state": "gone", "seconds": 60 });
    let woke = desk.call("sleep", gone).await;
    assert_eq!(woke["woke"], "file", "a file of this machine is none of there: {woke}");
    let arguments = json!({ "action": "load", "path": "/behind/x.env" });
    let loaded = desk.call("env_manager", arguments).await;
    assert_eq!(loaded["loaded"], json!(["A"]), "{loaded}");
    let port = desk.call("sleep", json!({ "until_port": "1", "seconds": 0.05 })).await;
    assert!(port["note"].as_str().unwrap().contains("machine that runs hermes"), "{port}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_not_there_is_an_error() {
    let desk = desk(LoopbackTransport::default());
    for background in [false, true] {
        let arguments =
            json!({ "command": "true", "workdir": "/no/such", "background": background });
        let mut answer = desk.call("terminal", arguments).await;
        if background && answer["status"] == "running" {
            answer = desk.process("wait", &answer["session_id"]).await;
            assert_eq!(answer["exit_code"], 126, "{answer}");
            continue;
        }
        assert_eq!(answer["kind"], "not_found", "{answer}");
        assert!(answer["error"].as_str().unwrap().contains("nothing was run"), "{answer}");
    }
    desk.engine.shutdown().await;
}
