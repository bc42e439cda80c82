//! Without a terminal.

use std::io::Write as _;
use std::process::Stdio;

use crate::demo;

/// What it writes to standard output and standard error when it reads this.
fn told(input: &str) -> (String, String) {
    let mut child = demo(&[])
        .env("TERM", "xterm-256color")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn answers_go_to_standard_output_and_the_rest_beside_it() {
    let (answers, rest) = told("hello\n/todo\nin two \\\nlines\n");
    assert!(answers.contains("You said: hello\n"), "{answers}");
    assert!(answers.contains("You said: in two \nlines\n"), "{answers}");
    assert!(!answers.contains("write the code") && rest.contains("[>] write the code"), "{rest}");
    assert!(!answers.contains("> ") && !rest.contains("> \n"));
}

#[test]
fn nothing_but_text_is_written() {
    let (answers, rest) = told("/evil\n");
    for text in [answers, rest] {
        assert!(!text.contains(['\x1b', '\x07', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn nobody_is_asked() {
    let (_, rest) = told("/ask\n");
    assert!(rest.contains("answer: None"), "{rest}");
}

#[test]
fn a_last_line_without_end_counts() {
    let (answers, _) = told("hello");
    assert!(answers.contains("You said: hello"), "{answers}");
}
