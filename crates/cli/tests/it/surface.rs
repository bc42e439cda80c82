//! Behaviour common to all commands: help, completions, usage errors, colour,
//! closed pipes.

use std::process::Command;

use insta::assert_snapshot;

use crate::context::{Run, TestContext};

/// The commands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    listed
        .lines()
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Every command and subcommand.
fn tree(context: &TestContext) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        let help = context.run(path.iter().map(String::as_str).chain(["--help"])).succeeds();
        found.extend(
            subcommands(&help.stdout).into_iter().map(|name| [path.clone(), vec![name]].concat()),
        );
        next += 1;
    }
    found
}

#[test]
fn everything_has_help() {
    let context = TestContext::new();
    let tree = tree(&context);
    assert!(tree.len() > 25, "{tree:?}");
    for path in &tree {
        let run =
            context.run(path.iter().map(String::as_str).chain(["--help"])).succeeds().silent();
        let usage = format!(
            "Usage: {}",
            ["hermes"]
                .into_iter()
                .chain(path.iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join(" ")
        );
        assert!(run.stdout.contains(&usage), "{path:?}: {}", run.stdout);
        let (about, _) = run.stdout.split_once("\n\n").expect("a sentence first");
        assert!(!about.is_empty(), "{path:?}");
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= 100, "{path:?}: too wide: {line}");
        }
        let short = context.run(path.iter().map(String::as_str).chain(["-h"])).succeeds();
        assert!(short.stdout.contains(&usage));
    }
}

#[test]
fn the_commands_of_the_first_page() {
    let context = TestContext::new();
    let help = context.run(["--help"]).succeeds();
    let names = subcommands(&help.stdout);
    for name in ["call", "exec", "tools", "toolsets", "doctor", "config", "completions"] {
        assert!(names.iter().any(|n| n == name), "{name} is missing: {names:?}");
    }
    for name in ["list", "show", "search", "export", "why", "new", "check", "coerce"] {
        let help = context.run(["tools", "--help"]).succeeds().stdout;
        assert!(subcommands(&help).iter().any(|n| n == name), "{name} is missing");
    }
}

#[test]
fn help_for_call() {
    let context = TestContext::new();
    assert_snapshot!(context.run(["call", "--help"]).succeeds().transcript(), @r#"
    exit 0
    --- stdout
    Call a tool

    Usage: hermes call [OPTIONS] <TOOL> [ARGUMENTS]...

    Arguments:
      <TOOL>          Name of the tool
      [ARGUMENTS]...  A JSON object, `-` to read one from standard input, or key=value pairs (key=@FILE
                      reads a file, key:=JSON is literal)

    Options:
          --json                Print machine-readable JSON
          --session <ID>        ID of the session; its calls share working directory, environment and
                                lists [env: HERMES_SESSION=]
      -C, --cwd <DIR>           Working directory
      -q, --quiet               Print only errors on standard error
          --timeout <SECONDS>   Time limit of a request in seconds
          --dry-run             Run every stage except the call itself, and report what would happen
          --auto                Work in the sandbox without asking, as far as the profile allows
                                (default)
          --ask                 Ask before each file change and each command
          --plan                Change nothing and work out a plan
          --yolo                Approve every question automatically; denied calls stay denied
          --profile <NAME>      Permission profile to use
          --permissions <FILE>  File to read permission profiles from, instead of
                                HERMES_HOME/hermes_permissions.yaml
      -h, --help                Print help
    --- stderr
    "#);
}

#[test]
fn the_version_is_one_line() {
    let context = TestContext::new();
    // The version is printed even with `--quiet`.
    for words in [&["--version"][..], &["-V"], &["--quiet", "--version"]] {
        let run = context.run(words).succeeds().silent();
        assert_eq!(run.stdout, format!("hermes {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn completions_for_the_shells() {
    let context = TestContext::new();
    for (shell, mark) in [
        ("bash", "complete -F _hermes"),
        ("zsh", "#compdef hermes"),
        ("fish", "complete -c hermes"),
    ] {
        let run = context.run(["completions", shell]).succeeds().silent();
        assert!(run.stdout.contains(mark), "{shell}");
        for word in ["toolsets", "sample", "--session"] {
            assert!(run.stdout.contains(word.trim_start_matches('-')), "{shell}: {word}");
        }
    }
    let run = context.run(["completions", "tcsh"]).exits(2);
    assert!(run.stderr.contains("possible values"), "{}", run.stderr);
}

#[test]
fn bash_accepts_its_completions() {
    let context = TestContext::new();
    let script = context.run(["completions", "bash"]).succeeds().stdout;
    context.file("completions.sh", script);
    let mut command = Command::new("bash");
    context.settle(&mut command);
    command.args([
        "--norc",
        "-c",
        "source completions.sh && COMP_WORDS=(hermes toolsets sa) COMP_CWORD=2 && _hermes hermes sa toolsets && echo \"${COMPREPLY[@]}\"",
    ]);
    let run = context.finish(command, b"").succeeds();
    assert_eq!(run.stdout, "sample\n");
}

#[test]
fn a_misspelt_command_is_told_the_nearest() {
    let context = TestContext::new();
    assert_snapshot!(context.run(["cal", "todo"]).transcript(), @r#"
    exit 2
    --- stdout
    --- stderr
    error: unrecognized subcommand 'cal'

      tip: some similar subcommands exist: 'chat', 'call'

    Usage: hermes [OPTIONS] [COMMAND]

    For more information, try '--help'.
    "#);
    for (args, near) in [
        (vec!["tools", "lst"], "'list'"),
        (vec!["toolsets", "smaple"], "'sample'"),
        (vec!["config", "expain"], "'explain'"),
        (vec!["call", "todo", "--sesion", "x"], "'--session'"),
        (vec!["tools", "list", "--jsn"], "'--json'"),
    ] {
        let run = context.run(&args).exits(2);
        assert!(run.stderr.contains(near), "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn usage_errors_are_json_for_programs() {
    let context = TestContext::new();
    let error = context.run(["--json", "cal"]).exits(2).error("invalid_arguments");
    assert_eq!(error.message, "unrecognized subcommand 'cal'");
    assert!(error.hint.contains("'call'"), "{error:?}");
    let error = context.run(["call", "--json"]).exits(2).error("invalid_arguments");
    assert_eq!(error.message, "the following required arguments were not provided: <TOOL>");
    for args in
        [&["--json"][..], &["tools", "--json"], &["tools", "export", "--format", "x", "--json"]]
    {
        let error = context.run(args).exits(2).silent().error("invalid_arguments");
        assert!(!error.message.contains('\n') && !error.hint.is_empty(), "{error:?}");
    }
}

#[test]
fn a_command_without_its_verb_shows_its_help() {
    let context = TestContext::new();
    for args in [&["tools"][..], &["toolsets"], &["config"]] {
        let run = context.run(args).exits(2);
        assert_eq!(run.stdout, "");
        assert!(run.stderr.contains("Commands:"), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn errors_of_commands_are_json_for_programs() {
    let context = TestContext::new();
    for args in [
        &["tools", "show", "nope"][..],
        &["toolsets", "show", "nope"],
        &["toolsets", "delete", "nope"],
        &["config", "get", "nope"],
        &["exec", "nope"],
    ] {
        let error =
            context.run(args.iter().chain(&["--json"])).exits(1).silent().error("not_found");
        assert!(!error.hint.is_empty(), "{args:?}");
        let run = context.run(args).exits(1);
        assert_eq!(run.stdout, "", "{args:?}");
        assert!(
            run.stderr.starts_with("error: ") && run.stderr.contains("\nhint: "),
            "{args:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn nothing_is_coloured_off_a_terminal() {
    let context = TestContext::new();
    for args in [
        &["tools", "list"][..],
        &["tools", "show", "todo"],
        &["tools", "why", "todo"],
        &["tools", "search", "file"],
        &["toolsets", "list"],
        &["toolsets", "show", "file"],
        &["toolsets", "sample"],
        &["config", "get"],
        &["config", "explain"],
        &["doctor"],
        &["call", "todo"],
        &["call", "nope"],
        &["tools", "show", "nope"],
        &["--help"],
        &["oops"],
    ] {
        let mut command = context.command(args);
        command.env("TERM", "xterm-256color").env("CLICOLOR_FORCE", "1");
        let run = context.finish(command, b"");
        assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'), "{args:?}");
    }
}

/// Runs a shell line in which `hermes` is the binary.
fn shell(context: &TestContext, line: &str) -> Run {
    let mut command = Command::new("bash");
    context.settle(&mut command);
    let binary = assert_cmd::cargo::cargo_bin!("hermes");
    command
        .env("HERMES", binary)
        .args(["-c", &format!("hermes() {{ \"$HERMES\" \"$@\"; }}; {line}")]);
    context.finish(command, b"")
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let context = TestContext::new();
    for line in [
        "hermes tools list | head -1",
        "hermes tools list --json | head -c 1; echo",
        "hermes --help | head -1",
        "hermes completions bash | head -1",
        "hermes config explain | head -1",
        "hermes toolsets sample balanced --count 50000 --quiet | head -1",
        "hermes toolsets sample balanced --count 50000 --json | head -1",
    ] {
        let run = shell(&context, line).succeeds().silent();
        assert_eq!(run.stdout.lines().count(), 1, "{line}: {}", run.stdout);
    }
}

#[test]
fn a_session_whose_reader_goes_away_ends() {
    let context = TestContext::new();
    let line = "for i in $(seq 300); do echo '{\"tool_calls\":[{\"id\":\"1\",\"name\":\"todo\"}]}'; done | hermes exec | head -1";
    let run = shell(&context, line).succeeds().silent();
    assert_eq!(run.stdout.lines().count(), 1);
}

#[test]
fn closed_standard_streams_do_no_harm() {
    let context = TestContext::new();
    shell(&context, "hermes exec <&-").exits(2);
    shell(&context, "hermes tools list >&-").silent();
    shell(&context, "hermes tools show nope 2>&-").exits(1);
}
