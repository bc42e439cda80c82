//! How a call ends: what counts as a failure for all tools, and what does not.

use std::time::{Duration, Instant};

use hermes_core::{CallStatus, ErrorKind, ToolCall};
use serde_json::{Value, json};

use crate::desk::Desk;

async fn ended(desk: &Desk, arguments: Value) -> (CallStatus, Value) {
    let call = ToolCall::new("1", "terminal", arguments);
    let result = desk.engine.call(call, &desk.caller).await;
    (result.status, serde_json::from_str(&result.content).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_took_too_long_has_not_done_what_was_asked() {
    let desk = Desk::new();
    let (status, answer) =
        ended(&desk, json!({ "command": "echo a; sleep 60", "timeout": 1 })).await;
    assert_eq!(status, CallStatus::Error(ErrorKind::Timeout));
    assert_eq!((&answer["output"], &answer["exit_code"]), (&json!("a\n"), &json!(124)), "{answer}");
    let (status, answer) = ended(&desk, json!({ "command": "exit 3" })).await;
    assert_eq!(
        (status, &answer["exit_code"]),
        (CallStatus::Success, &json!(3)),
        "a code is an answer"
    );
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_is_an_answer_does_not_count_as_a_failure() {
    let desk = Desk::new();
    for command in ["grep zzz /etc/hostname", "test -e /nonesuch", "grep zzy /etc/hostname"] {
        let answer = desk.run(command).await;
        assert_eq!((&answer["exit_code"], &answer["_warning"]), (&json!(1), &Value::Null));
    }
    for _ in 0..3 {
        let id = desk.start("sleep 60").await;
        let killed = desk.process("kill", &id).await;
        assert_eq!((&killed["status"], &killed["_warning"]), (&json!("killed"), &Value::Null));
    }
    for command in ["ls /nonesuch", "ls /nonesuch/a", "ls /nonesuch/b"] {
        desk.run(command).await;
    }
    let answer = desk.run("ls /nonesuch/c").await;
    assert!(answer["_warning"].is_string(), "{answer}");
    desk.engine.shutdown().await;
}

/// A query about a process succeeds, however the process ended.
#[tokio::test(flavor = "multi_thread")]
async fn to_look_at_a_process_that_failed_is_no_failure() {
    let desk = Desk::new();
    let id = desk.start("sleep 0.5; exit 3").await;
    for action in ["wait", "wait", "poll", "log", "poll", "log"] {
        let answer = desk.process(action, &id).await;
        assert_eq!((&answer["exit_code"], &answer["_warning"]), (&json!(3), &Value::Null));
    }
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_killed_is_told_the_same_with_a_shell_and_without() {
    let desk = Desk::new();
    std::fs::write(desk.path().join("run.py"), "import os; os.kill(os.getpid(), 11)\n").unwrap();
    let python = "python3 run.py";
    for command in [python.to_owned(), format!(": a; {python}"), format!("x=1; {python}; exit $?")]
    {
        let answer = desk.run(&command).await;
        let wanted = (&json!(139), &json!("Terminated by signal 11"));
        assert_eq!((&answer["exit_code"], &answer["error"]), wanted, "{answer}");
    }
    let answer = desk.run("x=1; (exit 139)").await;
    assert_eq!((&answer["exit_code"], &answer["error"]), (&json!(139), &Value::Null), "{answer}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_command_that_ignores_term_keeps_its_output() {
    let mut desk = Desk::new();
    desk.caller.cancel = desk.caller.cancel.child_token();
    let cancel = desk.caller.cancel.clone();
    let mark = desk.path().join("begun");
    let command = format!("trap '' TERM; echo partial; : >{}; sleep 50; sleep 50", mark.display());
    let begin = Instant::now();
    let stop = async {
        while !mark.exists() && begin.elapsed() < Duration::from_secs(30) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        cancel.cancel();
    };
    let ((status, answer), ()) = tokio::join!(ended(&desk, json!({ "command": command })), stop);
    assert_eq!(status, CallStatus::Error(ErrorKind::Cancelled));
    assert_eq!(answer["output"], "partial\n", "{answer}");
    assert_eq!(answer["cwd"], desk.path().display().to_string(), "{answer}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_shell_still_finds_its_functions() {
    let desk = Desk::new();
    desk.run("my-f() { echo mine; }; KEEP=1; set -o posix").await;
    let answer = desk.run("echo A $KEEP; [[ -o posix ]] && echo strict; set +o posix; my-f").await;
    assert_eq!(answer["output"], "A 1\nstrict\nmine\n", "{answer}");
    desk.run("export POSIXLY_CORRECT=1; other-f() { :; }; :").await;
    let answer = desk.run("echo B $KEEP").await;
    assert_eq!(answer["output"], "B 1\n", "{answer}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_without_a_terminal_does_not_wait_for_ever() {
    let desk = Desk::new();
    // The output of vim, which not every machine has.
    let editor = "echo 'Vim: Warning: Input is not from a terminal'; sleep 60";
    let begin = Instant::now();
    let (status, answer) = ended(&desk, json!({ "command": editor, "timeout": 50 })).await;
    assert_eq!(status, CallStatus::Error(ErrorKind::Timeout));
    assert!(answer["error"].as_str().unwrap().contains("pty=true"), "{answer}");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_no_system_takes_is_told_why() {
    let desk = Desk::new();
    let command = format!("echo {}", "x".repeat(3_000_000));
    let (status, answer) = ended(&desk, json!({ "command": command })).await;
    assert_eq!(status, CallStatus::Error(ErrorKind::InvalidArguments));
    assert!(answer["error"].as_str().unwrap().contains("too long"), "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("stdin"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_whose_input_is_closed_is_heard_out() {
    let desk = Desk::new();
    let id = desk.start("cat; sleep 0.2; echo eof").await;
    let data = json!({ "action": "submit", "session_id": id, "data": "x" });
    desk.call("process", data).await;
    let closed = desk.process("close", &id).await;
    assert_eq!((&closed["status"], &closed["output"]), (&json!("exited"), &json!("eof\n")));
    desk.engine.shutdown().await;
}
