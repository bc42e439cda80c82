//! Failures: nothing hangs, nothing leaks, the session continues.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use hermes_core::{ChildLimits, Confinement, ToolCall};
use serde_json::{Value, json};

use crate::desk::{Desired, Desk, eventually, open_files, processes_of};

/// No failure takes this long to be reported.
const HANGS: u64 = 60;

#[tokio::test(flavor = "multi_thread")]
async fn the_shell_is_killed() {
    let desk = Desk::new();
    desk.run("export KEPT=1").await;
    let answer = desk.run("echo before; kill -9 $$; echo after").await;
    assert_eq!((&answer["output"], &answer["exit_code"]), (&json!("before\n"), &json!(137)));
    assert!(answer["error"].as_str().unwrap().contains("signal 9"), "{answer}");
    let id = desk.start("sleep 60 & echo $$; wait").await;
    let pid = desk.process("list", &id).await["processes"][0]["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let ended = desk.process("wait", &id).await;
    assert_eq!(ended["exit_code"], 137, "{ended}");
    desk.process("kill", &id).await;
    eventually("its child is gone", || processes_of(&id) == 0).await;
    assert_eq!(desk.run("echo $KEPT").await["output"], "1\n");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pipes_are_closed() {
    let desk = Desk::new();
    let answer = desk.run("yes | head -2; exec >&- 2>&-; sleep 0.3; echo lost; exit 4").await;
    assert_eq!((&answer["output"], &answer["exit_code"]), (&json!("y\ny\n"), &json!(4)));
    // A command that does not read its input.
    let stdin = "x".repeat(4 << 20);
    let answer = desk.call("terminal", json!({ "command": "exit 3", "stdin": stdin })).await;
    assert_eq!(answer["exit_code"], 3, "{answer}");
    let id = desk.start("exec <&-; echo closed; sleep 60").await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let arguments = json!({ "action": "write", "session_id": id, "data": "x", "timeout": 1 });
    let answer = desk.call("process", arguments).await;
    assert!(answer["error"].is_string() || answer["status"] == "running", "{answer}");
    desk.process("kill", &id).await;
    desk.assert_goes_on().await;
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ignores_term_is_made_to_end() {
    let desk = Desk::new();
    let begin = Instant::now();
    let command = "trap '' TERM INT HUP; bash -c 'trap \"\" TERM; while true; do sleep 1; done' & \
                   while true; do sleep 1; done";
    let answer = desk.call("terminal", json!({ "command": command, "timeout": 1 })).await;
    assert_eq!(answer["status"], "timeout", "{answer}");
    let id = desk.start(command).await;
    let killed = desk.process("kill", &id).await;
    assert_eq!(killed["status"], "killed", "{killed}");
    assert!(begin.elapsed().as_secs() < HANGS);
    eventually("all of it is gone", || processes_of(&id) == 0).await;
    desk.assert_goes_on().await;
    desk.engine.shutdown().await;
}

/// A process that is hard to trace: its environment is empty, it has its own
/// session, its parents have exited. It writes its pid to a file.
fn runaway(desk: &Desk, name: &str) -> (String, PathBuf) {
    let file = desk.path().join(name);
    let inner = format!("echo $$ > {0}.tmp; mv {0}.tmp {0}; exec sleep 600", file.display());
    (format!("(env -i PATH=\"$PATH\" setsid sh -c '{inner}' >/dev/null 2>&1 </dev/null &)"), file)
}

async fn number(file: &std::path::Path) -> u32 {
    eventually("it is away", || file.exists()).await;
    std::fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_casts_off_everything_ends_with_its_command() {
    let desk = Desk::new();
    let (command, file) = runaway(&desk, "first");
    let id = desk.start(&format!("{command}; sleep 600")).await;
    let pid = number(&file).await;
    assert!(hermes_exec::tree::start_time(pid).is_some());
    assert_eq!(desk.process("kill", &id).await["status"], "killed");
    eventually("it is gone", || !is_running(pid)).await;
    // Left by a finished command: it ends with hermes.
    let (command, file) = runaway(&desk, "second");
    let answer = desk.run(&command).await;
    assert_eq!(answer["exit_code"], 0, "{answer}");
    let pid = number(&file).await;
    assert!(is_running(pid), "nothing has ended it yet");
    desk.engine.shutdown().await;
    eventually("it is gone", || !is_running(pid)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_detached_command_has_sent_away_stays() {
    let desk = Desk::new();
    let (command, file) = runaway(&desk, "first");
    let arguments = json!({ "command": format!("{command}; sleep 600"), "detach": true });
    let answer = desk.call("terminal", arguments).await;
    let pid = number(&file).await;
    desk.engine.shutdown().await;
    assert!(is_running(pid), "it was detached on purpose");
    let (id, dir) = (answer["session_id"].as_str().unwrap(), &answer["output_file"]);
    let jobs = hermes_exec::JobRegistry::local(desk.path().join(".jobs"));
    let entries = jobs.records().unwrap().running();
    let entry = entries.iter().find(|entry| entry.id == id).expect("it is written down");
    assert!(jobs.terminate_orphan(entry));
    eventually("it is gone", || !is_running(pid)).await;
    let dir = std::path::Path::new(dir.as_str().unwrap()).parent().unwrap();
    std::fs::remove_dir_all(dir).unwrap();
}

fn is_running(pid: u32) -> bool {
    hermes_exec::tree::start_time(pid).is_some_and(|at| hermes_exec::tree::is_alive(pid, at))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_processes_come_and_go() {
    let desk = Desk::new();
    desk.run("true").await;
    let before = open_files();
    let mut ids = Vec::new();
    for _ in 0..10 {
        // Several at a time, as a model would.
        let calls: Vec<_> = (0..20)
            .map(|_| {
                let (engine, caller) = (desk.engine.clone(), desk.caller.clone());
                let arguments = json!({ "command": "echo up; sleep 600", "background": true });
                let call = ToolCall::new("1", "terminal", arguments);
                tokio::spawn(async move { engine.call(call, &caller).await })
            })
            .collect();
        for call in calls {
            let answer: Value = serde_json::from_str(&call.await.unwrap().content).unwrap();
            assert_eq!(answer["status"], "running", "{answer}");
            ids.push(answer["session_id"].clone());
        }
    }
    let listed = desk.process("list", &Value::Null).await;
    let lines = listed["processes"].as_array().unwrap();
    assert_eq!(lines.len(), 200);
    assert!(lines.iter().all(|line| line["status"] == "running"));
    let killed = desk.process("kill", &ids[100]).await;
    assert_eq!(killed["status"], "killed");
    desk.engine.shutdown().await;
    let mut left = ids.clone();
    eventually("all are gone", || {
        left.retain(|id| processes_of(id) > 0);
        left.is_empty()
    })
    .await;
    eventually("all files are closed", || open_files() <= before + 20).await;
    let running = desk.path().join(".jobs/running");
    assert_eq!(std::fs::read_dir(running).unwrap().count(), 0, "nothing is written down");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_text_whatever_it_is() {
    let desk = Desk::new();
    assert_eq!(desk.run("printf 'no end'").await["output"], "no end");
    let answer = desk.run(r"printf 'a\xff\xfe\xc3(b\xe2\x82'").await;
    let output = answer["output"].as_str().unwrap();
    assert!(output.starts_with('a') && output.contains("(b"), "{answer}");
    let answer = desk.run("head -c 1000000 /dev/urandom; echo; echo end").await;
    assert!(answer["output"].as_str().unwrap().ends_with("end\n"), "{}", answer["exit_code"]);
    let answer = desk.run("head -c 3000000 /dev/zero | tr '\\0' x").await;
    let output = answer["output"].as_str().unwrap();
    assert!(output.len() < 60_000 && output.ends_with("xxx"), "{}", output.len());
    desk.assert_goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_output_is_bounded() {
    let desk = Desk::new();
    desk.run("true").await;
    let peak = |name: &str| -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let before = peak("VmRSS");
    let answer = desk.run("yes 0123456789 | head -c 100000000").await;
    assert_eq!(answer["exit_code"], 0, "{}", answer["error"]);
    assert!(answer["output"].as_str().unwrap().len() < 60_000);
    let file = PathBuf::from(answer["output_file"].as_str().unwrap());
    assert_eq!(file.metadata().unwrap().len(), 100_000_000);
    let grown = peak("VmRSS").saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} KB more than before");
    desk.assert_goes_on().await;
}

/// A confinement that allows all files.
fn everywhere(limits: ChildLimits) -> Confinement {
    Confinement {
        read: vec!["/".into()],
        write: vec!["/".into()],
        limits,
        ..Confinement::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_said_why_sudo_fails_in_the_sandbox() {
    let confinement = Some(everywhere(ChildLimits::default()));
    let desk = Desk::with(Desired { confinement, ..Desired::default() });
    for sign in ["PERM_SUDOERS: setresuid(-1, 1, -1): Operation not permitted", "no new privileges"]
    {
        let command = format!("sudo() {{ echo 'sudo: {sign}'; return 1; }}; sudo true");
        let answer = desk.run(&command).await;
        let note = answer["note"].as_str().unwrap_or_default();
        assert!(note.contains("sudo cannot work in the sandbox"), "{answer}");
        let text = desk.run(&format!("echo '{sign}'")).await;
        assert!(!text["note"].as_str().unwrap_or_default().contains("sandbox"), "{text}");
    }
    desk.engine.shutdown().await;
}

/// More processes than a command may have.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_is_ended() {
    let limits = ChildLimits { processes: Some(200), ..ChildLimits::default() };
    let confinement = Some(everywhere(limits));
    let desk = Desk::with(Desired { confinement, ..Desired::default() });
    let probe = desk.run("true").await;
    assert_eq!(probe["exit_code"], 0, "{probe}");
    // The kernel never counts the processes of root, so there would be as many
    // as this machine can run.
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let held = probe["sandbox"].as_str().unwrap();
    let has_gap = held.contains("not held: at most 200 processes (the kernel does not count");
    assert_eq!(has_gap, is_root, "{held}");
    let bomb = if is_root {
        eprintln!("a bounded bomb only: the kernel does not count the processes of root");
        "bomb() { (( $1 )) || { sleep 600; return; }; bomb $(( $1 - 1 )) & bomb $(( $1 - 1 )) & \
         wait; }; bomb 6"
    } else {
        "bomb() { bomb & bomb & wait; }; bomb"
    };
    let begin = Instant::now();
    let answer = desk.call("terminal", json!({ "command": bomb, "timeout": 3 })).await;
    assert!(begin.elapsed().as_secs() < 2 * HANGS);
    assert!(answer["status"] == "timeout" || answer["exit_code"] != 0, "{answer}");
    let arguments = json!({ "command": bomb, "background": true });
    let answer = desk.call("terminal", arguments).await;
    let id = answer["session_id"].clone();
    desk.process("kill", &id).await;
    eventually("all of it is gone", || processes_of(&id) == 0).await;
    desk.assert_goes_on().await;
    desk.engine.shutdown().await;
}

/// Requires permission to mount; otherwise no disk is small enough.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_loses_the_middle_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).arg(dir.path()).output();
        done.is_ok_and(|output| output.status.success())
    };
    if !run("mount", &["-t", "tmpfs", "-o", "size=2m", "tmpfs"]) {
        eprintln!("skipped: nothing can be mounted here");
        return;
    }
    let jobs = Some(dir.path().join("jobs"));
    let desk = Desk::with(Desired { jobs, ..Desired::default() });
    let answer = desk.run("seq 1 2000000; echo the end").await;
    let goes_on = desk.run("echo still here").await;
    desk.engine.shutdown().await;
    drop(desk);
    assert!(run("umount", &["-l"]));
    assert_eq!(answer["exit_code"], 0, "{}", answer["error"]);
    let output = answer["output"].as_str().unwrap();
    assert!(output.starts_with("1\n2\n") && output.ends_with("2000000\nthe end\n"));
    let note = answer["note"].as_str().unwrap();
    assert!(note.contains("lost") && note.contains("% full"), "{note}");
    assert_eq!(goes_on["output"], "still here\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_its_own_way_ends_with_the_program() {
    let desk = Desk::new();
    let command = "setsid nohup sleep 347 </dev/null >/dev/null 2>&1 & echo $!";
    let pid: u32 = desk.output(command).await.trim().parse().unwrap();
    let command_of = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
    eventually("it runs", || command_of(pid).is_ok_and(|it| it.contains("347"))).await;
    desk.engine.shutdown().await;
    eventually("it is gone", || {
        command_of(pid).is_ok_and(|it| it.is_empty()) || command_of(pid).is_err()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_its_input_holds_nobody_up() {
    let desk = Desk::new();
    let long = "x".repeat(300_000);
    let arguments = json!({ "command": "sleep 600", "stdin": long, "timeout": 1 });
    let answer = desk.call("terminal", arguments).await;
    assert_eq!(answer["status"], "timeout", "{answer}");
    let arguments = json!({ "command": "sleep 600", "open_stdin": true, "background": true });
    let answer = desk.call("terminal", arguments).await;
    let id = answer["session_id"].clone();
    let arguments = json!({ "action": "write", "session_id": id, "data": long, "timeout": 1 });
    let answer = desk.call("process", arguments).await;
    assert!(answer["note"].as_str().unwrap().contains("has not read all of the input"), "{answer}");
    let arguments = json!({ "action": "wait", "session_id": id, "timeout": 1 });
    let answer = desk.call("process", arguments).await;
    assert_eq!(answer["status"], "timeout", "{answer}");
    let answer = desk.process("close", &id).await;
    assert!(answer["note"].as_str().unwrap().contains("is closed once"), "{answer}");
    assert_eq!(desk.process("kill", &id).await["status"], "killed");
    desk.assert_goes_on().await;
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_its_terminal_and_does_not_listen_is_heard_all_the_same() {
    let desk = Desk::new();
    let command = "stty -echo; yes $'\\e[6n\\e[c' | head -c 100000; echo; echo the end";
    let arguments = json!({ "command": command, "pty": true, "timeout": 60 });
    let answer = desk.call("terminal", arguments).await;
    assert_eq!(answer["exit_code"], 0, "{answer}");
    assert!(answer["screen"].as_str().unwrap().contains("the end"), "{answer}");
    desk.assert_goes_on().await;
}
