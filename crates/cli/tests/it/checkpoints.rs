//! `hermes undo`, `redo` and `checkpoints`, after real calls of real tools.

use std::fs;

use crate::context::TestContext;

/// A context in which `write_file` has changed one file and made another.
fn changed() -> TestContext {
    let context = TestContext::new();
    context.file("a.txt", "one\n");
    write(&context, "a.txt", "two\n");
    write(&context, "new/b.txt", "made\n");
    context
}

fn write(context: &TestContext, name: &str, text: &str) {
    // A file is read before it is overwritten, in the same session.
    if context.work().join(name).exists() {
        let read = format!("path={name}");
        context.run(["call", "--session", "s", "read_file", &read]).succeeds();
    }
    let arguments = serde_json::json!({ "path": name, "content": text }).to_string();
    context.run(["call", "--session", "s", "write_file", &arguments]).succeeds();
}

fn read(context: &TestContext, name: &str) -> Option<String> {
    fs::read_to_string(context.work().join(name)).ok()
}

#[test]
fn every_call_is_a_turn_that_can_be_undone_and_redone() {
    let context = changed();
    let undone = context.run(["undo", "--json"]).succeeds().json();
    assert_eq!(undone["action"], "undo");
    assert_eq!(undone["preview"], false);
    assert_eq!(read(&context, "new/b.txt"), None);
    assert!(!context.work().join("new").exists(), "the folder was made by the call");
    context.run(["undo"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("one\n"));
    let nothing = context.run(["undo", "--json"]).exits(1).json();
    assert_eq!(nothing["kind"], "not_found");
    context.run(["redo"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("two\n"));
    context.run(["redo"]).succeeds();
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("made\n"));
    context.run(["undo", "2"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(read(&context, "new/b.txt"), None);
}

#[test]
fn a_preview_changes_nothing_and_names_what_is_in_the_way() {
    let context = changed();
    context.file("new/b.txt", "mine\n");
    let seen = context.run(["undo", "--preview", "--json"]).succeeds().json();
    assert_eq!(seen["preview"], true);
    let steps = seen["steps"].as_array().expect("steps");
    let step = steps.iter().find(|s| s["path"].as_str().is_some_and(|p| p.ends_with("b.txt")));
    let step = step.expect("the file");
    assert_eq!(
        (step["do"].as_str(), step["can_be_forced"].as_bool()),
        (Some("remove"), Some(true))
    );
    assert_eq!(step["obstacle"], "it was changed since");
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("mine\n"));
    let refused = context.run(["undo", "--json"]).exits(1).json();
    assert_eq!(refused["kind"], "conflict");
    assert!(refused["error"].as_str().expect("text").contains("b.txt"), "{refused}");
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("mine\n"));
    context.run(["undo", "--force"]).succeeds();
    assert_eq!(read(&context, "new/b.txt"), None);
    context.run(["redo"]).succeeds();
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("mine\n"), "it was kept");
}

#[test]
fn a_batch_is_one_turn() {
    let context = TestContext::new();
    let calls = serde_json::json!({ "tool_calls": [
        { "id": "1", "type": "function", "function":
            { "name": "write_file", "arguments": r#"{"path":"x","content":"1\n"}"# } },
        { "id": "2", "type": "function", "function":
            { "name": "write_file", "arguments": r#"{"path":"y","content":"2\n"}"# } },
    ]});
    context.feed(["exec"], calls.to_string()).succeeds();
    assert!(read(&context, "x").is_some() && read(&context, "y").is_some());
    context.run(["undo"]).succeeds();
    assert!(read(&context, "x").is_none() && read(&context, "y").is_none());
}

#[test]
fn checkpoints_are_listed_shown_compared_and_restored() {
    let context = changed();
    let listed = context.run(["checkpoints", "list", "--json"]).succeeds().json();
    let list = listed["checkpoints"].as_array().expect("a list");
    assert_eq!(list.len(), 2);
    assert_eq!(list[0]["by"][0], "write_file");
    let first = list[1]["id"].as_str().expect("an id");

    let shown = context.run(["checkpoints", "show", first, "--json"]).succeeds().json();
    assert_eq!(shown["changes"][0]["change"], "changed");
    assert_eq!(shown["changes"][0]["before"]["len"], 4);

    let diff = context.run(["checkpoints", "diff", first, "a.txt"]).succeeds().stdout;
    assert!(diff.contains("-one") && diff.contains("+two"), "{diff}");
    assert!(!diff.contains("b.txt"), "{diff}");
    let diff = context.run(["checkpoints", "diff", first]).succeeds().stdout;
    assert!(diff.contains("+made"), "{diff}");

    context.run(["checkpoints", "restore", first, "a.txt"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("made\n"));
    context.run(["undo"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("two\n"));

    let unknown = context.run(["checkpoints", "show", "ffff", "--json"]).exits(1).json();
    assert_eq!(unknown["kind"], "not_found");
}

#[test]
fn looking_makes_no_files_and_status_tells_the_bounds() {
    let context = TestContext::new();
    for command in ["list", "status", "prune"] {
        context.run(["checkpoints", command]).succeeds();
    }
    assert!(!context.home().join("checkpoints").exists());
    context.settings("checkpoints:\n  max_snapshots: 1\n  max_file_size_mb: 0\n");
    let status = context.run(["checkpoints", "status", "--json"]).succeeds().json();
    assert_eq!(status["max_snapshots"], 1);
    assert_eq!(status["retention_days"], 7);
    write(&context, "x", "1\n");
    write(&context, "y", "2\n");
    let status = context.run(["checkpoints", "status", "--json"]).succeeds().json();
    assert_eq!(status["checkpoints"], 1);
    let pruned = context.run(["checkpoints", "prune", "--json"]).succeeds().json();
    assert_eq!(pruned["checkpoints"], 0);
}

#[test]
fn nothing_is_kept_where_it_is_switched_off() {
    let context = TestContext::new();
    context.settings("checkpoints:\n  enabled: false\n");
    write(&context, "x", "1\n");
    assert!(!context.home().join("checkpoints").exists());
    context.run(["undo"]).exits(1);
}

#[test]
fn undo_works_from_a_folder_below() {
    let context = changed();
    let output = context
        .command(["undo", "-C", "new", "--preview", "--json"])
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    context.run(["undo", "0"]).exits(2);
}

#[test]
fn a_store_that_cannot_be_written_is_told_and_the_call_is_made() {
    let context = TestContext::new();
    fs::write(context.home().join("checkpoints"), "in the way").expect("a file");
    let run = context.run(["call", "write_file", r#"{"path":"x","content":"1\n"}"#]).succeeds();
    assert!(run.stderr.contains("cannot be undone"), "{}", run.stderr);
    assert!(read(&context, "x").is_some());
}
