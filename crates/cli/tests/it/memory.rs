//! `hermes memory`, and the tools `memory`, `clarify` and `send_message` as they are wired.

use serde_json::json;

use crate::context::{TestContext, quoted};

fn noted() -> TestContext {
    let context = TestContext::new();
    context.run(["call", "memory", "action=add", "content=Builds with make."]).succeeds();
    context
}

#[test]
fn a_note_is_shown_edited_and_rolled_back() {
    let context = noted();
    let file = context.home().join("memories/MEMORY.md");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "Builds with make.");
    let shown = context.run(["memory", "show"]).succeeds().stdout;
    assert!(shown.contains("17/2200 chars") && shown.contains("- Builds with make."), "{shown}");

    context.feed(["memory", "edit"], "Builds with just.\n§\nTests are slow.\n").succeeds();
    // Empty input is treated as a mistake.
    context.feed(["memory", "edit"], "").exits(2);
    let list = context.run(["memory", "show", "memory", "--json"]).succeeds().json();
    assert_eq!(list["memory"]["entries"], json!(["Builds with just.", "Tests are slow."]));
    let history = context.run(["memory", "history", "--json"]).succeeds().json();
    let versions = history["versions"].as_array().expect("versions");
    assert_eq!((versions.len(), &versions[0]["cause"]), (2, &json!("edit")));

    context.run(["memory", "rollback", "1"]).succeeds();
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "Builds with make.");
    context.run(["memory", "rollback", "99"]).exits(1);
    let table = context.run(["memory", "history"]).succeeds().stdout;
    assert!(table.contains("rollback to 1"), "{table}");
    let found = context.run(["memory", "search", "MAKE"]).succeeds().stdout;
    assert_eq!(found, "memory: Builds with make.\n");
    context
        .run(["call", "memory", "action=add", "target=memory", "content=a\n§\nb deep"])
        .succeeds();
    let found = context.run(["memory", "search", "deep"]).succeeds().stdout;
    assert_eq!(found, "memory: a ⏎ § ⏎ b deep\n");
}

#[test]
fn an_editor_changes_a_list() {
    let context = noted();
    let line = "EDITOR='sed -i s/make/ninja/' \"$HERMES\" memory edit";
    let Some(command) = context.script(line) else { return };
    context.finish(command, b"").succeeds();
    let text =
        std::fs::read_to_string(context.home().join("memories/MEMORY.md")).expect("the file");
    assert_eq!(text, "Builds with ninja.");
    let Some(command) = context.script("EDITOR=false \"$HERMES\" memory edit") else { return };
    let _ = context.finish(command, b"");
    assert_eq!(
        std::fs::read_to_string(context.home().join("memories/MEMORY.md")).expect("the file"),
        text
    );
}

#[test]
fn settings_bound_the_lists_and_switch_them_off() {
    let context = noted();
    context.settings("memory:\n  memory_char_limit: 20\n  user_profile_enabled: false\n");
    let full =
        context.run(["call", "memory", "action=add", "content=Runs on Alpine."]).succeeds().json();
    assert_eq!(full["moved_to_archive"], json!(["Builds with make."]));
    context.run(["call", "memory", "target=user", "action=read"]).exits(4);
    context.settings("memory:\n  memory_char_limit: lots\n");
    let wrong = context.run(["memory", "show"]).exits(2);
    assert!(wrong.stderr.contains("memory.memory_char_limit"), "{}", wrong.stderr);
}

#[test]
fn without_a_person_a_question_comes_back() {
    let context = TestContext::new();
    let run = context.run(["call", "clarify", "question=Which?", r#"choices:=["a","b"]"#]).exits(4);
    let answer = run.json();
    assert_eq!((&answer["kind"], &answer["question"]), (&json!("unavailable"), &json!("Which?")));
    assert_eq!(answer["choices_offered"], json!(["a", "b"]));
}

#[test]
fn a_person_answers_a_question() {
    let context = TestContext::new();
    let args = ["call", "--json", "clarify", "question=Which?", r#"choices:=["red","blue"]"#];
    let line = format!("exec \"$HERMES\" {}", quoted(&args));
    let Some(command) = context.script(&line) else { return };
    let run = context.finish(command, b"2\n").succeeds();
    assert!(run.stdout.contains("2) blue"), "{}", run.stdout);
    assert!(run.stdout.contains(r#""user_response":"blue""#), "{}", run.stdout);
}

#[test]
fn message_targets_come_from_the_settings() {
    let context = TestContext::new();
    context.run(["call", "send_message", "action=list"]).exits(4);
    context.settings("messaging:\n  targets:\n    phone: {kind: ntfy, topic: mine}\n");
    let listed = context.run(["call", "send_message", "action=list"]).succeeds().json();
    assert_eq!(listed["targets"], json!([{"name": "phone", "kind": "ntfy", "host": "ntfy.sh"}]));
    // No user can approve it.
    context.run(["call", "send_message", "target=phone", "message=hello"]).exits(3);
    context.settings("messaging:\n  targets:\n    phone: {kind: pigeon}\n");
    let wrong = context.run(["call", "todo"]).exits(2);
    assert!(
        wrong.stdout.contains("'phone'") || wrong.stderr.contains("'phone'"),
        "{}",
        wrong.stderr
    );
}
