//! `hermes secrets` and `secret://NAME`: values that are used but never shown.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::context::{Run, TestContext};

const VALUE: &str = "vK3xQ9mT7bW2rZ8nL5pJ4cHd";

/// Allows everything, including the use of secrets.
const OPEN: &str = "profiles:\n  open:\n    allow: [\"*\"]\n";

fn with_secret() -> TestContext {
    let context = TestContext::new();
    std::fs::write(context.home().join("hermes_permissions.yaml"), OPEN).expect("profiles");
    context.feed(["secrets", "set", "DEPLOY"], VALUE).succeeds();
    context
}

fn chmod(context: &TestContext, mode: u32) {
    let file = context.home().join("secrets.json");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Asserts that the value is in neither stream.
#[track_caller]
fn unseen(run: Run) -> Run {
    assert!(!run.stdout.contains(VALUE), "{}", run.stdout);
    assert!(!run.stderr.contains(VALUE), "{}", run.stderr);
    run
}

/// A task whose text is a placeholder.
fn task(name: &str) -> String {
    let todos = json!([{ "id": "a", "content": format!("secret://{name}"), "status": "pending" }]);
    format!("todos:={todos}")
}

#[test]
fn a_value_comes_from_a_pipe_and_is_kept_for_its_owner_alone() {
    let context = TestContext::new();
    let run = unseen(context.feed(["secrets", "set", "DEPLOY"], format!("{VALUE}\n"))).succeeds();
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("secret://DEPLOY"), "{}", run.stderr);
    let file = context.home().join("secrets.json");
    let mode = std::fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let run = unseen(context.run(["secrets", "list"])).succeeds();
    assert_eq!(run.stdout, "DEPLOY  24 characters\n", "the line's end is no part of it");
    let list = unseen(context.run(["secrets", "list", "--json"])).succeeds().json();
    assert_eq!(list["secrets"][0]["name"], "DEPLOY");
    assert_eq!(list["secrets"][0]["chars"], 24);
    let set = unseen(context.feed(["secrets", "set", "OTHER", "--json"], VALUE)).succeeds().json();
    assert_eq!(set, json!({ "name": "OTHER", "set": true }));
}

#[test]
fn a_value_is_replaced_and_removed() {
    let context = with_secret();
    context.feed(["secrets", "set", "DEPLOY"], "another-value-4711").succeeds();
    let list = context.run(["secrets", "list", "--json"]).succeeds().json();
    assert_eq!(list["secrets"].as_array().expect("a list").len(), 1);
    assert_eq!(list["secrets"][0]["chars"], 18);
    context.run(["secrets", "remove", "DEPLOY"]).succeeds();
    let list = context.run(["secrets", "list", "--json"]).succeeds().json();
    assert_eq!(list["secrets"], json!([]));
    context.run(["secrets", "remove", "DEPLOY", "--json"]).exits(1).error("not_found");
}

#[test]
fn a_value_is_never_an_argument() {
    let context = TestContext::new();
    context.run(["secrets", "set", "DEPLOY", "value"]).exits(2);
    assert!(!context.home().join("secrets.json").exists());
}

#[test]
fn names_that_cannot_be_written_in_a_placeholder_are_refused() {
    let context = TestContext::new();
    for name in ["", "a b", "../x", "1st", "a/b", "a=b", "é", &"x".repeat(129)] {
        let run = unseen(context.feed(["secrets", "set", "--json", "--", name], VALUE)).exits(2);
        let error = run.error("invalid_arguments");
        assert!(error.message.contains("cannot be the name of a secret"), "{error:?}");
        assert!(!error.hint.contains("Repair the file"), "no file is at fault: {error:?}");
    }
    assert!(!context.home().join("secrets.json").exists());
}

#[test]
fn an_empty_value_is_refused() {
    let context = TestContext::new();
    for value in ["", "\n", "\r\n\n"] {
        let run = context.feed(["secrets", "set", "DEPLOY", "--json"], value).exits(2);
        run.error("invalid_arguments");
    }
    assert!(!context.home().join("secrets.json").exists());
}

#[test]
fn a_file_that_others_can_read_is_not_used() {
    let context = with_secret();
    for mode in [0o640, 0o604, 0o660] {
        chmod(&context, mode);
        for args in [
            &["secrets", "list"][..],
            &["secrets", "remove", "DEPLOY"],
            &["secrets", "set", "OTHER"],
        ] {
            let run = unseen(context.feed(args, "another-value-4711")).exits(2);
            assert!(run.stderr.contains("chmod 600"), "{}", run.stderr);
        }
        let run = context.run(["call", "--profile", "open", "todo", &task("DEPLOY")]);
        let run = unseen(run);
        assert_ne!(run.code, 0, "{}", run.stdout);
        assert!(run.stdout.contains("chmod 600"), "says what is wrong: {}", run.stdout);
    }
    chmod(&context, 0o600);
    context.run(["secrets", "list"]).succeeds();
}

#[test]
fn a_value_stays_hidden_while_its_file_is_open_to_others() {
    let context = with_secret();
    context.file("leak.txt", VALUE);
    chmod(&context, 0o640);
    unseen(context.run(["call", "read_file", "path=leak.txt"]));
}

#[test]
fn a_damaged_file_is_left_as_it_is() {
    let context = with_secret();
    let file = context.home().join("secrets.json");
    std::fs::write(&file, format!("{{\"version\":1,\"secrets\":{{\"A\":\"{VALUE}"))
        .expect("damage");
    let before = std::fs::read(&file).expect("the file");
    for args in [&["secrets", "list"][..], &["secrets", "set", "B"], &["secrets", "remove", "A"]] {
        let run = unseen(context.feed(args, "another-value-4711")).exits(2);
        assert!(run.stderr.contains("damaged"), "{}", run.stderr);
    }
    assert_eq!(std::fs::read(&file).expect("the file"), before);
}

#[test]
fn the_use_of_a_secret_is_asked_about() {
    let context = with_secret();
    let run = unseen(context.run(["call", "todo", &task("DEPLOY"), "--session", "s"])).exits(3);
    let error = run.error("approval_required");
    let used = json!({ "scope": "secret:use", "resource": "DEPLOY" });
    let effects = error.value["effects"].as_array().expect("a list");
    assert!(effects.contains(&used), "{error:?}");
    let report = context.run(["permissions", "check", "todo", &task("DEPLOY"), "--json"]).exits(3);
    assert!(report.json()["effects"].to_string().contains("secret:use"), "{}", report.stdout);
    let list = context.run(["call", "todo", "--session", "s"]).succeeds().json();
    assert_eq!(list["todos"], json!([]));
}

#[test]
fn a_secret_that_is_allowed_reaches_the_tool_and_nobody_else() {
    let context = with_secret();
    let args = ["call", "--profile", "open", "todo", &task("DEPLOY"), "--session", "s"];
    let answer = unseen(context.run(args)).succeeds().json();
    assert_eq!(answer["todos"][0]["content"], "[secret:DEPLOY]", "resolved, then masked");

    let set = ["call", "--profile", "open", "--session", "s", "env_manager", "action=set"];
    let run = context.run(set.into_iter().chain(["name=TARGET", "value=secret://DEPLOY"]));
    unseen(run).succeeds();
    let get = ["call", "--profile", "open", "--session", "s", "env_manager", "action=get"];
    let run = unseen(context.run(get.into_iter().chain(["name=TARGET"]))).succeeds();
    assert!(!run.stdout.contains("secret://DEPLOY"), "it was resolved: {}", run.stdout);
}

#[test]
fn a_secret_may_stand_within_a_text() {
    let context = with_secret();
    let todos = r#"todos:=[{"id":"a","content":"Bearer secret://DEPLOY!","status":"pending"}]"#;
    let run = unseen(context.run(["call", "--profile", "open", "todo", todos]));
    assert_eq!(run.succeeds().json()["todos"][0]["content"], "Bearer [secret:DEPLOY]!");
}

#[test]
#[cfg(target_os = "linux")]
fn a_secret_is_not_in_the_words_that_a_shell_is_started_with() {
    let context = with_secret();
    context.file("look.sh", "tr '\\0' ' ' </proc/$PPID/cmdline | rev\n");
    let backwards: String = VALUE.chars().rev().collect();
    let run = |command: &str| {
        let call = ["call", "--profile", "open", "--session", "s", "terminal"];
        let run = context.run(call.into_iter().chain([format!("command={command}").as_str()]));
        let run = unseen(run).succeeds();
        assert!(run.stdout.contains("c- "), "a shell and its words: {}", run.stdout);
        assert!(!run.stdout.contains(&backwards), "{}", run.stdout);
    };
    run("X=secret://DEPLOY; bash look.sh; true");
    // It is now a variable of the session's shell.
    run("bash look.sh; true");
}

#[test]
fn a_secret_that_is_not_there_is_named() {
    let context = with_secret();
    let run = context.run(["call", "--profile", "open", "todo", &task("ABSENT"), "--session", "s"]);
    let error = run.exits(4).error("unavailable");
    assert!(error.message.contains("No secret named 'ABSENT'"), "{error:?}");
    assert!(error.message.contains("hermes secrets set ABSENT"), "{error:?}");
    assert!(!context.home().join("session-state").exists(), "nothing ran");
}

#[test]
fn a_placeholder_in_a_path_is_refused_in_words_that_help() {
    let context = with_secret();
    context.file(VALUE, "one\n");
    let run = context.run(["call", "--profile", "open", "read_file", "path=secret://DEPLOY"]);
    let run = unseen(run);
    assert!(!run.stdout.contains("bug in the tool"), "the caller's doing: {}", run.stdout);
}

#[test]
fn a_rule_may_name_the_secrets_that_are_allowed() {
    let context = with_secret();
    context.feed(["secrets", "set", "OTHER"], "another-value-4711").succeeds();
    let some = "profiles:\n  some:\n    allow:\n      - plan:*\n      - {scope: secret:use, names: [DEPLOY]}\n";
    std::fs::write(context.home().join("hermes_permissions.yaml"), some).expect("profiles");
    let call = |name: &str| context.run(["call", "--profile", "some", "todo", &task(name)]);
    unseen(call("DEPLOY")).succeeds();
    call("OTHER").exits(3).error("denied");
}

#[test]
fn a_value_typed_at_a_terminal_is_not_echoed() {
    let context = TestContext::new();
    let Some(command) = crate::approvals::terminal(&context, &["secrets", "set", "DEPLOY"]) else {
        return;
    };
    let mut stream = crate::context::Stream::start(&context, command);
    // Typed after the question, as a user does.
    let question = stream.line();
    assert!(question.contains("is not shown"), "{question}");
    stream.send(&format!("{VALUE}\n"));
    unseen(stream.wait()).succeeds();
    let list = context.run(["secrets", "list", "--json"]).succeeds().json();
    assert_eq!(list["secrets"][0]["chars"], 24, "{list}");
}
