//! Malformed input: a clear error and an exit code, never a panic.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use crate::context::{TestContext, modes_do_not_bind};

#[test]
fn malformed_json_is_an_error_with_its_place() {
    let context = TestContext::new();
    for text in ["{\"path\" 1 2 3}", "{]", "[1,2", "{\"a\":\u{1}}", "\"just text\"", "[]"] {
        let run = context.feed(["call", "read_file", "-"], text).exits(1);
        let error = run.error("invalid_arguments");
        assert!(error.message.contains("read_file"), "{text}: {error:?}");
        assert!(!error.hint.is_empty(), "{text}");
    }
}

#[test]
fn arguments_of_the_wrong_type_are_errors() {
    let context = TestContext::new();
    for arguments in [
        r#"{"path":{"deep":true}}"#,
        r#"{"path":null}"#,
        r#"{"path":"a","limit":[]}"#,
        r#"{"path":"a","limit":1e400}"#,
        r#"{"path":"a","limit":-1}"#,
        r#"{"path":"a","nonsense":1}"#,
        r#"{"path":""}"#,
        "{}",
        "[]",
        "7",
        "null",
        "true",
    ] {
        let run = context.feed(["call", "read_file", "-"], arguments).exits(1);
        run.error("invalid_arguments");
    }
}

#[test]
fn standard_input_that_is_not_utf8_is_an_error_with_its_place() {
    let context = TestContext::new();
    let bytes = b"{\"path\":\"caf\xe9\"}";
    let error = context.feed(["call", "read_file", "-"], bytes).exits(2).error("invalid_arguments");
    assert!(error.message.contains("not UTF-8: invalid byte at offset 12"), "{error:?}");
    let error =
        context.feed(["tools", "coerce", "--json", "--schema", "/dev/null", "-"], bytes).exits(2);
    assert!(error.error("invalid_arguments").message.contains("/dev/null"));

    let mut lines = b"{\"tool_calls\":[{\"id\":\"1\",\"name\":\"todo\"}]}\n".to_vec();
    lines.extend(b"\xff\xfe{}\n");
    lines.extend(b"{\"tool_calls\":[{\"id\":\"2\",\"name\":\"todo\"}]}\n");
    let answers = context.feed(["exec"], lines).exits(2).json_lines();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[1]["line"], 2, "{}", answers[1]);
    assert_eq!(answers[2]["tool_results"][0]["tool_call_id"], "2");
}

#[test]
fn words_that_are_not_utf8_are_usage_errors() {
    let context = TestContext::new();
    let odd = || OsString::from_vec(b"caf\xe9".to_vec());
    for args in [
        vec!["call".into(), "read_file".into(), odd()],
        vec!["call".into(), odd()],
        vec!["tools".into(), "show".into(), odd()],
        vec!["config".into(), "set".into(), "own.x".into(), odd()],
        vec![odd()],
    ] {
        let run = context.run(args).exits(2);
        assert!(!run.stderr.is_empty());
    }
    let run = context.run(["exec".into(), odd()]).exits(1);
    assert!(run.stderr.contains("No such file"), "{}", run.stderr);
}

#[test]
fn empty_standard_input_is_an_error_that_shows_a_request() {
    let context = TestContext::new();
    for input in ["", "\n\n  \n", "\u{feff}"] {
        let error = context.feed(["exec"], input).exits(2).error("invalid_arguments");
        assert!(error.hint.contains("tool_calls"), "{error:?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let context = TestContext::new();
    let run = context.run(["exec", "absent.json"]).exits(1);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.starts_with("error: Cannot read absent.json: "), "{}", run.stderr);
    assert!(
        context
            .run(["exec", "absent.json", "--json"])
            .exits(1)
            .error("not_found")
            .hint
            .contains("'-'")
    );
    assert!(context.run(["exec", "."]).exits(2).stderr.contains(". is a directory"));
    if !modes_do_not_bind(&context) {
        let run = context.run(["exec", "forbidden"]).exits(2);
        assert!(run.stderr.contains("Permission denied"), "{}", run.stderr);
    }
}

#[test]
fn a_document_that_is_cut_off_is_no_request() {
    let context = TestContext::new();
    for text in [
        r#"{"tool_calls":[{"id":"1","name":"todo""#,
        "{\n \"tool_calls\": [\n",
        r#"{"tool_calls":[{"id":"1","name":"to"#,
    ] {
        let run = context.feed(["exec", "--session", "s"], text).exits(2);
        run.error("invalid_arguments");
    }
    assert!(!context.home().join("session-state").exists(), "nothing has run");
}

#[test]
fn settings_that_are_no_text_are_errors_with_their_place() {
    let context = TestContext::new();
    for (bytes, why) in [
        (&b"model:\n  context_length: \xff\n"[..], "config.yaml:2"),
        (b"- a\n- list\n", "config.yaml:1"),
        (b"\"unclosed\n", "config.yaml:"),
        (b"a: &x [*x, *y]\n", "config.yaml:1"),
        (b"toolsets: [a]\ntoolsets: [b]\n", "config.yaml:2"),
        (b"model: {context_length: 0}\n", "config.yaml:1"),
    ] {
        context.settings(bytes);
        let error = context.run(["tools", "list", "--json"]).exits(2).error("invalid_arguments");
        assert!(error.message.contains(why), "{error:?}");
    }
}

#[test]
fn odd_names_and_values_do_not_steer_anything() {
    let context = TestContext::new();
    for name in [
        "",
        " ",
        "\u{1b}[31mred",
        "a\nb",
        "🦀🦀🦀",
        "../../etc/passwd",
        "--",
        "'; drop table tools; --",
    ] {
        let run = context.run(["call", "--json", "--", name]);
        assert_eq!(run.code, 1, "{name:?}: {}{}", run.stdout, run.stderr);
        run.error("not_found");
        context.run(["tools", "show", "--json", "--", name]).exits(1).error("not_found");
    }
    context.run(["call", "todo", "=value", "--json"]).exits(2).error("invalid_arguments");
    context.run(["call", "todo", "a=1", "b", "--json"]).exits(2).error("invalid_arguments");
}

#[test]
fn standard_output_that_is_full_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(full) = full else {
        println!("skipped: there is no /dev/full");
        return;
    };
    let context = TestContext::new();
    for args in [&["tools", "list"][..], &["tools", "list", "--json"], &["call", "todo"]] {
        let mut command = context.command(args);
        let child = command
            .stdin(std::process::Stdio::null())
            .stdout(full.try_clone().expect("a handle"))
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the command starts");
        let run = context.seen(child.wait_with_output().expect("an end")).exits(1);
        assert!(
            run.stderr.contains("The output cannot be written: No space left"),
            "{args:?}: {}",
            run.stderr
        );
    }
}
