//! Terminal commands at the limits of the system.

use std::process::Command;

use serde_json::{Value, json};

use crate::context::{Run, TestContext};

/// The program, run by a shell that sets its limits first.
fn after(context: &TestContext, before: &str, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before}; exec \"$0\" \"$@\"")]);
    command.arg(assert_cmd::cargo::cargo_bin!("hermes")).args(args);
    context.settle(&mut command);
    command
}

/// The results of the commands.
fn contents(run: &Run) -> Vec<Value> {
    run.json_lines().iter().map(|line| line["tool_results"][0]["content"].clone()).collect()
}

fn calls(commands: &[&str]) -> String {
    let call = |command: &&str| json!({ "name": "terminal", "arguments": { "command": command } });
    commands.iter().map(|command| call(command).to_string() + "\n").collect()
}

#[test]
fn a_file_that_may_not_grow_is_a_full_disk_and_not_the_end() {
    let context = TestContext::new();
    let command = after(&context, "ulimit -f 200", &["exec"]);
    let run = context.finish(command, calls(&["seq 1 200000", "echo on"]).as_bytes()).succeeds();
    let answers = contents(&run);
    let (output, note) = (answers[0]["output"].as_str(), answers[0]["note"].as_str());
    assert!(output.is_some_and(|output| output.ends_with("199999\n200000\n")));
    assert!(note.is_some_and(|note| note.contains("were lost")), "{note:?}");
    assert_eq!(answers[1]["output"], "on\n");
    // Child processes get the system's default signal handling, not ours.
    let command = after(&context, "ulimit -f 200", &["call", "terminal", "-"]);
    let wanted = json!({ "command": "head -c 9000000 /dev/zero > big" }).to_string();
    let answer: Value = context.finish(command, wanted.as_bytes()).exits(1).json();
    assert_eq!(answer["exit_code"], 153, "{answer}");
}

#[test]
fn a_command_that_took_too_long_is_a_failure_of_the_call() {
    let context = TestContext::new();
    let run = context.run(["call", "terminal", "command=echo a; sleep 60", "timeout=1"]).exits(1);
    let answer = run.json();
    assert_eq!((&answer["output"], &answer["status"]), (&json!("a\n"), &json!("timeout")));
}

#[test]
fn a_session_on_a_full_disk_is_kept_elsewhere() {
    let context = TestContext::new();
    let small = context.work().join("small");
    std::fs::create_dir(&small).expect("a directory");
    let small = small.display();
    // In a separate mount namespace, so that the mount is visible here only.
    let before = format!(
        "mount -t tmpfs -o size=64k none {small} && {{ head -c 99999 /dev/zero >{small}/x; \
         export TMPDIR={small}; }} 2>/dev/null"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c"]);
    command.arg(format!("{before}; [ -s {small}/x ] || exit 77; exec \"$0\" \"$@\""));
    command.arg(assert_cmd::cargo::cargo_bin!("hermes")).arg("exec");
    context.settle(&mut command);
    let run = context.finish(command, calls(&["FX=1; cd /usr; :", "echo $FX; pwd"]).as_bytes());
    if run.code != 0 {
        println!("skipped: no file system can be mounted here: {}", run.stderr);
        return;
    }
    assert_eq!(contents(&run)[1]["output"], "1\n/usr\n");
}
