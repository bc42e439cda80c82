//! Several commands of one batch: side by side where none can meet another,
//! in order everywhere else.

use std::process::{Child, Command};

use hermes_core::ToolCall;
use serde_json::{Value, json};

use crate::desk::Desk;

impl Desk {
    async fn calls(&self, calls: &[Value]) -> Vec<Value> {
        let call = |(at, arguments): (usize, &Value)| {
            ToolCall::new(at.to_string(), "terminal", arguments.clone())
        };
        let calls = calls.iter().enumerate().map(call).collect();
        let results = self.engine.dispatch(calls, &self.caller).await;
        results.iter().map(|result| serde_json::from_str(&result.content).unwrap()).collect()
    }

    /// What each command has written.
    async fn outputs(&self, commands: &[&str]) -> Vec<String> {
        let calls: Vec<Value> =
            commands.iter().map(|command| json!({ "command": command, "timeout": 30 })).collect();
        let answers = self.calls(&calls).await;
        answers.iter().map(|answer| answer["output"].as_str().unwrap().to_owned()).collect()
    }

    /// Named pipes, and a writer that writes its name into each, one after the
    /// other: a reader of one waits until those before it have been read.
    fn pipes(&self, names: [&str; 2]) -> Giver {
        let made = Command::new("mkfifo").args(names).current_dir(self.dir.path()).status();
        assert!(made.unwrap().success());
        let script = "for name; do echo $name > $name; done";
        let giver = Command::new("sh")
            .args(["-c", script, "sh"])
            .args(names)
            .current_dir(self.dir.path())
            .spawn();
        Giver(giver.unwrap())
    }
}

struct Giver(Child);

impl Drop for Giver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_only_look_run_side_by_side() {
    let desk = Desk::new();
    // The first gets nothing before the second has been read.
    let _giver = desk.pipes(["second", "first"]);
    let outputs = desk.outputs(&["cat first", "cat second | head -1"]).await;
    assert_eq!(outputs, ["first\n", "second\n"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_change_something_keep_their_order() {
    let desk = Desk::new();
    let outputs = desk
        .outputs(&["sleep 0.3; mkdir x", "touch x/y", "ls x", "ls x", "rm x/y", "ls x", "echo end"])
        .await;
    assert_eq!(outputs, ["", "", "y\n", "y\n", "", "", "end\n"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_the_shell_counts_for_what_comes_after() {
    let desk = Desk::new();
    std::fs::create_dir(desk.dir.path().join("sub")).unwrap();
    let outputs = desk
        .outputs(&["echo [$A]", "sleep 0.3; A=1", "echo [$A]", "cd sub", "basename $PWD", "ls"])
        .await;
    assert_eq!(outputs, ["[]\n", "", "[1]\n", "", "sub\n", ""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_has_become_a_function_in_the_batch_may_do_anything() {
    let desk = Desk::new();
    let outputs = desk
        .outputs(&[
            "cat() { [ $1 = one ] && sleep 0.5; echo $1 >> log; }",
            "cat one",
            "cat two",
            "head log",
        ])
        .await;
    assert_eq!(outputs[3], "one\ntwo\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_does_more_than_its_command_is_kept_in_order() {
    let desk = Desk::new();
    desk.outputs(&["export A=kept"]).await;
    let answers = desk
        .calls(&[
            json!({ "command": "echo [$A]" }),
            json!({ "command": "echo [$A]", "reset": true }),
            json!({ "command": "echo [$A]" }),
        ])
        .await;
    let outputs: Vec<_> = answers.iter().map(|answer| &answer["output"]).collect();
    assert_eq!(outputs, ["[kept]\n", "[]\n", "[]\n"]);
}
