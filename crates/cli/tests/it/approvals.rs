//! Calls that require approval: at a terminal, without a terminal, and with
//! approvals turned off.

use std::process::Command;

use serde_json::{Value, json};

use crate::context::{Run, Stream, TestContext, quoted};

const CHANGE: &str = r#"todos:=[{"id":"a","content":"x","status":"pending"}]"#;
const OTHER: &str = r#"todos:=[{"id":"b","content":"y","status":"pending"}]"#;

/// Profiles that ask before the task list is changed or a file is read.
const ASKING: &str = "profiles:
  default:
    extends: default
    approval_required: [plan:write, file:read]
  stern:
    extends: default
    approval_required: [plan:write]
";

fn asking() -> TestContext {
    let context = TestContext::new();
    std::fs::write(context.home().join("hermes_permissions.yaml"), ASKING).expect("profiles");
    context.file("notes.txt", "one\n");
    context
}

/// The stored task list of the session.
fn kept(context: &TestContext, session: &str) -> Value {
    context.run(["call", "todo", "--session", session]).succeeds().json()["todos"].clone()
}

/// The token of a call that awaits approval.
fn held_back(run: Run) -> String {
    let error = run.exits(3).error("approval_required");
    let token = error.value["token"].as_str().expect("a token").to_owned();
    assert!(error.hint.contains(&format!("hermes permissions approve {token}")), "{error:?}");
    token
}

/// The command on a terminal, with its standard output in a file; `None` if no
/// program can create a terminal.
pub(crate) fn terminal(context: &TestContext, args: &[&str]) -> Option<Command> {
    let line = format!("stty cols 200 rows 40; exec \"$HERMES\" {} >answer", quoted(args));
    let mut command = context.script(&line)?;
    command.env("NO_COLOR", "1");
    Some(command)
}

/// Terminal output of a command that prints its answer there as well.
pub(crate) fn on_screen(context: &TestContext, words: &str) -> Option<Run> {
    let line = format!("stty cols 250 rows 40; exec \"$HERMES\" {words}");
    let mut command = context.script(&line)?;
    command.env("NO_COLOR", "1");
    let mut run = context.finish(command, b"");
    run.stdout = run.stdout.replace("\r\n", "\n");
    Some(run)
}

/// The terminal output, and the answer of the command.
pub(crate) struct Talk {
    pub(crate) run: Run,
    pub(crate) answer: String,
}

impl Talk {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.answer).unwrap_or_else(|e| panic!("{e}: {}", self.answer))
    }
}

/// Types this text at the terminal.
pub(crate) fn talk(context: &TestContext, args: &[&str], typed: &str) -> Option<Talk> {
    Some(talk_by(context, terminal(context, args)?, typed))
}

/// The same for a command that writes its answer to the file itself.
pub(crate) fn talk_by(context: &TestContext, command: Command, typed: &str) -> Talk {
    let mut run = context.finish(command, typed.as_bytes());
    run.stdout = run.stdout.replace("\r\n", "\n");
    let answer = std::fs::read_to_string(context.work().join("answer")).expect("an answer");
    Talk { run, answer }
}

#[test]
fn with_nobody_to_ask_a_call_is_held_back_and_leaves_a_token() {
    let context = asking();
    let token = held_back(context.run(["call", "todo", CHANGE, "--session", "s"]));
    assert_eq!(kept(&context, "s"), json!([]));
    let run = context.run(["permissions", "approve"]).succeeds().silent();
    assert!(run.stdout.starts_with(&token), "{}", run.stdout);
    assert!(run.stdout.contains("plan:write todo"), "{}", run.stdout);
    let waiting = context.run(["permissions", "approve", "--json"]).succeeds().json();
    assert_eq!(waiting["waiting"][0]["token"], token);
    assert_eq!(waiting["waiting"][0]["tool"], "todo");

    let again = held_back(context.run(["call", "todo", CHANGE, "--session", "s"]));
    assert_eq!(again, token, "the same call is the same question");
}

#[test]
fn an_approved_call_works_exactly_once() {
    let context = asking();
    let args = ["call", "todo", CHANGE, "--session", "s"];
    let token = held_back(context.run(args));
    let run = context.run(["permissions", "approve", &token]).succeeds();
    assert!(run.stdout.starts_with(&token), "{}", run.stdout);
    let waiting = context.run(["permissions", "approve", "--json"]).succeeds().json();
    assert_eq!(waiting["waiting"], json!([]), "an answered question does not wait");
    context.run(args).succeeds();
    assert_eq!(kept(&context, "s")[0]["id"], "a");
    assert_eq!(held_back(context.run(args)), token, "it is used up");
    let entry =
        context.run(["audit", "query", "--json", "--effect", "plan:write", "--status", "success"]);
    assert_eq!(entry.succeeds().json()["approval"], "token");
}

#[test]
fn an_approval_is_for_no_other_call() {
    let context = asking();
    let args = ["call", "todo", CHANGE, "--session", "s"];
    let token = held_back(context.run(args));
    context.run(["permissions", "approve", &token]).succeeds();
    let elsewhere = context.work().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a directory");
    let elsewhere = elsewhere.to_str().expect("UTF-8");
    let merged =
        format!("{},\"merge\":true}}", r#"{"todos":[{"id":"a","content":"x","status":"pending"}]"#);
    for other in [
        vec!["call", "todo", OTHER, "--session", "s"],
        vec!["call", "todo", &merged, "--session", "s"],
        vec!["call", "todo", CHANGE, "--session", "s", "--profile", "stern"],
        vec!["call", "todo", CHANGE, "--session", "s", "--cwd", elsewhere],
        vec!["call", "read_file", "path=notes.txt"],
    ] {
        assert_ne!(held_back(context.run(&other)), token, "{other:?}");
    }
    assert_eq!(kept(&context, "s"), json!([]));
    context.run(args).succeeds();
}

#[test]
fn the_same_call_in_another_spelling_is_the_same() {
    let context = asking();
    let token = held_back(context.run(["call", "todo", CHANGE, "--session", "s"]));
    context.run(["permissions", "approve", &token]).succeeds();
    let request = json!({ "tool_calls": [{ "id": "1", "name": "todo", "arguments":
        { "todos": [{ "status": "pending", "content": "x", "id": "a" }] } }] });
    let answer = context.feed(["exec", "--session", "s"], request.to_string()).succeeds().json();
    assert_eq!(answer["tool_results"][0]["content"]["status"], "success", "{answer}");
}

#[test]
fn of_many_that_use_one_approval_one_succeeds() {
    let context = asking();
    let args = ["call", "read_file", "path=notes.txt"];
    let token = held_back(context.run(args));
    context.run(["permissions", "approve", &token]).succeeds();
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..6).map(|_| scope.spawn(|| context.run(args).code)).collect();
        calls.into_iter().map(|call| call.join().expect("an end")).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 3).count(), 5, "{codes:?}");
}

#[test]
fn a_question_can_be_refused() {
    let context = asking();
    let args = ["call", "todo", CHANGE, "--session", "s"];
    let token = held_back(context.run(args));
    context.run(["permissions", "approve", &token]).succeeds();
    context.run(["permissions", "approve", &token, "--refuse"]).succeeds();
    held_back(context.run(args));
    context.run(["permissions", "approve", &token, "--refuse"]).succeeds();
    let run = context.run(["permissions", "approve", &token, "--refuse", "--json"]).exits(1);
    run.error("not_found");
    let waiting = context.run(["permissions", "approve", "--json"]).succeeds().json();
    assert_eq!(waiting["waiting"], json!([]));
}

#[test]
fn no_other_token_opens_anything() {
    let context = asking();
    context.settings("model: {}\n");
    let token = held_back(context.run(["call", "todo", CHANGE, "--session", "s"]));
    let spoiled = token.replace(|c: char| c.is_ascii_digit(), "f") + "0";
    for wrong in ["", "../config.yaml", "../../home/config", "0000000000000000", &spoiled, "*"] {
        for refuse in [false, true] {
            let mut args = vec!["permissions", "approve", "--json"];
            args.extend(refuse.then_some("--refuse"));
            args.extend(["--", wrong]);
            context.run(&args).exits(1).error("not_found");
        }
    }
    assert_eq!(context.settings_text(), "model: {}\n");
    held_back(context.run(["call", "todo", CHANGE, "--session", "s"]));
}

#[test]
fn every_call_of_a_batch_is_asked_about_by_itself() {
    let context = asking();
    let request = json!({ "tool_calls": [
        { "id": "1", "name": "todo", "arguments": {} },
        { "id": "2", "name": "read_file", "arguments": { "path": "notes.txt" } },
        { "id": "3", "name": "system_info", "arguments": { "sections": ["os"] } },
    ] });
    let answer = context.feed(["exec"], request.to_string()).json();
    let contents: Vec<&Value> = (0..3).map(|i| &answer["tool_results"][i]["content"]).collect();
    assert_eq!(contents[0]["status"], "success", "{answer}");
    assert_eq!(contents[1]["kind"], "approval_required", "{answer}");
    assert!(contents[1]["token"].is_string(), "{answer}");
    assert_eq!(contents[2]["status"], "success", "{answer}");
}

#[test]
fn once_is_for_one_call() {
    let context = asking();
    let args = ["call", "todo", CHANGE, "--session", "s"];
    for typed in ["o\n", "once\n", "Y\n", "what?\no\n"] {
        let Some(talk) = talk(&context, &args, typed) else { return };
        assert_eq!(talk.run.code, 0, "{typed:?}: {}", talk.run.stdout);
        assert_eq!(talk.json()["todos"][0]["id"], "a");
        assert!(talk.run.stdout.contains("[o]nce"), "{}", talk.run.stdout);
        assert!(talk.run.stdout.contains("plan:write todo"), "{}", talk.run.stdout);
        assert!(talk.run.stdout.contains("hermes_permissions.yaml:4"), "{}", talk.run.stdout);
    }
    held_back(context.run(args));
    let entries =
        context.run(["audit", "query", "--json", "--status", "success"]).succeeds().json_lines();
    assert!(entries.iter().all(|entry| entry["approval"] == "once"), "{entries:?}");
}

#[test]
fn for_the_session_is_for_that_session() {
    let context = asking();
    let Some(talk) = talk(&context, &["call", "todo", CHANGE, "--session", "s"], "s\n") else {
        return;
    };
    assert_eq!(talk.run.code, 0, "{}", talk.run.stdout);
    context.run(["call", "todo", OTHER, "--session", "s"]).succeeds();
    held_back(context.run(["call", "todo", OTHER, "--session", "t"]));
    held_back(context.run(["call", "todo", OTHER]));
    held_back(context.run(["call", "read_file", "path=notes.txt", "--session", "s"]));
    let rules = context.run(["permissions", "rules", "--json"]).succeeds().json();
    assert_eq!(rules["rules"], json!([]), "nothing is kept for good");
}

#[test]
fn a_call_can_be_judged_with_what_its_session_was_told() {
    let context = asking();
    let Some(talk) = talk(&context, &["call", "todo", CHANGE, "--session", "s"], "s\n") else {
        return;
    };
    assert_eq!(talk.run.code, 0, "{}", talk.run.stdout);
    let check = ["permissions", "check", "todo", OTHER];
    context.run(check).exits(3);
    context.run(check.into_iter().chain(["--session", "s"])).succeeds();
    let other = ["permissions", "explain", "read_file", "path=notes.txt", "--session", "s"];
    context.run(other).exits(3);
    let run = context.run(check.into_iter().chain(["--session", "t"])).exits(1);
    assert!(run.stderr.contains("No stored session named 't'"), "{}", run.stderr);
    assert!(!context.home().join("session-state/t.json").exists());
}

#[test]
fn always_shows_its_rule_and_holds_until_it_is_forgotten() {
    let context = asking();
    let Some(talk) = talk(&context, &["call", "todo", CHANGE, "--session", "s"], "a\n") else {
        return;
    };
    assert_eq!(talk.run.code, 0, "{}", talk.run.stdout);
    assert!(talk.run.stdout.contains("always  would allow plan:write todo"), "{}", talk.run.stdout);
    context.run(["call", "todo", OTHER, "--session", "t"]).succeeds();
    held_back(context.run(["call", "todo", OTHER, "--session", "t", "--profile", "stern"]));
    held_back(context.run(["call", "read_file", "path=notes.txt"]));

    let run = context.run(["permissions", "rules"]).succeeds().silent();
    assert_eq!(run.stdout, "1  default  allow plan:write todo\n");
    let rules = context.run(["permissions", "rules", "--json"]).succeeds().json();
    let rule = json!({ "profile": "default", "scope": "plan:write", "resource": "todo" });
    assert_eq!(rules["rules"], json!([rule]));
    let shown = context.run(["permissions", "show", "--json"]).succeeds().json();
    assert_eq!(shown["saved_rules"], json!(["plan:write todo"]));

    for number in ["0", "2"] {
        let run = context.run(["permissions", "rules", "--forget", number, "--json"]).exits(1);
        run.error("not_found");
    }
    context.run(["permissions", "rules", "--forget", "1"]).succeeds();
    held_back(context.run(["call", "todo", OTHER, "--session", "t"]));
}

#[test]
fn a_rule_that_was_saved_does_not_outdo_a_denial() {
    let context = asking();
    let Some(talk) = talk(&context, &["call", "todo", CHANGE], "a\n") else { return };
    assert_eq!(talk.run.code, 0, "{}", talk.run.stdout);
    let denying =
        ASKING.replace("approval_required: [plan:write, file:read]", "deny: [plan:write]");
    std::fs::write(context.home().join("hermes_permissions.yaml"), denying).expect("profiles");
    context.run(["call", "todo", CHANGE]).exits(3).error("denied");
}

#[test]
fn saved_rules_that_cannot_be_read_stop_everything() {
    let context = asking();
    std::fs::write(context.home().join("approvals.json"), "{half").expect("damage");
    let run = context.run(["call", "todo", CHANGE, "--session", "s"]).exits(2);
    assert!(run.stderr.contains("approvals.json"), "{}", run.stderr);
    context.run(["permissions", "rules"]).exits(2);
    assert!(!context.home().join("session-state").exists(), "nothing ran");
}

#[test]
fn anything_but_a_yes_is_a_no() {
    let context = asking();
    let args = ["call", "todo", CHANGE, "--session", "s"];
    for typed in ["d\n", "deny\n", "n\n", "\n", "", "x\ny?\nz\n", "a\u{7f}\n"] {
        let Some(talk) = talk(&context, &args, typed) else { return };
        assert_eq!(talk.run.code, 3, "{typed:?}: {}", talk.run.stdout);
        let answer = talk.json();
        assert_eq!(answer["kind"], "denied", "{typed:?}");
        assert!(answer.get("token").is_none(), "a refusal leaves no question: {answer}");
    }
    assert_eq!(kept(&context, "s"), json!([]));
    let query = ["audit", "query", "--json", "--verdict", "ask"];
    let entries = context.run(query).succeeds().json_lines();
    assert!(entries.iter().all(|entry| entry["approval"] == "refused"), "{entries:?}");
}

#[test]
fn a_refusal_can_say_what_to_do_instead() {
    let context = asking();
    let args = ["call", "todo", CHANGE, "--session", "s"];
    let Some(talk) = talk(&context, &args, "d Use Notes.md instead\n") else { return };
    assert_eq!(talk.run.code, 3, "{}", talk.run.stdout);
    let answer = talk.json();
    assert_eq!(answer["kind"], "denied");
    // The spelling is kept: a lowercase name may be another file.
    assert_eq!(answer["error"], "The user refused: Use Notes.md instead");
}

#[test]
fn silence_is_no_consent() {
    let context = asking();
    context.settings("approvals:\n  timeout: 1\n");
    let Some(command) = terminal(&context, &["call", "todo", CHANGE, "--session", "s"]) else {
        return;
    };
    // Standard input stays open without input.
    let run = Stream::start(&context, command).wait();
    assert_eq!(run.code, 3, "{}", run.stdout);
    let answer = std::fs::read_to_string(context.work().join("answer")).expect("an answer");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["kind"], "denied", "{answer}");
    assert!(answer["error"].as_str().expect("a text").contains("within 1 s"), "{answer}");
    assert_eq!(kept(&context, "s"), json!([]));
}

#[test]
fn arguments_from_standard_input_leave_nobody_to_ask() {
    let context = asking();
    let arguments = r#"{"todos":[{"id":"a","content":"x","status":"pending"}]}"#;
    let Some(talk) = talk(&context, &["call", "todo", "-"], &format!("{arguments}\n\u{4}")) else {
        return;
    };
    assert_eq!(talk.run.code, 3, "{}", talk.run.stdout);
    assert_eq!(talk.json()["kind"], "approval_required", "{}", talk.answer);
}

#[test]
fn a_batch_from_a_file_can_be_asked_about() {
    let context = asking();
    let request = json!({ "tool_calls": [
        { "id": "1", "name": "read_file", "arguments": { "path": "notes.txt" } },
        { "id": "2", "name": "todo", "arguments": { "todos": [{ "id": "a", "content": "x", "status": "pending" }] } },
    ] });
    context.file("calls.json", request.to_string());
    let Some(talk) = talk(&context, &["exec", "calls.json"], "o\nd\n") else { return };
    let kinds: Vec<Value> =
        (0..2).map(|i| talk.json()["tool_results"][i]["content"]["status"].clone()).collect();
    let successes = kinds.iter().filter(|kind| *kind == "success").count();
    assert_eq!(successes, 1, "one yes, one no: {}", talk.answer);
}

#[test]
fn a_name_cannot_forge_the_question() {
    let context = asking();
    let path = "path=a\u{1b}[2Jb\n  rule    profile default: harmless\r\u{202e}";
    let Some(talk) = talk(&context, &["call", "read_file", path], "d\n") else { return };
    let screen = &talk.run.stdout;
    assert!(!screen.contains("\u{1b}[2J"), "{screen:?}");
    assert!(!screen.contains('\u{202e}'), "{screen:?}");
    let rules = screen.lines().filter(|line| line.starts_with("  rule ")).count();
    assert_eq!(rules, 1, "a line of the question is not the file's: {screen}");
}

#[test]
fn a_name_cannot_forge_the_list_of_questions() {
    let context = asking();
    let path = "path=a\u{1b}[2Jb\n0123456789abcdef  todo in /\n  why: harmless";
    let token = held_back(context.run(["call", "read_file", path]));
    let Some(run) = on_screen(&context, "permissions approve") else { return };
    let run = run.succeeds();
    assert!(run.stdout.contains(&token), "{}", run.stdout);
    assert!(!run.stdout.contains("\u{1b}[2J"), "{:?}", run.stdout);
    let forged = run.stdout.lines().any(|line| line.starts_with("0123456789abcdef"));
    assert!(!forged, "{}", run.stdout);
}

#[test]
fn an_approved_call_is_judged_again() {
    let context = asking();
    let args = ["call", "read_file", "path=notes.txt"];
    let token = held_back(context.run(args));
    context.run(["permissions", "approve", &token]).succeeds();
    let denying = ASKING.replace("approval_required: [plan:write, file:read]", "deny: [file:read]");
    std::fs::write(context.home().join("hermes_permissions.yaml"), denying).expect("profiles");
    context.run(args).exits(3).error("denied");
}

#[test]
fn an_approved_path_cannot_be_made_to_lead_elsewhere() {
    let context = asking();
    let args = ["call", "read_file", "path=notes.txt"];
    std::fs::write(context.home().join(".env"), "A=not-for-you\n").expect("variables");
    std::fs::write(context.root().join("outside.txt"), "not-for-you\n").expect("a file");
    for target in ["../home/.env", "../outside.txt"] {
        context.file("notes.txt", "one\n");
        let token = held_back(context.run(args));
        context.run(["permissions", "approve", &token]).succeeds();
        std::fs::remove_file(context.work().join("notes.txt")).expect("no file");
        std::os::unix::fs::symlink(target, context.work().join("notes.txt")).expect("a link");
        let run = context.run(args).exits(3);
        assert!(!run.stdout.contains("not-for-you"), "{target}: {}", run.stdout);
        std::fs::remove_file(context.work().join("notes.txt")).expect("no file");
        context.run(["permissions", "approve", &token, "--refuse"]);
    }
}

#[test]
fn a_rule_for_a_folder_does_not_reach_out_of_it() {
    let context = asking();
    for dir in ["docs", "docs2"] {
        std::fs::create_dir(context.work().join(dir)).expect("a directory");
        context.file(&format!("{dir}/a.txt"), "one\n");
    }
    context.file("docs/b.txt", "two\n");
    let args = ["call", "read_file", "path=docs/a.txt"];
    let Some(talk) = talk(&context, &args, "a\n") else { return };
    assert_eq!(talk.run.code, 0, "{}", talk.run.stdout);
    context.run(["call", "read_file", "path=docs/b.txt"]).succeeds();
    std::os::unix::fs::symlink("../notes.txt", context.work().join("docs/link")).expect("a link");
    for path in ["notes.txt", "docs/../notes.txt", "docs/link", "docs2/a.txt"] {
        held_back(context.run(["call", "read_file", &format!("path={path}")]));
    }
}

#[test]
fn questions_and_answers_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let context = asking();
    let token = held_back(context.run(["call", "read_file", "path=notes.txt"]));
    let Some(talk) = talk(&context, &["call", "todo", CHANGE], "a\n") else { return };
    assert_eq!(talk.run.code, 0, "{}", talk.run.stdout);
    let mode = |name: &str| {
        let found = std::fs::metadata(context.home().join(name)).expect(name);
        found.permissions().mode() & 0o077
    };
    for name in [
        "approvals",
        &format!("approvals/{token}.json"),
        "approvals.json",
        "logs/audit/audit.jsonl",
        "logs/audit/audit.key",
    ] {
        assert_eq!(mode(name), 0, "{name}");
    }
}

#[test]
fn questions_can_be_switched_off() {
    let context = asking();
    let args = ["call", "todo", CHANGE, "--session", "s"];
    for value in ["1", "true", "yes", "on"] {
        let mut command = context.command(args);
        command.env("HERMES_YOLO", value);
        context.finish(command, b"").succeeds();
    }
    for value in ["0", "", "false", "no"] {
        let mut command = context.command(args);
        command.env("HERMES_YOLO", value);
        held_back(context.finish(command, b""));
    }
    for written in ["\"off\"", "off"] {
        context.settings(format!("approvals:\n  mode: {written}\n"));
        context.run(args).succeeds();
    }
    let entry = context.run(["audit", "query", "--json", "-n", "1"]).succeeds().json();
    assert_eq!(entry["would"], "ask", "what was not asked is recorded: {entry}");

    context.settings("approvals:\n  mode: \"sometimes\"\n");
    let run = context.run(args).exits(2);
    assert!(run.stderr.contains("manual or smart or off"), "{}", run.stderr);
}

#[test]
fn denials_stay_when_questions_are_off() {
    let context = asking();
    std::fs::write(context.home().join(".env"), "A=b\n").expect("variables");
    for args in [
        vec!["call", "read_file", "path=../home/.env"],
        vec!["call", "--profile", "readonly_research", "todo", CHANGE],
        vec!["permissions", "check", "--command", "rm -rf /"],
        vec!["permissions", "check", "--command", "ls; mkfs.ext4 /dev/sda"],
    ] {
        let mut command = context.command(&args);
        command.env("HERMES_YOLO", "1");
        let run = context.finish(command, b"").exits(3);
        assert!(run.stdout.contains("den"), "{args:?}: {}", run.stdout);
    }
    context.settings("permissions:\n  mode: audit\napprovals:\n  mode: \"off\"\n");
    let check = ["permissions", "check", "--json", "--command", "rm -rf /"];
    assert_eq!(context.run(check).exits(3).json()["hard"], true);
}

#[test]
fn a_session_cannot_switch_questions_off_for_itself() {
    let context = asking();
    let set =
        ["call", "--session", "s", "env_manager", "action=set", "name=HERMES_YOLO", "value=1"];
    context.run(set);
    held_back(context.run(["call", "todo", CHANGE, "--session", "s"]));
}
