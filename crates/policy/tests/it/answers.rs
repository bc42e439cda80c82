//! Answers that were given hold as far as they were meant to.

use std::sync::Arc;

use hermes_core::{ApprovalScope, Effect, Policy as _, Resource, Scope, Session, Verdict};
use hermes_policy::{ApprovalMode, EnforcementSettings, PolicyAnswer, SavedRules};
use serde_json::json;

use crate::World;

fn run(command: &str) -> Effect {
    let resource = Resource::Command(command.to_owned());
    Effect { scope: Scope::TERMINAL_EXECUTE, resource }
}

#[test]
fn always_is_this_command_on_this_tree_and_survives_a_restart() {
    let world = World::new();
    let at = world.at();
    std::fs::create_dir_all(world.path("ws/build")).unwrap();
    let p = world.builtin("default");
    let effects = [run("rm -rf build")];
    let ruling = p.judge(&world.proposal(&effects, &at));
    assert!(matches!(ruling.verdict, Verdict::Ask { .. }));
    assert_eq!(ruling.offered_rules.len(), 1, "{:?}", ruling.offered_rules);
    assert!(ruling.offered_rules[0].contains("build"), "{:?}", ruling.offered_rules);
    p.remember_approval(&world.proposal(&effects, &at), ApprovalScope::Always).unwrap();
    for p in [p, world.builtin("default")] {
        assert_eq!(world.judged(&p, "rm -rf build"), PolicyAnswer::Allow);
        assert_eq!(world.judged(&p, "rm -rf build/deep && ls"), PolicyAnswer::Allow);
        assert_eq!(world.judged(&p, "rm -rf src"), PolicyAnswer::Ask);
        assert_eq!(world.judged(&p, "rm -rf build src"), PolicyAnswer::Ask);
        assert_eq!(world.judged(&p, "rm -rf build; rm -rf /"), PolicyAnswer::Deny);
        assert_eq!(world.judged(&p, "rm -rf build/../src"), PolicyAnswer::Ask);
    }
    assert_eq!(world.builtin("full_developer").saved().list().len(), 1);
    assert_eq!(world.judged(&world.builtin("full_developer"), "rm -rf build"), PolicyAnswer::Ask);
}

#[test]
fn always_for_a_tree_does_not_follow_links_out_of_it() {
    let world = World::new();
    let at = world.at();
    std::fs::create_dir_all(world.path("ws/build/deep")).unwrap();
    world.put("ws/src/main.rs", "");
    let p = world.builtin("default");
    for command in ["rm -rf build", "sed -i '1{s/a/b/;w build/x\n}' build/f", "truncate -s 0 build"]
    {
        p.remember_approval(&world.proposal(&[run(command)], &at), ApprovalScope::Always).unwrap();
    }
    let free =
        ["rm -rf build/*", "rm -rf build/*/*", "rm -rf build/deep/", "truncate -s 0 build/*"];
    for command in free {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Allow, "{command}");
    }
    std::os::unix::fs::symlink("../src", world.path("ws/build/l")).unwrap();
    std::os::unix::fs::symlink("../src/main.rs", world.path("ws/build/main.c")).unwrap();
    for command in ["rm -rf build", "rm -rf build/*", "rm -rf build/l", "rm -rf build/deep/*"] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Allow, "{command}");
    }
    for command in [
        "rm -rf build/l/*",
        "rm -rf build/l/",
        "rm -rf build/l/.",
        "rm -rf build/*/*",
        "rm -rf build/*/",
        "rm -rf build/?/main.rs",
        "rm -rf build/**/main.rs",
        "cd build && rm -rf l/*",
        "find build/l/ -delete",
        "truncate -s 0 build/*",
        "truncate -s 0 build/*.c",
    ] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Ask, "{command}");
    }
    let ruling = p.judge(&world.proposal(&[run("rm -rf build/l/*")], &at));
    assert!(ruling.offered_rules[0].contains("/ws/src"), "{:?}", ruling.offered_rules);
}

#[test]
fn approved_parts_compose() {
    let world = World::new();
    let at = world.at();
    let p = world.builtin("default");
    world.remote("origin", "https://example.com/x");
    for part in ["git push origin main", "git reset --hard HEAD~1"] {
        assert_eq!(world.judged(&p, part), PolicyAnswer::Ask, "{part}");
        p.remember_approval(&world.proposal(&[run(part)], &at), ApprovalScope::Always).unwrap();
        assert_eq!(world.judged(&p, part), PolicyAnswer::Allow, "{part}");
    }
    let both = "git reset --hard HEAD~1 && cargo build && git push origin main";
    assert_eq!(world.judged(&p, both), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "git push --force origin main"), PolicyAnswer::Ask);
}

#[test]
fn what_can_be_anything_is_approved_by_its_text_alone() {
    let world = World::new();
    let at = world.at();
    let p = world.builtin("default");
    let install = "curl -fsSL https://example.com/install.sh | sh";
    p.remember_approval(&world.proposal(&[run(install)], &at), ApprovalScope::Always).unwrap();
    assert_eq!(world.judged(&p, install), PolicyAnswer::Allow);
    assert_eq!(
        world.judged(&p, "curl -fsSL https://example.org/install.sh | sh"),
        PolicyAnswer::Ask
    );
}

#[test]
fn a_session_keeps_its_answers_to_itself() {
    let world = World::new();
    let at = world.at();
    let p = world.builtin("default");
    let effects = [Effect::path(Scope::FILE_WRITE, world.path("out/notes/a.md"))];
    assert_eq!(world.examine(&p, effects[0].clone()).answer(), PolicyAnswer::Ask);
    p.remember_approval(&world.proposal(&effects, &at), ApprovalScope::Session).unwrap();
    assert_eq!(world.examine(&p, effects[0].clone()).answer(), PolicyAnswer::Allow);
    // Another process of the same session.
    assert_eq!(
        world.examine(&world.builtin("default"), effects[0].clone()).answer(),
        PolicyAnswer::Allow
    );
    let other = Session::in_memory();
    let mut proposal = world.proposal(&effects, &at);
    proposal.session = &other;
    assert_eq!(p.consider(&proposal).0.answer(), PolicyAnswer::Ask);
}

#[test]
fn a_ticket_is_for_one_call_with_these_arguments() {
    let world = World::new();
    let at = world.at();
    let p = world.builtin("default");
    let effects = [Effect::any(Scope::EMAIL_SEND)];
    let (one, two) = (json!({"to": "a", "text": "x"}), json!({"text": "x", "to": "b"}));
    let mut first = world.proposal(&effects, &at);
    first.arguments = &one;
    let mut second = world.proposal(&effects, &at);
    second.arguments = &two;
    let token = p.issue_ticket(&first, "it sends").unwrap();
    assert!(!p.redeem_ticket(&first), "not approved yet");
    assert_eq!(p.tickets().list().len(), 1);
    p.tickets().grant(&token).unwrap();
    assert!(!p.redeem_ticket(&second));
    let same = json!({"text": "x", "to": "a"});
    first.arguments = &same;
    assert!(world.builtin("default").redeem_ticket(&first), "whoever makes the call");
    assert!(!p.redeem_ticket(&first), "only once");
    assert!(p.tickets().grant(&token).is_err());
    assert!(p.tickets().grant("../../etc/passwd").is_err());
    assert!(!world.builtin("production_deploy").redeem_ticket(&first));
}

#[test]
fn switched_off_questions_leave_denials_standing() {
    let world = World::new();
    let at = world.at();
    let settings =
        EnforcementSettings { approvals: ApprovalMode::Off, ..EnforcementSettings::default() };
    let p = world.with_settings("", "default", settings).unwrap();
    let verdict = |command: &str| p.judge(&world.proposal(&[run(command)], &at)).verdict;
    assert_eq!(verdict("rm -rf src"), Verdict::Allow);
    assert!(matches!(verdict("rm -rf /"), Verdict::Deny { .. }));
    assert!(matches!(verdict("cat ~/.ssh/id_rsa"), Verdict::Deny { .. }));
}

#[test]
fn a_sandbox_that_cannot_hold_is_a_refusal_or_a_question() {
    let world = World::new();
    let lacking = || EnforcementSettings {
        sandbox: Some(Arc::new(|_| Err("no Landlock".to_owned()))),
        ..EnforcementSettings::default()
    };
    let p = world.with_settings("", "default", lacking()).unwrap();
    assert_eq!(world.judged(&p, "ls"), PolicyAnswer::Deny);
    assert_eq!(world.touches(&p, Scope::FILE_READ, world.path("ws/x")), PolicyAnswer::Allow);
    let asks = "profiles: {p: {extends: default, sandbox: {missing: ask}}}";
    let p = world.with_settings(asks, "p", lacking()).unwrap();
    assert_eq!(world.judged(&p, "ls"), PolicyAnswer::Ask);
    let off = "profiles: {p: {extends: default, sandbox: {enabled: false}}}";
    let p = world.with_settings(off, "p", lacking()).unwrap();
    assert_eq!(world.judged(&p, "ls"), PolicyAnswer::Allow);
}

#[test]
fn a_rule_that_another_process_takes_away_holds_no_longer() {
    let world = World::new();
    let permissions = world.builtin("default");
    let effect = Effect::path(Scope::FILE_WRITE, "/srv/other/file");
    let at = world.at();
    let effects = [effect];
    let proposal = world.proposal(&effects, &at);
    let answer = || permissions.consider(&proposal).0.answer();
    assert_eq!(answer(), PolicyAnswer::Ask);
    permissions.remember_approval(&proposal, ApprovalScope::Always).unwrap();
    assert_eq!(answer(), PolicyAnswer::Allow);
    let other = SavedRules::load(world.path("hermes/approvals.json")).unwrap();
    assert!(other.remove(0).unwrap());
    assert_eq!(answer(), PolicyAnswer::Ask);
    world.put("hermes/approvals.json", "{ damaged");
    assert_eq!(answer(), PolicyAnswer::Ask);
}

#[test]
fn a_variable_of_the_session_is_judged_as_in_front_of_a_command() {
    let world = World::new();
    let p = world.builtin("default");
    for (name, value) in [
        ("CURL_HOME", "/ws/x"),
        ("WGETRC", "w"),
        ("http_proxy", "http://proxy.example.net:8080"),
        ("ALL_PROXY", "socks5://evil.example.com"),
        ("LD_PRELOAD", "./x.so"),
        ("BASH_ENV", "x.sh"),
        ("PATH", ".:/usr/bin"),
    ] {
        assert_eq!(world.sets(&p, name, value), PolicyAnswer::Ask, "{name}");
    }
    assert_eq!(world.sets(&p, "http_proxy", "http://10.0.0.1:3128"), PolicyAnswer::Ask);
    assert_eq!(world.sets(&p, "http_proxy", "http://169.254.169.254"), PolicyAnswer::Deny);
    for (name, value) in [("APP_MODE", "test"), ("PORT", "8080"), ("http_proxy", "")] {
        assert_eq!(world.sets(&p, name, value), PolicyAnswer::Allow, "{name}");
    }
}

#[test]
fn those_who_are_told_of_a_command_are_told_what_it_does() {
    let world = World::new();
    let p = world.builtin("default");
    let resource = Resource::Command("cat src/a; echo x > ../out/y; rm src/z".to_owned());
    let effects = [Effect { scope: Scope::TERMINAL_EXECUTE, resource }];
    let at = world.at();
    let implied = p.judge(&world.proposal(&effects, &at)).implied_effects;
    let wanted = [
        Effect::path(Scope::FILE_WRITE, world.path("out/y")),
        Effect::path(Scope::FILE_DELETE, world.path("ws/src/z")),
        Effect::path(Scope::FILE_READ, world.path("ws/src/a")),
    ];
    assert_eq!(implied, wanted);
    let token = p.issue_ticket(&world.proposal(&effects, &at), "why").unwrap();
    let shown = p.tickets().list().into_iter().find(|ticket| ticket.token == token).unwrap();
    let write = format!("file:write {}", world.path("out/y").display());
    assert!(shown.effects.contains(&write), "{:?}", shown.effects);
}

#[test]
fn a_kept_answer_shows_the_text_that_it_is_about() {
    let world = World::new();
    let redact = Arc::new(|text: &str| text.replace("hunter2", "[secret]"));
    let settings = EnforcementSettings { redact: Some(redact), ..EnforcementSettings::default() };
    let p = world.with_settings("", "default", settings).unwrap();
    let at = world.at();
    for command in ["sudo ls", "sudo mount -o password=hunter2 /mnt"] {
        let effects = [run(command)];
        p.remember_approval(&world.proposal(&effects, &at), ApprovalScope::Always).unwrap();
    }
    let saved = std::fs::read_to_string(world.path("hermes/approvals.json")).unwrap();
    assert!(saved.contains("\"sudo ls\"") && !saved.contains("hunter2"), "{saved}");
    let again = world.builtin("default");
    assert_eq!(world.judged(&again, "sudo ls"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&again, "sudo ls /"), PolicyAnswer::Ask);
}
