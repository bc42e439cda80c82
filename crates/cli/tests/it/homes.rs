//! Homes that cannot be used as they are.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::context::{Run, TestContext, modes_do_not_bind};

fn run_at(context: &TestContext, home: impl AsRef<Path>, args: &[&str]) -> Run {
    let mut command = context.command(args);
    command.env("HERMES_HOME", home.as_ref());
    context.finish(command, b"")
}

const WRITE_TODO: &str = r#"{"todos":[{"id":"1","content":"x","status":"pending"}]}"#;

#[test]
fn a_home_that_is_a_file_is_named() {
    let context = TestContext::new();
    let file = context.file("home", "");
    for args in [
        &["tools", "list"][..],
        &["call", "todo"],
        &["exec"],
        &["config", "get"],
        &["config", "set", "--force", "own.x", "1"],
        &["toolsets", "create", "mine", "--tools", "todo"],
    ] {
        let run = run_at(&context, &file, args).exits(2);
        assert!(
            run.stderr.contains(&format!("{} is not a directory", file.display())),
            "{args:?}: {}",
            run.stderr
        );
        assert!(run.stderr.contains("HERMES_HOME"), "{args:?}: {}", run.stderr);
    }
    run_at(&context, &file, &["doctor"]).exits(1);
}

#[test]
fn settings_that_are_a_folder_are_named() {
    let context = TestContext::new();
    std::fs::create_dir(context.home().join("config.yaml")).expect("a directory");
    for args in [
        &["tools", "list"][..],
        &["call", "todo"],
        &["config", "get"],
        &["config", "set", "--force", "own.x", "1"],
    ] {
        let run = context.run(args).exits(2);
        assert!(run.stderr.contains("config.yaml: Is a directory"), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn toolsets_that_cannot_be_read_are_named() {
    let context = TestContext::new();
    let file = context.home().join("toolsets.json");
    for broken in ["{half", "[]", "{\"toolsets\":7}", "nonsense", &"[".repeat(10_000)] {
        std::fs::write(&file, broken).expect("a broken file");
        let error = context.run(["tools", "list", "--json"]).exits(2).error("invalid_arguments");
        assert!(error.message.contains("toolsets.json"), "{error:?}");
        assert!(error.hint.contains("move it away"), "{error:?}");
        context.run(["toolsets", "create", "mine", "--tools", "todo"]).exits(2);
        assert_eq!(
            std::fs::read_to_string(&file).expect("the file"),
            broken,
            "it is left as it is"
        );
    }
    std::fs::write(&file, "").expect("an empty file");
    context.run(["tools", "list"]).succeeds();
}

#[test]
fn without_any_home_the_variable_is_named() {
    let context = TestContext::new();
    for value in [None, Some("")] {
        let mut command = context.command(["tools", "list", "--json"]);
        match value {
            None => command.env_remove("HERMES_HOME").env_remove("HOME"),
            Some(empty) => command.env("HERMES_HOME", empty).env("HOME", empty),
        };
        let error = context.finish(command, b"").exits(2).error("invalid_arguments");
        assert!(error.hint.contains("set HERMES_HOME"), "{error:?}");
    }
}

#[test]
fn the_default_home_is_below_the_users_and_made_only_when_needed() {
    let context = TestContext::new();
    let home = context.root().join(".hermes");
    let bare = |args: &[&str]| {
        let mut command = context.command(args);
        command.env_remove("HERMES_HOME");
        context.finish(command, b"").succeeds()
    };
    bare(&["tools", "list"]);
    bare(&["config", "get"]);
    assert!(!home.exists(), "looking makes nothing");
    bare(&["call", "--session", "s", "todo", WRITE_TODO]);
    assert!(home.join("session-state").is_dir());
}

#[test]
fn calls_work_although_no_record_can_be_kept() {
    let context = TestContext::new();
    std::fs::write(context.home().join("logs"), "in the way").expect("a file");
    let run = context.run(["call", "todo"]).succeeds();
    assert!(run.stderr.starts_with("warning: The audit log is incomplete: "), "{}", run.stderr);
}

#[test]
fn a_session_that_cannot_be_kept_is_an_error_not_a_loss() {
    let context = TestContext::new();
    std::fs::write(context.home().join("session-state"), "in the way").expect("a file");
    let run = context.run(["call", "--session", "s", "todo", WRITE_TODO]).exits(4);
    assert!(
        run.json()["error"].as_str().is_some_and(|e| e.contains("session-state")),
        "{}",
        run.stdout
    );
}

#[test]
fn a_home_on_a_system_that_cannot_be_written_still_serves() {
    // No user, not even root, can create files there.
    let home = Path::new("/proc/self/task");
    if !home.is_dir() {
        println!("skipped: there is no {}", home.display());
        return;
    }
    let context = TestContext::new();
    run_at(&context, home, &["tools", "list"]).succeeds();
    let run = run_at(&context, home, &["call", "todo"]).succeeds();
    assert!(run.stderr.starts_with("warning: The audit log is incomplete: "), "{}", run.stderr);
    for args in [
        &["config", "set", "--force", "own.x", "1", "--json"][..],
        &["toolsets", "create", "mine", "--tools", "todo", "--json"],
    ] {
        let error = run_at(&context, home, args).exits(4).error("unavailable");
        assert!(error.message.contains("cannot write /proc/self/task"), "{error:?}");
        assert!(error.hint.contains("HERMES_HOME"), "{error:?}");
    }
    run_at(&context, home, &["call", "--session", "s", "todo", WRITE_TODO]).exits(4);
    run_at(&context, home, &["doctor"]).exits(1);
}

#[test]
fn a_read_only_home_still_serves() {
    let context = TestContext::new();
    if modes_do_not_bind(&context) {
        println!("skipped: file modes do not bind this user");
        return;
    }
    let mode = |bits| {
        std::fs::set_permissions(context.home(), std::fs::Permissions::from_mode(bits))
            .expect("a mode")
    };
    mode(0o555);
    context.run(["tools", "list"]).succeeds();
    assert_eq!(context.run(["call", "todo"]).succeeds().json()["todos"], json!([]));
    context.run(["config", "set", "--force", "own.x", "1"]).exits(4);
    context.run(["doctor"]).exits(1);
    mode(0o000);
    let run = context.run(["tools", "list"]).exits(2);
    assert!(run.stderr.contains("Permission denied"), "{}", run.stderr);
    mode(0o755);
}

#[test]
fn a_working_folder_that_is_gone_is_named() {
    let context = TestContext::new();
    let gone = context.root().join("gone");
    std::fs::create_dir(&gone).expect("a directory");
    let in_shell = |line: &str| {
        let binary = assert_cmd::cargo::cargo_bin!("hermes");
        let mut command = std::process::Command::new("sh");
        context.settle(&mut command);
        command
            .current_dir(&gone)
            .env("HERMES", binary)
            .args(["-c", &format!("rmdir \"$PWD\"; {line}")]);
        let run = context.finish(command, b"");
        std::fs::create_dir(&gone).expect("the directory again");
        run
    };
    for line in ["\"$HERMES\" call todo", "\"$HERMES\" exec"] {
        let run = in_shell(line).exits(2);
        assert!(run.stderr.contains("The current directory cannot be used"), "{}", run.stderr);
        assert!(run.stderr.contains("--cwd"), "{}", run.stderr);
    }
    in_shell("\"$HERMES\" tools list").succeeds();
    in_shell("\"$HERMES\" call --cwd / todo").succeeds();
}
