//! Output at a real terminal.

use crate::context::{Run, TestContext, quoted};

/// Runs the command on a terminal of 100 columns; `None` if no program can
/// create one.
fn at_terminal(context: &TestContext, args: &[&str], variables: &[(&str, &str)]) -> Option<Run> {
    let line = format!("stty cols 100 rows 40; exec \"$HERMES\" {}", quoted(args));
    let mut command = context.script(&line)?;
    command.envs(variables.iter().copied());
    let mut run = context.finish(command, b"");
    run.stdout = run.stdout.replace("\r\n", "\n");
    Some(run)
}

fn notes() -> TestContext {
    let context = TestContext::new();
    context.file("notes.txt", "one\ntwo\n");
    context
}

#[test]
fn a_result_is_laid_out() {
    let context = notes();
    let Some(run) = at_terminal(&context, &["call", "read_file", "path=notes.txt"], &[]) else {
        return;
    };
    let expected = format!(
        "\u{1b}[2mpath:\u{1b}[0m {}\n\u{1b}[2mtotal_lines:\u{1b}[0m 2\n\u{1b}[2mfile_size:\u{1b}[0m 8\n\u{1b}[2mtruncated:\u{1b}[0m false\n\u{1b}[2mhash:\u{1b}[0m 04d2649eb72531af\n\n1|one\n2|two\n",
        context.work().join("notes.txt").display()
    );
    assert_eq!(run.succeeds().stdout, expected);
}

#[test]
fn an_error_is_in_words_with_an_example_to_copy() {
    let context = notes();
    let Some(run) =
        at_terminal(&context, &["call", "read_file", "path=it's", "limit=x"], &[("NO_COLOR", "1")])
    else {
        return;
    };
    let run = run.exits(1);
    assert!(
        run.stdout.starts_with("error: Invalid arguments for read_file: $.limit: "),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("\nhint: "), "{}", run.stdout);
    assert!(
        run.stdout.contains(r#"example: hermes call read_file '{"path":"it'\''s","limit":"#),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("\"kind\""), "{}", run.stdout);
}

#[test]
fn a_command_that_failed_shows_its_code_and_what_it_means() {
    let context = TestContext::new();
    let shown = |command: &str| {
        let command = format!("command={command}");
        let run = at_terminal(&context, &["call", "terminal", &command], &[("NO_COLOR", "1")])?;
        assert!(!run.stdout.contains("null"), "{}", run.stdout);
        Some(run.stdout)
    };
    let Some(plain) = shown("echo out; exit 3") else { return };
    assert!(plain.contains("exit_code: 3 (failed)\n"), "{plain}");
    assert!(plain.ends_with("\nout\n"), "{plain}");
    let known = shown("exit 127").unwrap();
    assert!(known.contains("exit_code: 127 (there is no such command)\n"), "{known}");
    assert!(!known.contains("exit_code_meaning"), "{known}");
    let fine = shown("true").unwrap();
    assert!(fine.contains("exit_code: 0\n"), "{fine}");
}

#[test]
fn json_stays_json_on_a_terminal() {
    let context = notes();
    let Some(run) = at_terminal(&context, &["call", "read_file", "path=notes.txt", "--json"], &[])
    else {
        return;
    };
    assert_eq!(run.succeeds().json()["total_lines"], 2);
}

#[test]
fn lists_are_coloured_and_fit_the_width() {
    let context = TestContext::new();
    let Some(run) = at_terminal(&context, &["tools", "list"], &[]) else { return };
    let run = run.succeeds();
    assert!(run.stdout.contains("\u{1b}[32m✓\u{1b}[0m"), "{}", run.stdout);
    for line in without_colour(&run.stdout).lines() {
        assert!(line.chars().count() <= 100, "too wide: {line}");
    }
    assert!(without_colour(&run.stdout).contains("…\n"), "long descriptions are cut");
    let plain = without_colour(&run.stdout);
    let last = plain.trim_end().lines().last().unwrap_or_default();
    assert!(last.contains(" tools"), "a count at the end: {plain}");
}

#[test]
fn colour_can_be_switched_off() {
    let context = TestContext::new();
    for variables in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
        for args in [&["tools", "list"][..], &["tools", "show", "nope"], &["doctor"]] {
            let Some(run) = at_terminal(&context, args, &variables) else { return };
            assert!(!run.stdout.contains('\u{1b}'), "{variables:?} {args:?}: {:?}", run.stdout);
        }
    }
    let Some(run) = at_terminal(&context, &["tools", "show", "nope"], &[("NO_COLOR", "")]) else {
        return;
    };
    assert!(
        run.stdout.contains("\u{1b}[31merror:\u{1b}[0m"),
        "an empty variable is none: {:?}",
        run.stdout
    );
}

#[test]
fn what_is_shown_does_not_steer_the_terminal() {
    let context = TestContext::new();
    context.file("evil.txt", "\u{1b}]0;title\u{7}\u{1b}[2Jgone\u{9b}31m\ttab\n");
    let Some(run) =
        at_terminal(&context, &["call", "read_file", "path=evil.txt"], &[("NO_COLOR", "1")])
    else {
        return;
    };
    let run = run.succeeds();
    assert!(!run.stdout.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{:?}", run.stdout);
    assert!(run.stdout.contains("␛[2Jgone"), "{:?}", run.stdout);
    assert!(run.stdout.contains("\ttab"), "{:?}", run.stdout);
    let Some(run) = at_terminal(&context, &["call", "\u{1b}[2Jnope"], &[("NO_COLOR", "1")]) else {
        return;
    };
    assert!(!run.stdout.contains('\u{1b}'), "{:?}", run.stdout);
}

#[test]
fn progress_is_wiped_away() {
    let context = TestContext::new();
    let Some(run) = at_terminal(&context, &["call", "sleep", "seconds=1.3"], &[]) else { return };
    let run = run.succeeds();
    let (before, after) = run.stdout.rsplit_once("\r\u{1b}[2K").expect("progress was shown");
    assert!(before.contains("sleep "), "{before:?}");
    assert!(without_colour(after).starts_with("slept_seconds: "), "{after:?}");
}

#[test]
fn somebody_who_is_waited_for_is_told() {
    let context = TestContext::new();
    // The end of this input acts like Ctrl-D.
    let Some(run) = at_terminal(&context, &["exec"], &[("NO_COLOR", "1")]) else { return };
    let run = run.exits(2);
    assert!(run.stdout.contains("Reading tool calls from the keyboard"), "{}", run.stdout);
    assert!(run.stdout.contains("The request is empty"), "{}", run.stdout);
}

#[test]
fn broken_settings_are_readable() {
    let context = TestContext::new();
    context.settings("toolsets: [file\nmodel: {}\n");
    let Some(run) = at_terminal(&context, &["call", "todo"], &[("NO_COLOR", "1")]) else { return };
    let run = run.exits(2);
    assert!(run.stdout.starts_with("error: "), "{}", run.stdout);
    assert!(run.stdout.contains("\n 2 | model: {}\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("{\"error\""), "{}", run.stdout);
}

/// Strips the colours from a text.
fn without_colour(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |done, part| done + part.split_once('m').map_or(part, |(_, rest)| rest))
}
