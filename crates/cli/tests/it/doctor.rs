//! `hermes doctor`: what works, what does not, and how to fix it.

use insta::assert_snapshot;
use serde_json::Value;

use crate::context::{Run, TestContext, assert_fields};

/// The checks with this state.
fn checks(run: &Run, state: &str) -> Vec<Value> {
    let value = run.json();
    let all = value["checks"].as_array().expect("a list");
    all.iter().filter(|check| check["state"] == state).cloned().collect()
}

#[test]
fn a_fresh_home_is_healthy() {
    let context = TestContext::new();
    let run = context.run(["doctor"]).succeeds().silent();
    // A machine without a desktop has no clipboard; that is not a fault.
    let is_fine = |line: &str| line.starts_with(['✓', '·', ' ']);
    assert!(run.stdout.lines().all(is_fine), "{}", run.stdout);
    let run = context.run(["doctor", "--json"]).succeeds();
    assert_eq!(run.json()["schema_version"], 1);
    for check in checks(&run, "good") {
        assert_fields(&check, &["check", "state", "detail", "fix"]);
    }
    assert!(checks(&run, "bad").is_empty());
    assert_eq!(
        std::fs::read_dir(context.home()).expect("the home").count(),
        0,
        "nothing is left behind"
    );
}

#[test]
fn a_home_that_is_not_there_yet_is_healthy_too() {
    let context = TestContext::new();
    std::fs::remove_dir(context.home()).expect("no home");
    let run = context.run(["doctor"]).succeeds();
    assert!(run.stdout.contains("created on first use"), "{}", run.stdout);
    assert!(!context.home().exists());
}

#[test]
fn broken_settings_are_shown_with_their_place_and_a_fix() {
    let context = TestContext::new();
    context.settings("toolsets: [file\nmodel: {}\n");
    assert_snapshot!(context.run(["doctor"]).transcript(), @r#"
    exit 1
    --- stdout
    ✓  version   [VERSION]
    ✗  settings  [HOME]/config.yaml:2:6: illegal placement of ':' indicator
                  2 | model: {}
                    |      ^
                 fix: put quotes around a value that contains a colon, and check that the line is indented like its neighbours and that brackets above it are closed
    --- stderr
    "#);
    let run = context.run(["doctor", "--json"]).exits(1);
    let bad = checks(&run, "bad");
    assert!(bad[0]["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{bad:?}");
}

#[test]
fn a_probable_slip_is_shown_once() {
    let context = TestContext::new();
    context.settings("toolsts: [file]\n");
    let run = context.run(["doctor"]).exits(1).silent();
    assert_eq!(run.stdout.matches("toolsts").count(), 1, "{}", run.stdout);
    assert!(run.stdout.contains("fix: did you mean `toolsets`?"), "{}", run.stdout);
}

#[test]
fn toolsets_with_members_that_are_gone_are_shown() {
    let context = TestContext::new();
    context.run(["toolsets", "create", "mine", "--tools", "todo"]).succeeds();
    let file = context.home().join("toolsets.json");
    let text = std::fs::read_to_string(&file).expect("the file").replace("\"todo\"", "\"todoo\"");
    std::fs::write(&file, text).expect("a change");
    let run = context.run(["doctor", "--json"]).exits(1);
    let bad = checks(&run, "bad");
    assert_eq!(bad[0]["check"], "toolsets");
    assert!(bad[0]["detail"].as_str().is_some_and(|d| d.contains("`todoo`")), "{bad:?}");
    context.run(["tools", "list"]).succeeds();
}
