//! A system without user namespaces: reports are correct, and name the setting
//! that helps.

use std::process::Command;

use crate::approvals::talk_by;
use crate::context::{Run, TestContext, quoted};

/// A shell line that runs hermes where no user namespace can be created; `None`
/// if that cannot be arranged here.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn without_namespaces(words: &str) -> Option<String> {
    let off = "echo 0 >/proc/sys/user/max_user_namespaces";
    let is_possible = Command::new("unshare")
        .args(["-Ur", "sh", "-c", off])
        .output()
        .is_ok_and(|output| output.status.success());
    if !is_possible {
        println!("skipped: user namespaces cannot be switched off with `unshare`");
        return None;
    }
    Some(format!("unshare -Ur sh -c '{off}; exec \"$@\"' hermes \"$HERMES\" {words}"))
}

fn run(context: &TestContext, args: &[&str]) -> Option<Run> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {}", without_namespaces(&quoted(args))?)]);
    context.settle(&mut command);
    command.env("HERMES", assert_cmd::cargo::cargo_bin!("hermes"));
    Some(context.finish(command, b""))
}

#[test]
fn a_command_is_refused_with_the_setting_that_runs_it() {
    let context = TestContext::new();
    for mode in ["--auto", "--plan"] {
        let Some(run) = run(&context, &["call", mode, "terminal", "command=echo hi"]) else {
            return;
        };
        let error = run.exits(3).error("denied");
        for part in ["user.max_user_namespaces = 0", "sandbox.missing reduced", "hermes doctor"] {
            assert!(error.message.contains(part), "{part}: {error:?}");
        }
        assert!(!error.message.contains("No space left"), "{error:?}");
    }
}

#[test]
fn doctor_shows_what_is_missing_and_counts_truthfully() {
    let context = TestContext::new();
    let Some(run) = run(&context, &["doctor", "--json"]) else { return };
    let shown = run.exits(1).json();
    let checks = shown["checks"].as_array().expect("a list");
    let find = |name: &str| checks.iter().find(|it| it["check"] == name).expect("a check");
    let sandbox = find("sandbox");
    assert_eq!(sandbox["state"], "bad");
    let fix = sandbox["fix"].as_str().expect("a fix");
    for part in ["sysctl", "user.max_user_namespaces", "sandbox.missing reduced"] {
        assert!(fix.contains(part), "{part}: {fix}");
    }
    for tool in ["terminal", "execute_code", "code_test", "process"] {
        assert_eq!(find(tool)["state"], "missing", "{tool}");
    }
    let whole = context.run(["doctor", "--json"]).json();
    let count = |shown: &serde_json::Value| {
        let checks = shown["checks"].as_array().expect("a list").clone();
        let tools = checks.into_iter().find(|it| it["check"] == "tools").expect("tools");
        let detail = tools["detail"].as_str().expect("a count").to_owned();
        detail.split(' ').next().and_then(|it| it.parse::<usize>().ok()).expect("a number")
    };
    assert!(count(&shown) + 6 <= count(&whole), "{shown}");
}

#[test]
fn verify_says_that_nothing_could_be_tried() {
    let context = TestContext::new();
    let Some(tried) = run(&context, &["permissions", "verify"]) else { return };
    let tried = tried.exits(4);
    assert!(tried.stdout.contains("No probe could run"), "{}", tried.stdout);
    assert!(!tried.stdout.contains("holds"), "{}", tried.stdout);
    let shown = run(&context, &["permissions", "verify", "--json"]).expect("a run").exits(4).json();
    assert_eq!((&shown["holds"], &shown["tried"]), (&false.into(), &0.into()), "{shown}");
}

#[test]
fn one_setting_runs_commands_with_what_there_is() {
    let context = TestContext::new();
    context.run(["config", "set", "sandbox.missing", "reduced"]).succeeds();
    let Some(run) = run(&context, &["call", "terminal", "command=echo hi"]) else { return };
    let shown = run.succeeds().json();
    assert_eq!(shown["output"], "hi\n", "{shown}");
}

#[test]
fn at_a_terminal_it_is_asked_once_and_kept() {
    let context = TestContext::new();
    let words = quoted(&["call", "terminal", "command=echo hi"]);
    let Some(line) = without_namespaces(&words) else { return };
    let at_terminal = |typed: &str| {
        let line = format!("stty cols 200 rows 40; exec {line} >answer");
        let mut command = context.script(&line)?;
        command.env("NO_COLOR", "1");
        Some(talk_by(&context, command, typed))
    };
    let Some(refused) = at_terminal("n\n") else { return };
    assert!(refused.run.stdout.contains("reduced sandbox?"), "{}", refused.run.stdout);
    assert!(refused.run.stdout.contains("user.max_user_namespaces = 0"), "{}", refused.run.stdout);
    assert_eq!(refused.json()["kind"], "denied", "{}", refused.answer);
    let once = at_terminal("y\n").expect("a terminal");
    assert_eq!(once.json()["output"], "hi\n", "{}", once.answer);
    assert!(!context.home().join("config.yaml").exists());
    context.settings("# mine\nagent:\n  max_turns: 7\n");
    let always = at_terminal("always\n").expect("a terminal");
    assert_eq!(always.json()["output"], "hi\n", "{}", always.answer);
    let kept = context.settings_text();
    assert!(kept.starts_with("# mine\nagent:\n  max_turns: 7\n"), "{kept}");
    assert!(kept.contains("sandbox:\n  missing: reduced\n"), "{kept}");
    let later = at_terminal("").expect("a terminal");
    assert_eq!(later.json()["output"], "hi\n", "{}", later.answer);
    assert!(!later.run.stdout.contains("reduced sandbox?"), "{}", later.run.stdout);
}

#[test]
fn automatic_approval_answers_that_question_too() {
    let context = TestContext::new();
    let Some(run) = run(&context, &["call", "--yolo", "terminal", "command=echo hi"]) else {
        return;
    };
    assert_eq!(run.succeeds().json()["output"], "hi\n");
}
