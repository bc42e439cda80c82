//! Modes: which calls run without approval.

use hermes_testkit::models::{ModelServer, ScriptedReply};
use serde_json::Value;

use crate::approvals::talk;
use crate::chat::{Tmux, with_model};
use crate::context::{Run, TestContext};

const CHANGE: &str = r#"todos:=[{"id":"a","content":"x","status":"pending"}]"#;

fn notes() -> TestContext {
    let context = TestContext::new();
    context.file("notes.txt", "one\n");
    context
}

fn terminal(context: &TestContext, mode: &str, command: &str) -> Run {
    context.run(["call", mode, "terminal", &format!("command={command}")])
}

/// Whether this system can confine children.
fn has_sandbox() -> bool {
    let support = hermes::sandbox::support();
    support.user_namespaces && support.landlock.is_some()
}

#[test]
fn only_one_mode_can_be_chosen() {
    let context = TestContext::new();
    for words in [&["call", "todo"][..], &["exec"], &["run", "hello"], &["chat"], &[]] {
        let run = context.run([words, &["--ask", "--plan"]].concat()).exits(2);
        assert!(run.stderr.contains("cannot be used with"), "{words:?}: {}", run.stderr);
    }
    let help = context.run(["chat", "--help"]).succeeds().stdout;
    for flag in ["--auto", "--ask", "--plan", "--yolo"] {
        assert!(help.contains(flag), "{flag}: {help}");
    }
    assert!(context.run(["--help"]).succeeds().stdout.contains("--plan"));
}

#[test]
fn plan_mode_reads_and_changes_nothing() {
    let context = notes();
    let call = |words: &[&str]| context.run([&["call", "--plan"][..], words].concat());
    call(&["read_file", "path=notes.txt"]).succeeds();
    call(&["search_files", "pattern=one"]).succeeds();
    call(&["todo", CHANGE]).succeeds();
    let error = call(&["write_file", "path=new.txt", "content=x"]).exits(3).error("denied");
    assert!(error.message.contains("Plan mode is read-only"), "{error:?}");
    call(&["patch", "path=notes.txt", "old_string=one", "new_string=two"]).exits(3).error("denied");
    call(&["memory", "action=add", "target=memory", "content=x"]).exits(3).error("denied");
    // Not even in the directory for temporary files.
    let temporary = context.root().join("outside.txt");
    let path = format!("path={}", temporary.display());
    call(&["write_file", &path, "content=x"]).exits(3).error("denied");
    assert!(!temporary.exists());
    assert_eq!(std::fs::read_dir(context.work()).expect("a directory").count(), 1);
    assert_eq!(std::fs::read_to_string(context.work().join("notes.txt")).expect("text"), "one\n");
}

#[test]
fn plan_mode_runs_commands_that_only_read() {
    if !has_sandbox() {
        return;
    }
    let context = notes();
    let seen = terminal(&context, "--plan", "cat notes.txt | head -1").succeeds().json();
    assert_eq!(seen["output"], "one\n", "{seen}");
    for command in ["echo x > new.txt", "rm notes.txt", "git commit -m x", "touch a.txt"] {
        terminal(&context, "--plan", command).exits(3).error("denied");
    }
    // The effects of a script are unknown in advance; the sandbox confines it.
    context.file("write.sh", "echo x > made.txt; echo y >> notes.txt; rm -f notes.txt; mktemp -u");
    let seen = terminal(&context, "--plan", "sh write.sh").json();
    let output = seen["output"].as_str().unwrap_or_default();
    assert!(output.contains("Read-only") || output.contains("denied"), "{seen}");
    let code = "code=open('made.txt', 'w').write('x')";
    context.run(["call", "--plan", "execute_code", code]);
    assert!(!context.work().join("made.txt").exists());
    assert_eq!(std::fs::read_to_string(context.work().join("notes.txt")).expect("text"), "one\n");
}

#[test]
fn plan_mode_narrows_every_profile_and_switches_the_sandbox_on() {
    if !has_sandbox() {
        return;
    }
    let context = notes();
    let profiles = "profiles:\n  open:\n    sandbox: {enabled: false}\n";
    std::fs::write(context.home().join("hermes_permissions.yaml"), profiles).expect("profiles");
    context.file("write.sh", "echo x > made.txt");
    for profile in ["open", "full_developer"] {
        let words = ["call", "--plan", "--profile", profile, "terminal", "command=sh write.sh"];
        context.run(words);
        assert!(!context.work().join("made.txt").exists(), "{profile}");
    }
}

#[test]
fn ask_mode_asks_before_each_change_and_command() {
    let context = notes();
    context.run(["call", "--ask", "read_file", "path=notes.txt"]).succeeds();
    let held = |run: Run| run.exits(3).error("approval_required").message;
    let why = held(context.run(["call", "--ask", "write_file", "path=new.txt", "content=x"]));
    assert!(why.contains("Ask mode"), "{why}");
    assert!(held(terminal(&context, "--ask", "ls")).contains("Ask mode"));
    held(context.run(["call", "--ask", "execute_code", "code=print(1)"]));
    assert!(!context.work().join("new.txt").exists());
    // `--ask` overrides HERMES_YOLO.
    let mut command = context.command(["call", "--ask", "write_file", "path=new.txt", "content=x"]);
    command.env("HERMES_YOLO", "1");
    held(context.finish(command, b""));
}

#[test]
fn what_was_approved_in_ask_mode_is_done() {
    let context = notes();
    let words = ["call", "--ask", "write_file", "path=new.txt", "content=x"];
    let Some(shown) = talk(&context, &words, "o\n") else { return };
    assert!(shown.run.stdout.contains("Ask mode asks before each file change"), "{:?}", shown.run);
    assert!(context.work().join("new.txt").exists(), "{}", shown.answer);
    if !has_sandbox() {
        return;
    }
    // An approved command may write in the workspace, declared or not.
    context.file("write.sh", "echo x > made.txt");
    let words = ["call", "--ask", "terminal", "command=sh write.sh"];
    let shown = talk(&context, &words, "o\n").expect("a terminal");
    assert_eq!(shown.json()["exit_code"], 0, "{}", shown.answer);
    assert!(context.work().join("made.txt").exists(), "{}", shown.answer);
}

#[test]
fn automatic_approval_is_a_flag_and_auto_takes_it_back() {
    let context = TestContext::new();
    let profiles = "profiles:\n  default:\n    extends: default\n    approval_required: [plan:write]\n    deny: [env:write]\n";
    std::fs::write(context.home().join("hermes_permissions.yaml"), profiles).expect("profiles");
    let todo = |mode: &[&str]| context.run([&["call", "todo", CHANGE][..], mode].concat());
    todo(&[]).exits(3);
    todo(&["--yolo"]).succeeds();
    context.run(["call", "--yolo", "env_manager", "action=set", "name=A", "value=b"]).exits(3);
    context.settings("approvals:\n  mode: \"off\"\n");
    todo(&[]).succeeds();
    todo(&["--auto"]).exits(3);
}

/// The system prompt.
fn instructions(asked: &Value) -> String {
    asked["messages"][0]["content"].as_str().expect("instructions").to_owned()
}

#[test]
fn the_model_is_told_of_plan_mode() {
    let server = ModelServer::start(vec![ScriptedReply::says("Hello.").again()]);
    let context = with_model(&server);
    context.run(["run", "--plan", "hello"]).succeeds();
    context.run(["run", "hello"]).succeeds();
    // A resumed session may use another mode.
    context.run(["run", "--resume", "last", "--plan", "hello"]).succeeds();
    context.run(["run", "--resume", "last", "hello"]).succeeds();
    let shown: Vec<bool> = server
        .model_requests()
        .iter()
        .map(|it| instructions(it).contains("Plan mode is on"))
        .collect();
    assert_eq!(shown, [true, false, true, false]);
}

#[test]
fn the_chat_shows_its_mode_and_switches_it() {
    let server = ModelServer::start(vec![ScriptedReply::says("Hello.").again()]);
    let context = with_model(&server);
    let Some(tmux) = Tmux::start(&context, "--ask") else { return };
    tmux.sees("· ask mode");
    tmux.keys(&["BTab"]);
    tmux.sees("· plan mode");
    tmux.line("hello");
    tmux.sees("Hello.");
    tmux.keys(&["BTab"]);
    tmux.sees("· auto mode");
    tmux.line("/mode ask");
    tmux.sees("▸ ask");
    tmux.line("/mode yolo");
    tmux.sees("/yolo switches automatic approval");
    tmux.line("/yolo");
    tmux.sees("· yolo mode");
    tmux.line("/new");
    tmux.sees("· yolo mode");
    tmux.line("/yolo");
    tmux.sees("Automatic approval is off");
    tmux.keys(&["C-d"]);
    tmux.sees("ended with 0");
    let shown = server.model_requests();
    assert!(instructions(&shown[0]).contains("Plan mode is on"), "{shown:?}");
}

#[test]
fn a_mode_that_is_switched_to_during_a_turn_holds_at_once() {
    let scene = |last: &str, scene: ScriptedReply| ScriptedReply { last: last.to_owned(), ..scene };
    let server = ModelServer::start(vec![
        scene("begin", ScriptedReply::calls("sleep", r#"{"seconds":3}"#)),
        scene("slept", ScriptedReply::calls("write_file", r#"{"path":"new.txt","content":"x"}"#)),
        scene("Plan mode", ScriptedReply::says("I only plan.")),
    ]);
    let context = with_model(&server);
    let Some(tmux) = Tmux::start(&context, "") else { return };
    tmux.sees("· auto mode");
    tmux.line("begin");
    tmux.sees("sleep");
    tmux.keys(&["BTab", "BTab"]);
    tmux.sees("· plan mode");
    tmux.sees("I only plan.");
    assert!(!context.work().join("new.txt").exists());
    tmux.keys(&["C-d"]);
}
