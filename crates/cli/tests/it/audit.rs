//! `hermes audit`: queries of the log, and verification of its integrity.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::context::{Stream, TestContext, assert_fields};

const CHANGE: &str = r#"todos:=[{"id":"a","content":"x","status":"pending"}]"#;

/// Profiles that deny some calls and require approval for others.
const PROFILES: &str = "profiles:
  mine:
    extends: default
    approval_required: [plan:write]
    deny: [env:write]
";

/// Five calls: two allowed, one that requires approval, one denied, one failed.
fn recorded() -> TestContext {
    let context = TestContext::new();
    std::fs::write(context.home().join("hermes_permissions.yaml"), PROFILES).expect("profiles");
    context.file("notes.txt", "one\n");
    context.run(["call", "read_file", "path=notes.txt"]).succeeds();
    context.run(["call", "todo", "--session", "build"]).succeeds();
    context.run(["call", "todo", CHANGE, "--session", "build", "--profile", "mine"]).exits(3);
    let set =
        ["call", "--profile", "mine", "env_manager", "action=set", "name=A", "value=private-word"];
    context.run(set).exits(3);
    context.run(["call", "read_file", "path=absent.txt"]).exits(1);
    context
}

fn log(context: &TestContext) -> PathBuf {
    context.home().join("logs/audit/audit.jsonl")
}

/// Changes the lines of the log.
fn rewrite(context: &TestContext, change: impl FnOnce(&mut Vec<String>)) {
    let text = std::fs::read_to_string(log(context)).expect("the log");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(log(context), text).expect("the log");
}

/// The tools of the entries that a query finds.
fn found(context: &TestContext, filters: &[&str]) -> Vec<String> {
    let run = context.run([&["audit", "query", "--json"][..], filters].concat()).succeeds();
    let run = run.silent();
    if run.stdout.is_empty() {
        return Vec::new();
    }
    let name = |entry: Value| entry["tool"].as_str().expect("a tool").to_owned();
    run.json_lines().into_iter().map(name).collect()
}

#[test]
fn entries_say_who_did_what_and_how_it_was_judged() {
    let context = recorded();
    let entries = context.run(["audit", "tail", "--json"]).succeeds().silent().json_lines();
    assert_eq!(entries.len(), 5);
    for (at, entry) in entries.iter().enumerate() {
        let fields = [
            "seq",
            "time",
            "who",
            "session",
            "task",
            "call",
            "tool",
            "effects",
            "verdict",
            "status",
            "duration_us",
            "chars",
            "coerced",
            "prev",
            "hash",
        ];
        assert_fields(entry, &fields);
        assert_eq!(entry["seq"], at + 1);
        assert_eq!(entry["who"], "cli");
    }
    let verdicts: Vec<&str> = entries.iter().filter_map(|e| e["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["allow", "allow", "ask", "deny", "allow"]);
    let ends: Vec<&str> = entries.iter().filter_map(|e| e["status"].as_str()).collect();
    assert_eq!(ends, ["success", "success", "approval_required", "denied", "not_found"]);
    assert_eq!(entries[2]["approval"], "nobody");
    let rule = entries[3]["rule"].as_str().expect("a rule");
    assert!(
        rule.contains("deny env:write") && rule.contains("hermes_permissions.yaml:5"),
        "{rule}"
    );
    assert_eq!(entries[3]["effects"], json!([{ "scope": "env:write", "resource": "A" }]));
    assert_eq!(entries[1]["session"], "build");
}

#[test]
fn arguments_and_results_are_not_recorded() {
    let context = recorded();
    let text = std::fs::read_to_string(log(&context)).expect("the log");
    for word in ["private-word", "1|one", "\"arguments\"", "\"content\""] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn the_end_is_shown_in_lines_for_people() {
    let context = recorded();
    let run = context.run(["audit", "tail", "-n", "2"]).succeeds().silent();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", run.stdout);
    assert!(lines[0].contains("env_manager") && lines[0].contains("deny"), "{}", lines[0]);
    assert!(lines[1].contains("read_file") && lines[1].contains("not_found"), "{}", lines[1]);
    let run = context.run(["audit", "tail"]).succeeds();
    assert!(run.stdout.contains("ask:nobody"), "{}", run.stdout);
}

#[test]
fn a_log_that_is_not_there_yet_is_no_error() {
    let context = TestContext::new();
    assert_eq!(context.run(["audit", "tail"]).succeeds().stdout, "");
    assert_eq!(context.run(["audit", "query", "--json"]).succeeds().stdout, "");
    let report = context.run(["audit", "verify", "--json"]).succeeds().json();
    assert_eq!(report["clean"], true);
    assert_eq!(report["entries"], 0);
}

#[test]
fn calls_are_found_by_every_filter() {
    let context = recorded();
    assert_eq!(found(&context, &["--tool", "todo"]), ["todo", "todo"]);
    assert_eq!(found(&context, &["--session", "build", "--verdict", "allow"]), ["todo"]);
    assert_eq!(found(&context, &["--status", "not_found"]), ["read_file"]);
    assert_eq!(found(&context, &["--status", "denied"]), ["env_manager"]);
    assert_eq!(found(&context, &["--verdict", "ask"]), ["todo"]);
    assert_eq!(found(&context, &["--effect", "env:write"]), ["env_manager"]);
    assert_eq!(found(&context, &["--effect", "file:read=notes"]), ["read_file"]);
    assert_eq!(found(&context, &["--effect", "=absent"]), ["read_file"]);
    assert_eq!(found(&context, &["--text", "env:write"]).len(), 1);
    assert_eq!(found(&context, &["--call", "call_1"]).len(), 5);
    assert_eq!(found(&context, &["--since", "1h"]).len(), 5);
    assert_eq!(found(&context, &["--until", "1h"]).len(), 0);
    assert_eq!(found(&context, &["--since", "2000-01-01", "--until", "2000-01-02"]).len(), 0);
    assert_eq!(found(&context, &["-n", "1"]), ["read_file"], "the newest");
    assert_eq!(found(&context, &["--tool", "nothing"]).len(), 0);
    let run = context.run(["audit", "query", "--tool", "nothing"]).succeeds();
    assert!(run.stderr.contains("No matching entries"), "{}", run.stderr);
    let run = context.run(["audit", "query", "--since", "soon", "--json"]).exits(2);
    assert!(run.error("invalid_arguments").hint.contains("2h"));
}

#[test]
fn a_whole_log_is_found_whole() {
    let context = recorded();
    let run = context.run(["audit", "verify"]).succeeds().silent();
    assert!(run.stdout.starts_with("5 entries in 1 file"), "{}", run.stdout);
    let report = context.run(["audit", "verify", "--json"]).succeeds().json();
    let fields = ["schema_version", "clean", "entries", "files", "first", "last", "faults"];
    assert_fields(&report, &fields);
    assert_eq!((&report["clean"], &report["entries"]), (&json!(true), &json!(5)));
}

/// Asserts that damage is reported, as text and as JSON.
#[track_caller]
fn faulty(context: &TestContext) -> Value {
    let run = context.run(["audit", "verify"]).exits(1);
    assert!(run.stdout.contains("audit.jsonl"), "{}", run.stdout);
    assert!(run.stdout.contains("fault"), "{}", run.stdout);
    let report = context.run(["audit", "verify", "--json"]).exits(1).json();
    assert_eq!(report["clean"], false, "{report}");
    report["faults"].clone()
}

#[test]
fn a_changed_entry_is_named() {
    let context = recorded();
    rewrite(&context, |lines| lines[3] = lines[3].replace("\"denied\"", "\"success\""));
    let faults = faulty(&context);
    assert_eq!(faults[0]["file"], "audit.jsonl");
    assert_eq!(faults[0]["line"], 4, "{faults}");
    let run = context.run(["audit", "verify"]).exits(1);
    assert!(run.stdout.contains("audit.jsonl, line 4"), "{}", run.stdout);
}

#[test]
fn a_deleted_entry_is_noticed_where_it_was() {
    let context = recorded();
    rewrite(&context, |lines| {
        lines.remove(2);
    });
    assert_eq!(faulty(&context)[0]["line"], 3);
}

#[test]
fn a_cut_end_is_noticed() {
    for cut in [1, 2, 5] {
        let context = recorded();
        rewrite(&context, |lines| lines.truncate(5 - cut));
        faulty(&context);
    }
    let context = recorded();
    let text = std::fs::read(log(&context)).expect("the log");
    std::fs::write(log(&context), &text[..text.len() - 20]).expect("the log");
    faulty(&context);
}

#[test]
fn a_log_that_was_taken_away_is_noticed() {
    let context = recorded();
    std::fs::remove_file(log(&context)).expect("no log");
    let run = context.run(["audit", "verify", "--json"]).exits(1);
    assert_eq!(run.json()["clean"], false);
}

#[test]
fn a_cut_end_stays_noticed_after_more_calls() {
    let context = recorded();
    rewrite(&context, |lines| lines.truncate(3));
    context.run(["call", "todo"]).succeeds();
    faulty(&context);
}

#[test]
fn swapped_and_repeated_entries_are_noticed() {
    let context = recorded();
    rewrite(&context, |lines| lines.swap(1, 2));
    faulty(&context);
    let context = recorded();
    rewrite(&context, |lines| lines.insert(2, lines[1].clone()));
    faulty(&context);
}

#[test]
fn a_chain_made_anew_without_the_key_is_noticed() {
    let (mine, other) = (recorded(), recorded());
    std::fs::copy(log(&other), log(&mine)).expect("another log");
    std::fs::copy(
        other.home().join("logs/audit/audit.head"),
        mine.home().join("logs/audit/audit.head"),
    )
    .expect("its head");
    faulty(&mine);
}

#[test]
fn followers_see_calls_as_they_are_made() {
    let context = recorded();
    let command = context.command(["audit", "tail", "-f", "-n", "1", "--json"]);
    let mut follower = Stream::start(&context, command);
    assert_eq!(follower.answer()["seq"], 5);
    context.run(["call", "todo", "--session", "later"]).succeeds();
    let entry = follower.answer();
    assert_eq!((&entry["seq"], &entry["session"]), (&json!(6), &json!("later")));
    context.run(["call", "system_info", "sections=os"]).succeeds();
    assert_eq!(follower.answer()["tool"], "system_info");
}

#[test]
fn followers_may_come_before_the_first_call() {
    let context = TestContext::new();
    let command = context.command(["audit", "tail", "--follow", "--json"]);
    let mut follower = Stream::start(&context, command);
    context.run(["call", "todo"]).succeeds();
    assert_eq!(follower.answer()["seq"], 1);
}

#[test]
fn calls_of_many_processes_make_one_chain() {
    let context = TestContext::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    context.run(["call", "todo"]).succeeds().silent();
                }
            });
        }
    });
    let report = context.run(["audit", "verify", "--json"]).succeeds().json();
    assert_eq!(report["entries"], 12, "{report}");
}

#[test]
fn every_call_of_a_batch_is_recorded() {
    let context = TestContext::new();
    let request = json!({ "tool_calls": [
        { "id": "one", "name": "todo", "arguments": {} },
        { "id": "two", "name": "no_such_tool", "arguments": {} },
        { "id": "three", "name": "read_file", "arguments": {} },
    ] });
    context.feed(["exec"], request.to_string()).exits(1);
    assert_eq!(found(&context, &["--call", "one", "--status", "success"]), ["todo"]);
    assert_eq!(found(&context, &["--call", "two", "--status", "not_found"]), ["no_such_tool"]);
    assert_eq!(
        found(&context, &["--call", "three", "--status", "invalid_arguments"]),
        ["read_file"]
    );
}

#[test]
fn an_entry_does_not_steer_the_terminal() {
    let context = TestContext::new();
    context.run(["call", "read_file", "path=a\u{1b}[2Jb\n9999  forged"]).exits(1);
    let Some(run) = crate::approvals::on_screen(&context, "audit tail") else { return };
    let run = run.succeeds();
    assert!(!run.stdout.contains("\u{1b}[2J"), "{:?}", run.stdout);
    assert!(!run.stdout.lines().any(|line| line.starts_with("9999")), "{}", run.stdout);
}

#[test]
fn in_audit_mode_a_denied_call_goes_through_and_is_recorded() {
    let context = recorded();
    context.settings("permissions:\n  mode: audit\n");
    let set = [
        "call",
        "--profile",
        "mine",
        "--session",
        "s",
        "env_manager",
        "action=set",
        "name=A",
        "value=b",
    ];
    context.run(set).succeeds();
    let entry = context.run(["audit", "tail", "-n", "1", "--json"]).succeeds().json();
    assert_eq!(entry["verdict"], "allow");
    assert_eq!(entry["would"], "deny");
    let rule = entry["would_rule"].as_str().expect("a rule");
    assert!(rule.contains("deny env:write"), "{rule}");
    context.run(["call", "todo", CHANGE, "--session", "s", "--profile", "mine"]).succeeds();
    let entry = context.run(["audit", "tail", "-n", "1", "--json"]).succeeds().json();
    assert_eq!(entry["would"], "ask");

    context.settings("permissions:\n  mode: watch\n");
    let run = context.run(set).exits(2);
    assert!(run.stderr.contains("enforce or audit"), "{}", run.stderr);
}

/// Output of `suggest`, as YAML.
fn proposed(context: &TestContext, profile: &str) -> Option<String> {
    let args = ["permissions", "suggest", "--json", "--profile", profile];
    let answer = context.run(args).succeeds().json();
    answer["yaml"].as_str().map(str::to_owned)
}

#[test]
fn what_a_built_in_profile_kept_back_can_be_allowed_as_proposed() {
    let context = TestContext::new();
    context.settings("permissions:\n  mode: audit\n  profile: readonly_research\n");
    for session in ["a", "b"] {
        context.run(["call", "todo", CHANGE, "--session", session]).succeeds();
    }
    let yaml = proposed(&context, "readonly_research").expect("a proposal");
    assert!(yaml.contains("plan:write") && yaml.contains("2 times"), "{yaml}");
    std::fs::write(context.home().join("hermes_permissions.yaml"), yaml).expect("profiles");
    context.settings("permissions:\n  profile: readonly_research\n");
    let report = context.run(["permissions", "check", "todo", CHANGE, "--json"]).succeeds().json();
    assert_eq!(report["verdict"], "allow");
    context.run(["call", "todo", CHANGE]).succeeds();
    context.run(["permissions", "check", "--effect", "file:write=x"]).exits(3);
    context.run(["permissions", "check", "--effect", "file:read=x"]).succeeds();
}

#[test]
fn what_was_asked_about_can_be_allowed_as_proposed() {
    let context = TestContext::new();
    context.settings("permissions:\n  mode: audit\n");
    context.feed(["secrets", "set", "DEPLOY"], "vK3xQ9mT7bW2rZ8nL5pJ4cHd").succeeds();
    let todos = r#"todos:=[{"id":"a","content":"secret://DEPLOY","status":"pending"}]"#;
    for _ in 0..2 {
        context.run(["call", "todo", todos]).succeeds();
    }
    let yaml = proposed(&context, "default").expect("a proposal");
    assert!(yaml.contains("secret:use"), "{yaml}");
    std::fs::write(context.home().join("hermes_permissions.yaml"), &yaml).expect("profiles");
    context.settings("");
    let report = context.run(["permissions", "check", "todo", todos, "--json"]).json();
    assert_eq!(report["verdict"], "allow", "{yaml}\n{report}");
}

#[test]
fn what_a_profile_of_the_users_own_kept_back_can_be_allowed_as_proposed() {
    let context = TestContext::new();
    let own = "profiles:\n  mine:\n    allow: [file:read]\n";
    std::fs::write(context.home().join("hermes_permissions.yaml"), own).expect("profiles");
    context.settings("permissions:\n  mode: audit\n  profile: mine\n");
    for _ in 0..2 {
        context.run(["call", "todo", CHANGE]).succeeds();
    }
    let yaml = proposed(&context, "mine").expect("a proposal");
    assert!(yaml.contains("plan:write"), "{yaml}");
    let pasted = format!("{own}{}", yaml.trim_start_matches("profiles:\n"));
    std::fs::write(context.home().join("hermes_permissions.yaml"), &pasted).expect("profiles");
    context.settings("permissions:\n  profile: mine_suggested\n");
    context.run(["permissions", "check", "todo", CHANGE, "--json"]).succeeds();
    context.run(["permissions", "check", "--effect", "file:write=x"]).exits(3);
}

#[test]
fn protected_files_are_never_proposed() {
    let context = TestContext::new();
    std::fs::write(context.home().join(".env"), "A=b\n").expect("variables");
    for _ in 0..3 {
        context.run(["call", "read_file", "path=../home/.env"]).exits(3);
    }
    assert_eq!(proposed(&context, "default"), None);
}

#[test]
fn what_a_person_refused_is_not_proposed() {
    let context = TestContext::new();
    std::fs::write(context.home().join("hermes_permissions.yaml"), PROFILES).expect("profiles");
    for _ in 0..3 {
        let args = ["call", "todo", CHANGE, "--profile", "mine"];
        let Some(command) = crate::approvals::terminal(&context, &args) else { return };
        context.finish(command, b"d\n").exits(3);
    }
    assert_eq!(proposed(&context, "mine"), None);
}

#[test]
fn with_nothing_to_propose_that_is_said() {
    let context = recorded();
    let run = context.run(["permissions", "suggest"]).succeeds();
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("Nothing to suggest"), "{}", run.stderr);
    context.run(["permissions", "suggest", "--since", "soon"]).exits(2);
}

#[test]
fn a_link_is_recorded_as_the_place_that_it_leads_to() {
    let context = TestContext::new();
    let real = context.home().join("secrets.json");
    std::os::unix::fs::symlink(&real, context.work().join("link")).expect("a link");
    context.run(["call", "write_file", "path=link", "content=x"]).exits(3);
    let line = context.run(["audit", "tail", "-n", "1", "--json"]).succeeds().json();
    let effects = line["effects"].to_string();
    assert!(effects.contains("secrets.json"), "{line}");
}

#[test]
fn a_word_that_no_entry_has_is_an_error() {
    let context = recorded();
    for filter in ["--verdict", "--status"] {
        let run = context.run(["audit", "query", filter, "nonsense"]).exits(2);
        assert!(run.stderr.contains("Possible values: "), "{}", run.stderr);
    }
    context.run(["audit", "query", "--verdict", "deny", "--status", "denied"]).succeeds();
}
