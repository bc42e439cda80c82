//! `hermes call`: arguments, results and exit codes.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::context::TestContext;

/// A context with a text file of three lines.
fn with_notes() -> TestContext {
    let context = TestContext::new();
    context.file("notes.txt", "one\ntwo\nthree\n");
    context
}

#[test]
fn a_json_object_gives_one_line_of_json_and_nothing_else() {
    let context = with_notes();
    let run =
        context.run(["call", "read_file", r#"{"path":"notes.txt","limit":2}"#]).succeeds().silent();
    assert_snapshot!(run.transcript(), @r#"
    exit 0
    --- stdout
    {"content":"1|one\n2|two","path":"[WORK]/notes.txt","total_lines":3,"file_size":14,"truncated":true,"truncated_by":"lines","next_offset":3,"hash":"10e1a16f0805bd71","hint":"Lines 1-2 of 3; continue with offset=3."}
    --- stderr
    "#);
}

#[test]
fn pairs_are_read_by_the_schema() {
    let context = with_notes();
    let run = context
        .run(["call", "read_file", "path=notes.txt", "offset=2", "limit=1"])
        .succeeds()
        .silent();
    assert_eq!(run.json()["content"], "2|two");
}

#[test]
fn options_may_stand_after_the_arguments() {
    let context = with_notes();
    context
        .run(["call", "read_file", "path=notes.txt", "--timeout", "20", "--json"])
        .succeeds()
        .json();
    let run = context.run(["call", "read_file", r#"{"path":"notes.txt"}"#, "--cwd", "nowhere"]);
    assert!(run.exits(2).stderr.contains("--cwd nowhere"));
}

#[test]
fn a_pair_with_a_colon_is_literal_json() {
    let context = TestContext::new();
    let todos = r#"todos:=[{"id":"a","content":"x = y","status":"pending"}]"#;
    let run = context.run(["call", "todo", todos]).succeeds();
    assert_eq!(run.json()["todos"][0]["content"], "x = y");

    let run = context.run(["call", "todo", "merge:=maybe"]).exits(2);
    assert!(run.stderr.contains("merge:= must be followed by JSON"), "{}", run.stderr);
}

#[test]
fn a_pair_with_an_at_sign_reads_a_file() {
    let context = with_notes();
    context.file("name", "notes.txt");
    let run = context.run(["call", "read_file", "path=@name", "limit=1"]).succeeds();
    assert_eq!(run.json()["content"], "1|one");

    let run = context.run(["call", "read_file", "path=@absent", "--json"]).exits(1);
    let error = run.error("not_found");
    assert!(error.message.contains("path=@absent"), "{error:?}");
    assert!(error.hint.contains(r#"path:='"@…"'"#), "{error:?}");

    let run = context.run(["call", "read_file", "path=@.", "--json"]).exits(2);
    assert!(run.error("invalid_arguments").message.contains("directory"));
}

#[test]
fn a_dash_reads_standard_input() {
    let context = with_notes();
    let run = context
        .feed(["call", "read_file", "-"], "{\n \"path\": \"notes.txt\",\n \"limit\": 1\n}\n");
    assert_eq!(run.succeeds().json()["content"], "1|one");

    let run = context.feed(["call", "todo", "-"], "").succeeds();
    assert_eq!(run.json()["todos"], json!([]));
}

#[test]
fn a_key_given_twice_makes_a_list_and_commas_do_too() {
    let context = TestContext::new();
    let both =
        context.run(["call", "system_info", "sections=os", "sections=memory"]).succeeds().json();
    let commas = context.run(["call", "system_info", "sections=os,memory"]).succeeds().json();
    for value in [both, commas] {
        let names: Vec<&String> = value.as_object().expect("an object").keys().collect();
        assert_eq!(names, ["os", "memory"], "{value}");
    }
}

#[test]
fn tools_and_parameters_have_aliases() {
    let context = with_notes();
    let run = context.run(["call", "file_read", "file_path=notes.txt", "limit=1"]).succeeds();
    assert_eq!(run.json()["content"], "1|one");
    assert_eq!(run.stderr, "note: $.path: \"file_path\" → \"path\" (alias)\n");
}

#[test]
fn a_name_is_repaired_and_the_note_says_so() {
    let context = with_notes();
    for written in ["ReadFile", "read-file", "functions.read_file", "read_files", "READ_FILE"] {
        let run = context.run(["call", written, "path=notes.txt", "limit=1"]).succeeds();
        assert_eq!(run.json()["content"], "1|one");
        assert_eq!(run.stderr, format!("note: tool name: '{written}' → 'read_file'\n"));
    }
}

#[test]
fn a_repaired_name_reads_pairs_by_the_same_schema() {
    let context = TestContext::new();
    let exact = context.run(["call", "system_info", "sections=os,memory"]).succeeds().json();
    let repaired = context.run(["call", "SystemInfo", "sections=os,memory"]).succeeds().json();
    let keys =
        |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&exact), keys(&repaired));
}

#[test]
fn coercions_are_told_on_standard_error_unless_quiet() {
    let context = with_notes();
    let arguments = r#"{"path":"notes.txt","limit":"1"}"#;
    let run = context.run(["call", "read_file", arguments]).succeeds();
    assert_eq!(run.stderr, "note: $.limit: \"1\" → 1 (number)\n");
    assert_eq!(run.json()["content"], "1|one");
    context.run(["call", "--quiet", "read_file", arguments]).succeeds().silent();
}

#[test]
fn cut_off_json_is_completed_for_a_tool_that_only_reads() {
    let context = with_notes();
    let run = context.run(["call", "read_file", r#"{"path":"notes.txt"#]).succeeds();
    assert!(run.stderr.contains("note: JSON: "), "{}", run.stderr);
    assert_eq!(run.json()["total_lines"], 3);
}

#[test]
fn cut_off_json_never_runs_a_tool_that_changes_something() {
    let context = TestContext::new();
    let run = context
        .run(["call", "todo", "--session", "s", r#"{"todos":[{"id":"1","content":"half"#])
        .exits(1);
    assert!(run.error("invalid_arguments").message.contains("truncated"));
    let list = context.run(["call", "todo", "--session", "s"]).succeeds().json();
    assert_eq!(list["todos"], json!([]));
}

#[test]
fn a_lone_word_is_told_where_it_may_belong() {
    let context = with_notes();
    let run = context.run(["call", "read_file", "notes.txt"]).exits(2);
    assert_snapshot!(run.transcript(), @r#"
    exit 2
    --- stdout
    {"error":"'notes.txt' is neither a key=value pair nor a JSON object","kind":"invalid_arguments","hint":"Pass path=notes.txt, or one quoted JSON object."}
    --- stderr
    error: 'notes.txt' is neither a key=value pair nor a JSON object
    hint: Pass path=notes.txt, or one quoted JSON object.
    "#);
}

#[test]
fn wrong_arguments_name_the_place_and_show_an_example_that_works() {
    let context = with_notes();
    let run = context.run(["call", "read_file", "path=notes.txt", "limit=many"]).exits(1).silent();
    let error = run.error("invalid_arguments");
    assert!(error.message.contains("$.limit: expected integer"), "{error:?}");
    assert_eq!(error.value["errors"][0]["path"], "/limit");
    let example = error.value["example"].to_string();
    context.run(["call", "read_file", &example]).succeeds();
}

#[test]
fn an_unknown_tool_suggests_the_nearest() {
    let context = TestContext::new();
    let run = context.run(["call", "read_everything"]).exits(1);
    run.error("not_found").suggests("read_file");
}

#[test]
fn a_tool_that_fails_ends_with_one() {
    let context = TestContext::new();
    let run = context.run(["call", "read_file", "path=absent.txt"]).exits(1).silent();
    assert!(run.error("not_found").message.contains("absent.txt"));
}

#[test]
fn what_is_forbidden_ends_with_three() {
    let context = TestContext::new();
    context.run(["call", "read_file", "path=/proc/self/environ"]).exits(3).error("denied");
}

#[test]
fn what_cannot_work_here_ends_with_four() {
    let context = TestContext::new();
    let mut command = context.command(["call", "sleep", "until=23:59"]);
    command.env("TZ", "Nowhere/At_All");
    let error = context.finish(command, b"").exits(4).error("unavailable");
    assert!(error.hint.contains("offset"), "{error:?}");
}

#[test]
fn the_session_and_the_folder_are_options() {
    let context = TestContext::new();
    std::fs::create_dir(context.work().join("sub")).expect("a directory");
    context.file("sub/here.txt", "found\n");
    let run = context.run(["call", "-C", "sub", "read_file", "path=here.txt"]).succeeds();
    assert_eq!(run.json()["content"], "1|found");
    let run = context.run(["call", "--cwd", "sub/here.txt", "todo"]).exits(2);
    assert!(run.stderr.contains("not a directory"), "{}", run.stderr);
}

#[test]
fn a_call_that_does_not_end_in_time_is_an_error() {
    let context = TestContext::new();
    // The CPU load requires two samples, a fifth of a second apart.
    let run = context.run(["call", "system_info", "sections=cpu", "--timeout", "0.05"]).exits(1);
    let error = run.error("timeout");
    assert!(error.message.starts_with("system_info did not finish"), "{error:?}");
}

#[test]
fn a_timeout_must_be_a_sensible_number() {
    let context = TestContext::new();
    for (value, why) in [
        ("0", "greater than 0"),
        ("nan", "greater than 0"),
        ("soon", "not a number"),
        ("1e9", "at most"),
    ] {
        let run = context.run(["call", "todo", "--timeout", value]).exits(2);
        assert!(run.stderr.contains(why), "{value}: {}", run.stderr);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn toolsets_that_the_settings_switch_off_are_off() {
    let context = with_notes();
    context.settings("agent:\n  disabled_toolsets: [file]\n");
    let run = context.run(["call", "read_file", "path=notes.txt"]).exits(1);
    assert!(run.error("not_found").message.contains("not among the tools"));
    context.run(["call", "todo"]).succeeds();

    context.settings("agent:\n  disabled_toolsets: [fille]\n");
    let error = context.run(["call", "todo"]).exits(2).error("not_found");
    assert!(error.message.starts_with("agent.disabled_toolsets in config.yaml: "), "{error:?}");
    error.suggests("file");
}

#[test]
fn every_call_is_recorded_without_its_arguments() {
    let context = with_notes();
    context.run(["call", "read_file", "path=notes.txt", "--session", "audited"]).succeeds();
    let log =
        std::fs::read_to_string(context.home().join("logs/audit/audit.jsonl")).expect("a log");
    let record: Value = serde_json::from_str(log.trim_end()).expect("one record");
    assert_eq!(record["tool"], "read_file");
    assert_eq!(record["session"], "audited");
    assert_eq!(record["status"], "success");
    assert!(record.get("arguments").is_none());
}

#[test]
fn a_failed_command_exits_1_and_an_answer_0() {
    let context = TestContext::new();
    let run = context.run(["call", "terminal", "command=false"]).exits(1);
    assert_eq!(run.json()["exit_code"], 1);
    context.run(["call", "terminal", "command=exit 7"]).exits(1);
    context.run(["call", "terminal", "command=true"]).succeeds();
    context.file("a.txt", "a\n");
    // `grep` found nothing, which is an answer.
    let run = context.run(["call", "terminal", "command=grep x a.txt"]).succeeds();
    assert_eq!(run.json()["exit_code"], 1);
}
