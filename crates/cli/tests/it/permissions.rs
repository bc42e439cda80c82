//! `hermes permissions`: profiles, their sources, and their decision about a
//! call that is not made.

use serde_json::{Value, json};

use crate::context::{Run, TestContext, assert_fields};

/// A change of the task list, which is stored in the session's document.
const CHANGE: &str = r#"todos:=[{"id":"a","content":"x","status":"pending"}]"#;

/// Writes the user's profiles.
fn profiles(context: &TestContext, text: &str) {
    std::fs::write(context.home().join("hermes_permissions.yaml"), text).expect("profiles");
}

/// Writes the profiles of the project.
fn project(context: &TestContext, text: &str) {
    let dir = context.work().join(".hermes");
    std::fs::create_dir_all(&dir).expect("a directory");
    std::fs::write(dir.join("hermes_permissions.yaml"), text).expect("profiles");
}

/// The JSON report on a change of the task list.
fn judged(context: &TestContext, options: &[&str]) -> Value {
    let args = [&["permissions", "check", "todo", CHANGE, "--json"][..], options].concat();
    context.run(args).json()
}

fn run_with(context: &TestContext, args: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = context.command(args);
    command.envs(variables.iter().copied());
    context.finish(command, b"")
}

#[test]
fn the_built_in_profiles_are_listed_and_one_is_chosen() {
    let context = TestContext::new();
    let run = context.run(["permissions", "profiles"]).succeeds().silent();
    for name in ["* default", "  full_developer", "  production_deploy", "  readonly_research"] {
        assert!(run.stdout.lines().any(|line| line.starts_with(name)), "{name}: {}", run.stdout);
    }
    let all = context.run(["permissions", "profiles", "--json"]).succeeds().silent().json();
    assert_eq!(all["schema_version"], 1);
    let list = all["profiles"].as_array().expect("a list");
    let chosen: Vec<&Value> = list.iter().filter(|p| p["chosen"] == true).collect();
    assert_eq!(chosen.len(), 1, "{all}");
    assert_eq!(chosen[0]["name"], "default");
    for profile in list {
        assert_fields(profile, &["name", "description", "file", "builtin", "chosen"]);
        assert_eq!((&profile["builtin"], &profile["file"]), (&json!(true), &Value::Null));
    }
}

#[test]
fn a_profile_of_the_users_own_is_listed_with_its_file() {
    let context = TestContext::new();
    profiles(&context, "profiles:\n  mine:\n    description: My own\n    extends: default\n");
    let all = context.run(["permissions", "profiles", "--json"]).succeeds().json();
    let list = all["profiles"].as_array().expect("a list");
    let mine = list.iter().find(|p| p["name"] == "mine").expect("the profile");
    assert_eq!(mine["builtin"], false);
    assert_eq!(mine["description"], "My own");
    let file = mine["file"].as_str().expect("a file");
    assert!(file.ends_with("home/hermes_permissions.yaml"), "{file}");
}

#[test]
fn a_profile_is_shown_in_words_and_as_json() {
    let context = TestContext::new();
    let run = context.run(["permissions", "show", "readonly_research"]).succeeds().silent();
    for part in ["profile readonly_research: ", "allow    network:search", "deny     file:write"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    let run = context.run(["permissions", "show"]).succeeds();
    assert!(run.stdout.starts_with("profile default: "), "{}", run.stdout);

    profiles(&context, "profiles:\n  mine:\n    extends: default\n    deny: [env:write]\n");
    let shown = context.run(["permissions", "show", "mine", "--json"]).succeeds().json();
    assert_fields(&shown, &["schema_version", "name", "description", "levels", "saved_rules"]);
    let denied = &shown["levels"][0]["deny"][0];
    assert_eq!(denied["rule"], "env:write");
    assert_eq!(denied["line"], 4);

    let error = context.run(["permissions", "show", "mien", "--json"]).exits(2);
    error.error("invalid_arguments").suggests("mine");
}

#[test]
fn a_check_of_an_allowed_call_ends_with_nought() {
    let context = TestContext::new();
    context.file("notes.txt", "one\n");
    let args = ["permissions", "check", "read_file", "path=notes.txt"];
    let run = context.run(args).succeeds().silent();
    assert_eq!(run.stdout, "allow  (profile default)\n");

    let report = context.run(args.into_iter().chain(["--json"])).succeeds().silent().json();
    let fields =
        ["schema_version", "verdict", "reason", "rule", "file", "line", "leaf", "hard", "effects"];
    assert_fields(&report, &fields);
    assert_eq!(report["verdict"], "allow");
    assert_eq!(report["tool"], "read_file");
    assert_eq!(report["effects"][0]["scope"], "file:read");
    let resource = report["effects"][0]["resource"].as_str().expect("a path");
    assert!(std::path::Path::new(resource).ends_with("work/notes.txt"), "{resource}");
}

#[test]
fn a_check_names_the_rule_its_file_and_its_line() {
    let context = TestContext::new();
    profiles(
        &context,
        "profiles:\n  mine:\n    extends: default\n    approval_required:\n      - plan:write\n    \
         deny:\n      - env:write\n",
    );
    let ask = judged(&context, &["--profile", "mine"]);
    assert_eq!(ask["verdict"], "ask");
    assert_eq!(ask["line"], 5, "{ask}");
    assert!(ask["file"].as_str().expect("a file").ends_with("hermes_permissions.yaml"));
    assert!(ask["rule"].as_str().expect("a rule").contains("approval_required plan:write"));
    context.run(["permissions", "check", "todo", CHANGE, "--profile", "mine"]).exits(3).silent();

    let args = ["permissions", "check", "--profile", "mine", "env_manager", "action=set"];
    let run = context.run(args.into_iter().chain(["name=A", "value=b", "--json"])).exits(3);
    let deny = run.json();
    assert_eq!(deny["verdict"], "deny");
    assert_eq!(deny["line"], 7, "{deny}");
    assert_eq!(deny["effects"], json!([{ "scope": "env:write", "resource": "A" }]));

    let run = context.run(args.into_iter().chain(["name=A", "value=b"])).exits(3).silent();
    assert!(run.stdout.starts_with("deny  (profile mine)\n"), "{}", run.stdout);
    assert!(run.stdout.contains("hermes_permissions.yaml:7"), "{}", run.stdout);
}

#[test]
fn an_effect_can_be_checked_without_a_tool() {
    let context = TestContext::new();
    let check = |effect: &str| context.run(["permissions", "check", "--effect", effect, "--json"]);
    let report = check("file:write=notes.txt").succeeds().json();
    assert_eq!(report["verdict"], "allow");
    let report = check("file:write=/etc/hosts").exits(3).json();
    assert_eq!(report["verdict"], "deny");
    assert_eq!(report["rule"], "protected path");
    let report = check("network:send=example.org").exits(3).json();
    assert_eq!(report["verdict"], "ask");
    let report = check("network:fetch=127.0.0.1").exits(3).json();
    assert_eq!(report["verdict"], "ask", "{report}");

    let run = context
        .run(["permissions", "check", "--json", "--effect", "file:read=a", "--effect"])
        .exits(2);
    run.error("invalid_arguments");
    let args = ["permissions", "check", "--json", "--effect", "file:read=a"];
    let both = context.run(args.into_iter().chain(["--effect", "file:write=/etc/hosts"]));
    let both = both.exits(3).json();
    assert_eq!(both["effects"].as_array().expect("a list").len(), 2, "{both}");
    let error = check("write").exits(2).error("invalid_arguments");
    assert!(error.hint.contains("--effect file:write="), "{error:?}");
}

#[test]
fn every_part_of_a_command_is_judged_and_the_worst_is_named() {
    let context = TestContext::new();
    let check =
        |command: &str| context.run(["permissions", "check", "--command", command, "--json"]);
    assert_eq!(check("ls | wc -l && git status").succeeds().json()["verdict"], "allow");

    let report = check("ls; git push --force").exits(3).json();
    assert_eq!(report["verdict"], "ask");
    assert_eq!(report["leaf"], "git push --force");
    assert_eq!(report["hard"], false);

    for hidden in [
        "ls; rm -rf /",
        "true || rm -rf /",
        "echo $(rm -rf /)",
        "sh -c 'rm -rf /'",
        "env A=1 sudo rm -r -f /",
        "ls\nrm -rf /",
        "r''m -rf /",
    ] {
        let report = check(hidden).exits(3).json();
        assert_eq!(report["verdict"], "deny", "{hidden}: {report}");
        assert_eq!(report["hard"], true, "{hidden}: {report}");
        assert!(report["leaf"].as_str().is_some_and(|leaf| !leaf.is_empty()), "{report}");
    }
}

#[test]
fn an_explanation_shows_what_was_found_of_every_part() {
    let context = TestContext::new();
    let args = ["permissions", "explain", "--command", "ls; git push --force"];
    let run = context.run(args).exits(3).silent();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let parts: Vec<Vec<String>> = run.stdout.lines().map(words).collect();
    assert!(parts.iter().any(|part| part == &["allow", "ls"]), "{}", run.stdout);
    assert!(run.stdout.contains("[dangerous command: git-history-loss]"), "{}", run.stdout);
    assert!(run.stdout.contains("sandbox: "), "{}", run.stdout);

    let report = context.run(args.into_iter().chain(["--json"])).exits(3).json();
    let findings = report["findings"].as_array().expect("a list");
    for finding in findings {
        let fields = ["verdict", "effect", "leaf", "reason", "rule", "file", "line", "hard"];
        assert_fields(finding, &fields);
    }
    let leaves: Vec<&str> = findings.iter().filter_map(|f| f["leaf"].as_str()).collect();
    assert!(leaves.contains(&"ls") && leaves.contains(&"git push --force"), "{report}");
    assert_fields(&report["confinement"], &["read", "write", "hidden", "network", "limits"]);

    context.file("notes.txt", "one\n");
    let run = context.run(["permissions", "explain", "read_file", "path=notes.txt"]).succeeds();
    assert!(run.stdout.contains("  allow  file:read "), "{}", run.stdout);
}

#[test]
fn a_check_needs_something_to_check() {
    let context = TestContext::new();
    context.run(["permissions", "check"]).exits(2);
    context.run(["permissions", "check", "todo", "--command", "ls"]).exits(2);
    let run = context.run(["permissions", "check", "tood", "--json"]);
    assert_eq!(run.json()["tool"], "todo", "a name is repaired as for a call");
    let run = context.run(["permissions", "check", "no_such_tool", "--json"]).exits(1);
    run.error("not_found");
    let run = context.run(["permissions", "check", "read_file", "--json"]).exits(1);
    run.error("invalid_arguments");
}

#[test]
fn checking_does_nothing() {
    let context = TestContext::new();
    for verb in ["check", "explain"] {
        let mut command = context.command(["permissions", verb, "todo", CHANGE]);
        command.env("HERMES_SESSION", "s");
        context.finish(command, b"").succeeds();
    }
    assert!(!context.home().join("session-state").exists());
    assert!(!context.home().join("approvals").exists());
}

/// Four profiles that differ in their decision about a change of the task list.
const LAYERED: &str = "profiles:
  by_option:
    extends: default
    deny: [{scope: plan:write, reason: by option}]
  by_variable:
    extends: default
    deny: [{scope: plan:write, reason: by variable}]
  by_settings:
    extends: default
    deny: [{scope: plan:write, reason: by settings}]
";

#[test]
fn the_option_beats_the_variable_beats_the_settings() {
    let context = TestContext::new();
    profiles(&context, LAYERED);
    assert_eq!(judged(&context, &[])["profile"], "default");
    context.settings("permissions:\n  profile: by_settings\n");
    assert_eq!(judged(&context, &[])["profile"], "by_settings");

    let variable = [("HERMES_PERMISSION_PROFILE", "by_variable")];
    let args = ["permissions", "check", "todo", CHANGE, "--json"];
    let report = run_with(&context, &args, &variable).exits(3).json();
    assert_eq!(report["profile"], "by_variable");
    let args = [&args[..], &["--profile", "by_option"]].concat();
    let report = run_with(&context, &args, &variable).exits(3).json();
    assert_eq!(report["profile"], "by_option");
    assert!(report["reason"].as_str().expect("a text").contains("by option"), "{report}");

    for (args, shown) in [
        (vec!["call", "todo", CHANGE, "--session", "s"], "by variable"),
        (vec!["call", "todo", CHANGE, "--session", "s", "--profile", "by_option"], "by option"),
    ] {
        let error = run_with(&context, &args, &variable).exits(3).error("denied");
        assert!(error.message.contains(shown), "{error:?}");
    }
    let error = context.run(["call", "todo", CHANGE, "--session", "s"]).exits(3).error("denied");
    assert!(error.message.contains("by settings"), "{error:?}");
    assert!(!context.home().join("session-state").exists(), "nothing ran");
}

#[test]
fn an_empty_variable_is_none() {
    let context = TestContext::new();
    let args = ["permissions", "check", "todo", "--json"];
    let report = run_with(&context, &args, &[("HERMES_PERMISSION_PROFILE", "")]).succeeds().json();
    assert_eq!(report["profile"], "default");
}

#[test]
fn another_file_replaces_the_users() {
    let context = TestContext::new();
    profiles(&context, "profiles:\n  mine:\n    extends: default\n    deny: [plan:write]\n");
    let other = context.file("other.yaml", "profiles:\n  mine:\n    extends: default\n");
    let other = other.to_str().expect("UTF-8");
    assert_eq!(judged(&context, &["--profile", "mine"])["verdict"], "deny");
    let options = ["--profile", "mine", "--permissions", other];
    assert_eq!(judged(&context, &options)["verdict"], "allow");
    context.run([&["call", "todo", CHANGE][..], &options].concat()).succeeds();
    let run = context.run(["call", "todo", "--permissions", "absent.yaml"]).exits(2);
    assert!(run.stderr.contains("absent.yaml: no such file"), "{}", run.stderr);
}

#[test]
fn an_unknown_profile_stops_everything() {
    let context = TestContext::new();
    let request = r#"{"tool_calls":[{"id":"1","name":"todo","arguments":{"todos":[{"id":"a","content":"x","status":"pending"}]}}]}"#;
    for args in [
        vec!["call", "todo", CHANGE, "--session", "s", "--profile", "readonly_reserch"],
        vec!["exec", "--session", "s", "--profile", "readonly_reserch"],
        vec!["permissions", "check", "todo", CHANGE, "--profile", "readonly_reserch"],
    ] {
        let run = context.feed(&args, request).exits(2);
        assert!(
            run.stderr.contains("Did you mean 'readonly_research'?"),
            "{args:?}: {}",
            run.stderr
        );
    }
    context.settings("permissions:\n  profile: nowhere\n");
    context.run(["call", "todo", CHANGE, "--session", "s"]).exits(2);
    assert!(!context.home().join("session-state").exists(), "nothing ran");
}

/// A broken file, the line of the error, and part of the message.
const BROKEN: &[(&str, &str, &str)] = &[
    ("profiles:\n  default:\n    alow: [plan:read]\n", ":3", "Did you mean 'allow'?"),
    (
        "profiles:\n  default:\n    deny:\n      - {scop: plan:read}\n",
        ":4",
        "Did you mean 'scope'?",
    ),
    ("profiles:\n  default:\n    extends: defualt\n", ":3", "defualt"),
    ("profiles:\n  default:\n    deny: {a: b}\n", ":3", "must be a list"),
    ("profiles:\n  default:\n    deny: [plan]\n", ":3", "plan"),
    ("profiles:\n  default:\n   deny: [\n", ":", ""),
    ("profils: {}\n", ":1", "Did you mean 'profiles'?"),
    ("- a\n- b\n", ":", ""),
    (
        "profiles:\n  default:\n    deny:\n      - scope: terminal:execute\n        commands: [rm]\n        \
         examples: {allow: [rm x]}\n",
        ":6",
        "should be allowed, but it is denied",
    ),
    (
        "profiles:\n  default:\n    sandbox: {missing: allow}\n",
        ":3",
        "must not run without a sandbox",
    ),
];

#[test]
fn a_broken_file_stops_everything_and_says_where() {
    let request = r#"{"tool_calls":[{"id":"1","name":"todo","arguments":{"todos":[{"id":"a","content":"x","status":"pending"}]}}]}"#;
    let commands = [
        vec!["call", "todo", CHANGE, "--session", "s"],
        vec!["exec", "--session", "s"],
        vec!["permissions", "check", "todo", CHANGE],
        vec!["permissions", "explain", "--command", "ls"],
        vec!["permissions", "show"],
        vec!["call", "--dry-run", "todo", CHANGE],
    ];
    for (at, (text, line, shown)) in BROKEN.iter().enumerate() {
        for of_project in [false, true] {
            let context = TestContext::new();
            if of_project {
                project(&context, text)
            } else {
                profiles(&context, text)
            }
            // All commands with the first file, one command with each other file.
            let some = if at == 0 { 0..commands.len() } else { at % 6..at % 6 + 1 };
            for args in &commands[some] {
                let run = context.feed(args, request).exits(2);
                let place = format!("hermes_permissions.yaml{line}");
                assert!(run.stderr.contains(&place), "{args:?} {text}: {}", run.stderr);
                assert!(run.stderr.contains(shown), "{args:?} {text}: {}", run.stderr);
                assert!(run.stderr.contains("hint: "), "{args:?} {text}: {}", run.stderr);
            }
            assert!(!context.home().join("session-state").exists(), "nothing ran: {text}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_stops_everything() {
    let context = TestContext::new();
    // No user can read a directory as a file.
    std::fs::create_dir(context.home().join("hermes_permissions.yaml")).expect("a directory");
    let run = context.run(["call", "todo", CHANGE, "--session", "s"]).exits(2);
    assert!(run.stderr.contains("hermes_permissions.yaml"), "{}", run.stderr);
    assert!(!context.home().join("session-state").exists(), "nothing ran");
}

#[test]
fn a_circle_of_profiles_is_an_error() {
    let context = TestContext::new();
    profiles(&context, "profiles:\n  a: {extends: b}\n  b: {extends: a}\n");
    let run = context.run(["call", "todo", "--profile", "a"]).exits(2);
    assert!(run.stderr.contains("cycle"), "{}", run.stderr);
}

#[test]
fn a_project_narrows() {
    let context = TestContext::new();
    project(&context, "profiles:\n  default:\n    deny: [plan:write]\n");
    let report = judged(&context, &[]);
    assert_eq!(report["verdict"], "deny");
    assert_eq!(report["line"], 3);
    let file = report["file"].as_str().expect("a file");
    assert!(file.ends_with("work/.hermes/hermes_permissions.yaml"), "{file}");
    context.run(["call", "todo", CHANGE, "--session", "s"]).exits(3).error("denied");
    assert_eq!(judged(&context, &["--profile", "full_developer"])["verdict"], "allow");

    project(&context, "global:\n  approval_required: [plan:write]\n");
    assert_eq!(judged(&context, &[])["verdict"], "ask");
    assert_eq!(judged(&context, &["--profile", "full_developer"])["verdict"], "ask");
}

#[test]
fn a_project_never_widens() {
    let wide = "profiles:
  NAME:
    allow: [\"*\"]
    deny: []
    approval_required: []
    sandbox: {enabled: false}
global:
  allow: [\"*\"]
  sandbox: {enabled: false}
";
    for (name, args, verdict) in [
        ("readonly_research", vec!["todo", CHANGE], "deny"),
        ("readonly_research", vec!["--command", "ls"], "deny"),
        ("default", vec!["--effect", "network:send=example.org"], "ask"),
        ("default", vec!["--effect", "file:write=/opt/x"], "ask"),
        ("default", vec!["--command", "rm -rf /"], "deny"),
        ("mine", vec!["todo", CHANGE], "deny"),
    ] {
        let context = TestContext::new();
        profiles(&context, "profiles:\n  mine:\n    extends: default\n    deny: [plan:write]\n");
        project(&context, &wide.replace("NAME", name));
        let common = ["permissions", "check", "--json", "--profile", name];
        let run = context.run([&common[..], &args].concat()).exits(3);
        assert_eq!(run.json()["verdict"], verdict, "{name} {args:?}");
        let report = context.run([&common[..], &["--command", "ls"]].concat()).json();
        assert!(report.get("sandbox").is_some(), "the sandbox stays on: {report}");
    }
}

#[test]
fn a_project_brings_no_profiles_of_its_own() {
    let context = TestContext::new();
    project(&context, "profiles:\n  theirs:\n    allow: [\"*\"]\n");
    context.run(["call", "todo", "--profile", "theirs"]).exits(2);
    let all = context.run(["permissions", "profiles"]).succeeds();
    assert!(!all.stdout.contains("theirs"), "{}", all.stdout);

    // Only the user grants what it extends.
    project(&context, "profiles:\n  readonly_research:\n    extends: full_developer\n");
    let run =
        context.run(["call", "todo", CHANGE, "--profile", "readonly_research", "--session", "s"]);
    assert_ne!(run.code, 0, "{}", run.stdout);
    assert!(!context.home().join("session-state").exists(), "nothing ran");
}

#[test]
fn a_rule_for_all_profiles_narrows_each() {
    let context = TestContext::new();
    profiles(&context, "global:\n  deny: [plan:write]\n");
    for name in ["default", "full_developer"] {
        let report = judged(&context, &["--profile", name]);
        assert_eq!(report["verdict"], "deny", "{report}");
        assert_eq!(report["line"], 2, "{report}");
    }
}

#[test]
fn a_tool_can_have_rules_of_its_own() {
    let context = TestContext::new();
    profiles(
        &context,
        "profiles:\n  mine:\n    extends: default\n    tools:\n      todo:\n        \
         approval_required: true\n      sleep:\n        parameters:\n          seconds: {max: 2}\n",
    );
    assert_eq!(judged(&context, &["--profile", "mine"])["verdict"], "ask");
    let check = |seconds: &str| {
        context
            .run(["permissions", "check", "--profile", "mine", "--json", "sleep", seconds])
            .json()
    };
    assert_eq!(check("seconds=1")["verdict"], "allow");
    assert_eq!(check("seconds=3")["verdict"], "deny");
    let error = context.run(["call", "--profile", "mine", "sleep", "seconds=3"]).exits(3);
    error.error("denied");
}

#[test]
fn hermess_own_files_and_private_keys_are_protected() {
    let context = TestContext::new();
    std::fs::create_dir(context.root().join(".ssh")).expect("a directory");
    let key = context.root().join(".ssh/id_ed25519");
    std::fs::write(&key, "a key").expect("a key");
    std::fs::write(context.home().join(".env"), "A=b\n").expect("variables");
    context.run(["call", "todo"]).succeeds();
    std::os::unix::fs::symlink(&key, context.work().join("innocent")).expect("a link");
    std::fs::hard_link(&key, context.work().join("twin")).expect("a link");
    for path in [
        "../.ssh/id_ed25519",
        "../home/.env",
        "../home/logs/audit/audit.key",
        "innocent",
        "twin",
        "./../home/../home/.env",
    ] {
        let run = context.run(["call", "read_file", &format!("path={path}")]).exits(3);
        let error = run.error("denied");
        assert_eq!(error.value["rule"], "protected path", "{path}: {error:?}");
    }
    for name in [
        "config.yaml",
        "hermes_permissions.yaml",
        "approvals.json",
        "secrets.json",
        "approvals/x.json",
        "logs/audit/audit.jsonl",
    ] {
        let effect = format!("file:write=../home/{name}");
        let run = context.run(["permissions", "check", "--json", "--effect", &effect]).exits(3);
        assert_eq!(run.json()["verdict"], "deny", "{name}");
    }
}

#[test]
fn the_sandbox_is_put_to_the_test() {
    let context = TestContext::new();
    let run = context.run(["permissions", "verify", "--json"]);
    let report = run.json();
    let tried = |probe: &&Value| probe["got"] != "untried";
    let probes = report["probes"].as_array().cloned().unwrap_or_default();
    if probes.iter().filter(tried).count() == 0 {
        println!("skipped: this kernel cannot confine anything: {report}");
        return;
    }
    assert_fields(&report, &["schema_version", "holds", "support", "probes"]);
    assert_eq!(report["holds"], true, "{report}");
    run.succeeds().silent();
    let run = context.run(["permissions", "verify"]).succeeds();
    assert!(run.stdout.ends_with("The sandbox holds.\n"), "{}", run.stdout);
    assert!(run.stdout.contains("blocked "), "{}", run.stdout);

    profiles(&context, "profiles:\n  bare:\n    extends: default\n    sandbox: {enabled: false}\n");
    let run = context.run(["permissions", "verify", "--profile", "bare", "--json"]);
    run.error("unavailable");
    assert_ne!(run.code, 0);
}

#[test]
fn a_tool_that_is_not_there_is_not_taken_for_another() {
    let context = TestContext::new();
    let run = context.run(["permissions", "check", "web_search", "query=x"]).exits(4);
    assert!(run.stderr.contains("'web_search' is not part of this build"), "{}", run.stderr);
    let run = context.run(["permissions", "check", "remove_file", "path=x"]).exits(1);
    assert!(run.stderr.contains("No such tool: 'remove_file'"), "{}", run.stderr);
    context.run(["permissions", "check", "read_file", "path=x"]).succeeds();
}

#[test]
fn profiles_that_cannot_be_used_and_words_without_effect_are_told_of() {
    let context = TestContext::new();
    profiles(&context, "profiles:\n  mine:\n    extends: defualt\n");
    project(&context, "profiles:\n  default:\n    approved: [file:write]\n");
    let run = context.run(["permissions", "profiles"]).succeeds();
    let mine = run.stdout.lines().find(|line| line.contains("mine")).expect("a line");
    assert!(mine.contains("defualt"), "{mine}");
    assert!(run.stderr.contains("approved of profile default has no effect"), "{}", run.stderr);
    let all = context.run(["permissions", "profiles", "--json"]).succeeds().json();
    let list = all["profiles"].as_array().expect("a list");
    let mine = list.iter().find(|p| p["name"] == "mine").expect("the profile");
    assert!(mine["problem"].as_str().is_some_and(|why| why.contains("defualt")), "{mine}");
}
