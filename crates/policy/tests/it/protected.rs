//! Protected places: what is never touched, what a person is asked about, and
//! where links lead. Named after the findings that they came from.

use std::os::unix::fs::symlink;

use hermes_core::{ApprovalScope, Effect, Policy as _, Resource, Scope, Verdict};
use hermes_policy::{
    ApprovalMode, EnforcementMode, EnforcementSettings, PermissionPolicy, PolicyAnswer,
};

use crate::World;

fn run(command: &str) -> Effect {
    Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Command(command.to_owned()) }
}

fn verdict(world: &World, permissions: &PermissionPolicy, effects: &[Effect]) -> Verdict {
    permissions.judge(&world.proposal(effects, &world.at())).verdict
}

fn unasked(world: &World) -> PermissionPolicy {
    let settings =
        EnforcementSettings { approvals: ApprovalMode::Off, ..EnforcementSettings::default() };
    world.with_settings("", "default", settings).unwrap()
}

/// A home whose settings are links into a repository, and a project whose
/// variables are one.
fn linked() -> World {
    let world = World::new();
    for name in ["home/dotfiles/netrc", "home/dotfiles/aws/credentials", "ws/rc", "ws/prod.vars"] {
        world.put(name, "secret");
    }
    world.put("home/dotfiles/config/gh/hosts.yml", "secret");
    world.put("home/dotfiles/config/app.toml", "x");
    symlink("dotfiles/netrc", world.path("home/.netrc")).unwrap();
    symlink("dotfiles/aws", world.path("home/.aws")).unwrap();
    symlink("dotfiles/config", world.path("home/.config")).unwrap();
    symlink(world.path("ws/rc"), world.path("home/.bashrc")).unwrap();
    symlink("prod.vars", world.path("ws/.env")).unwrap();
    world
}

#[test]
fn s_a2_a_protected_link_protects_its_target_from_every_tool() {
    let world = linked();
    let p = world.builtin("default");
    for name in ["netrc", "aws/credentials", "aws", "config/gh/hosts.yml"] {
        let path = world.path("home/dotfiles").join(name);
        for scope in [Scope::FILE_READ, Scope::FILE_WRITE, Scope::FILE_DELETE] {
            assert_eq!(world.touches(&p, scope, &path), PolicyAnswer::Deny, "{name}");
        }
        assert_eq!(
            world.judged(&p, &format!("cat {}", path.display())),
            PolicyAnswer::Deny,
            "{name}"
        );
    }
    let app = world.path("home/dotfiles/config/app.toml");
    assert_eq!(world.touches(&p, Scope::FILE_READ, app), PolicyAnswer::Allow);
    let variables = world.path("ws/prod.vars");
    assert_eq!(world.touches(&p, Scope::FILE_READ, &variables), PolicyAnswer::Ask);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, &variables), PolicyAnswer::Ask);
    let startup = world.path("ws/rc");
    assert_eq!(world.touches(&p, Scope::FILE_READ, &startup), PolicyAnswer::Allow);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, &startup), PolicyAnswer::Ask);
    assert_eq!(world.judged(&p, "echo 'alias ls=x' > rc"), PolicyAnswer::Ask);
    assert_eq!(
        world.touches(&p, Scope::FILE_DELETE, world.path("home/dotfiles")),
        PolicyAnswer::Deny
    );
    let targets = p.sensitive().linked_targets();
    assert!(targets.contains(&world.path("home/dotfiles/netrc")), "{targets:?}");
    // A profile that lays the real place open means it.
    let open = "profiles: {p: {extends: default, sensitive_paths: ['~/dotfiles/netrc']}}";
    let open = world.with(open, "p").unwrap();
    let netrc = world.path("home/dotfiles/netrc");
    assert_eq!(world.touches(&open, Scope::FILE_READ, netrc), PolicyAnswer::Allow);
}

/// Searching, comparing and packing a directory go by what its grant leaves
/// out.
#[test]
fn s_a2_a_granted_directory_keeps_the_targets_of_protected_links() {
    let world = linked();
    let p = world.builtin("default");
    let effects = [world.path("home/dotfiles"), world.path("ws")]
        .map(|path| Effect::path(Scope::FILE_READ, path));
    let grants = p.judge(&world.proposal(&effects, &world.at())).grants;
    let closes = |scope: Scope, name: &str| grants.denies(&scope, &world.path(name));
    for name in ["home/dotfiles/netrc", "home/dotfiles/aws/credentials", "ws/prod.vars"] {
        assert!(closes(Scope::FILE_READ, name), "{name}");
    }
    assert!(!closes(Scope::FILE_READ, "home/dotfiles/config/app.toml"));
    assert!(!closes(Scope::FILE_READ, "ws/rc") && closes(Scope::FILE_WRITE, "ws/rc"));
}

#[test]
fn s_b5_files_that_other_programs_run_are_asked_about() {
    let world = World::new();
    let p = world.builtin("default");
    let names = [".vscode/tasks.json", ".mcp.json", ".claude/settings.json", "AGENTS.md"];
    for name in names {
        let path = world.path("ws").join(name);
        for scope in [Scope::FILE_WRITE, Scope::FILE_DELETE] {
            assert_eq!(world.touches(&p, scope, &path), PolicyAnswer::Ask, "{name}");
        }
        assert_eq!(world.touches(&p, Scope::FILE_READ, &path), PolicyAnswer::Allow, "{name}");
    }
    for command in ["echo x > .mcp.json", "cp a .husky/pre-commit", "sed -i s/a/b/ AGENTS.md"] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Ask, "{command}");
    }
    for command in ["echo x > .github/workflows/ci.yml", "cat AGENTS.md", "touch .gitattributes"] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Allow, "{command}");
    }
    let write = [Effect::path(Scope::FILE_WRITE, world.path("ws/.mcp.json"))];
    assert!(matches!(verdict(&world, &p, &write), Verdict::Ask { .. }));
    assert_eq!(verdict(&world, &unasked(&world), &write), Verdict::Allow);
    // Whoever names the place has agreed to it.
    let approved = "profiles: {p: {extends: default, approved: \
                    [{scope: file:write, paths: ['${workspace}/.mcp.json']}]}}";
    let approved = world.with(approved, "p").unwrap();
    assert_eq!(verdict(&world, &approved, &write), Verdict::Allow);
    let other = [Effect::path(Scope::FILE_WRITE, world.path("ws/AGENTS.md"))];
    assert!(matches!(verdict(&world, &approved, &other), Verdict::Ask { .. }));
}

/// What lies in a granted directory is not asked about one by one.
#[test]
fn s_b5_an_archive_brings_no_file_that_other_programs_run() {
    let world = World::new();
    let effects = [Effect::path(Scope::FILE_WRITE, world.path("ws"))];
    let closes = |p: &PermissionPolicy, name: &str| {
        let grants = p.judge(&world.proposal(&effects, &world.at())).grants;
        grants.denies(&Scope::FILE_WRITE, &world.path("ws").join(name))
    };
    let p = world.builtin("default");
    assert!(closes(&p, ".vscode/tasks.json") && closes(&p, ".env") && !closes(&p, "src/a"));
    assert!(!closes(&unasked(&world), ".vscode/tasks.json"), "nobody wants to be asked");
    assert!(closes(&unasked(&world), ".hermes/x"));
}

const ASKED: &[&str] = &[
    "cp .env.example .env",
    "cat .env",
    "echo A=1 >> .env",
    "source .env",
    "echo \"alias ll='ls -l'\" >> ~/.bashrc",
    "python3 -c 'print(open(\".env\").read())'",
];

#[test]
fn n_a7_variables_and_start_up_files_are_asked_about() {
    let world = World::new();
    world.put("ws/.env.example", "A=");
    world.put("ws/.env", "A=1");
    let (p, unasked) = (world.builtin("default"), unasked(&world));
    for command in ASKED {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Ask, "{command}");
        assert_eq!(verdict(&world, &unasked, &[run(command)]), Verdict::Allow, "{command}");
    }
    // The sandbox has to know what a person may lay open.
    let places = world.command(&p, "cp .env.example .env").asked_places();
    assert_eq!(places, [world.path("ws/.env")]);
    assert!(world.command(&p, "cat ~/.netrc").asked_places().is_empty());
    // Keys and credentials stay closed, whoever is asked.
    for command in
        ["cat ~/.ssh/id_rsa", "cat ~/.netrc", "cp a ~/.aws/credentials", "cat /etc/shadow"]
    {
        let verdict = verdict(&world, &unasked, &[run(command)]);
        assert!(matches!(verdict, Verdict::Deny { .. }), "{command}");
    }
}

#[test]
fn n_a7_an_answer_holds_for_the_file_that_it_was_about() {
    let world = World::new();
    world.put("ws/app/.env", "A=1");
    world.put("ws/app/.env.production", "A=1");
    let p = world.builtin("default");
    let at = world.at();
    for (lasting, name) in
        [(ApprovalScope::Session, "app/.env"), (ApprovalScope::Always, "app/.env.local")]
    {
        let effects = [run(&format!("cat {name}"))];
        let proposal = world.proposal(&effects, &at);
        let offers = p.judge(&proposal).offered_rules;
        assert!(offers.len() == 1 && offers[0].contains(name), "{offers:?}");
        p.remember_approval(&proposal, lasting).unwrap();
        assert_eq!(p.judge(&proposal).verdict, Verdict::Allow, "{name}");
        let path = world.path("ws").join(name);
        assert_eq!(world.touches(&p, Scope::FILE_READ, &path), PolicyAnswer::Allow, "{name}");
        assert_eq!(world.touches(&p, Scope::FILE_WRITE, &path), PolicyAnswer::Ask, "{name}");
    }
    assert_eq!(world.judged(&p, "cat app/.env.production"), PolicyAnswer::Ask);
    // An agreement to a directory is none to what is protected in it.
    let narrow = "profiles: {p: {extends: default, restrictions: {file:read: \
                  {approval_paths: ['${workspace}/app/**']}}}}";
    let p = world.with(narrow, "p").unwrap();
    let effects = [Effect::path(Scope::FILE_READ, world.path("ws/app/plain"))];
    p.remember_approval(&world.proposal(&effects, &at), ApprovalScope::Always).unwrap();
    assert_eq!(
        world.touches(&p, Scope::FILE_READ, world.path("ws/app/other")),
        PolicyAnswer::Allow
    );
    assert_eq!(world.touches(&p, Scope::FILE_READ, world.path("ws/app/.env")), PolicyAnswer::Ask);
}

#[test]
fn n_a7_an_approved_file_can_be_opened() {
    let world = World::new();
    let env = world.put("ws/.env", "A=1");
    std::fs::hard_link(&env, world.path("ws/copy")).unwrap();
    let p = world.builtin("default");
    let effects = [Effect::path(Scope::FILE_READ, &env)];
    let grants = p.judge(&world.proposal(&effects, &world.at())).grants;
    let file = {
        use std::os::unix::fs::MetadataExt as _;
        let facts = std::fs::metadata(&env).unwrap();
        (facts.dev(), facts.ino())
    };
    assert!(!grants.denies(&Scope::FILE_READ, &env));
    assert!(!grants.denies_hard_linked(&Scope::FILE_READ, &env, file));
    assert!(grants.denies_hard_linked(&Scope::FILE_READ, &world.path("ws/copy"), file));
}

#[test]
fn n_a7_names_of_variables_are_read_without_a_question() {
    let world = World::new();
    let env = world.put("ws/.env", "A=1");
    let p = world.builtin("default");
    let names = |path: &std::path::Path| {
        let effects = [Effect::path(Scope::FILE_READ, path), Effect::path(Scope::ENV_READ, path)];
        verdict(&world, &p, &effects)
    };
    assert_eq!(names(&env), Verdict::Allow);
    let Verdict::Ask { reason, .. } = verdict(&world, &p, &[Effect::path(Scope::FILE_READ, &env)])
    else {
        panic!("values are asked about")
    };
    assert!(reason.contains("names_only=true"), "{reason}");
    // What is never read has no names either, and other rules still count.
    assert!(matches!(names(&world.path("home/.aws/credentials")), Verdict::Deny { .. }));
    let denied = "profiles: {p: {extends: default, deny: [{scope: file:read, paths: [.env]}]}}";
    let denied = world.with(denied, "p").unwrap();
    let effects = [Effect::path(Scope::FILE_READ, &env), Effect::path(Scope::ENV_READ, &env)];
    assert!(matches!(verdict(&world, &denied, &effects), Verdict::Deny { .. }));
}

#[test]
fn n_a7_protected_places_are_asked_about_while_rules_are_watched() {
    let world = World::new();
    world.put("ws/.env", "A=1");
    let settings =
        || EnforcementSettings { mode: EnforcementMode::Audit, ..EnforcementSettings::default() };
    let rules = "profiles: {p: {extends: default, deny: [clipboard:write]}}";
    let p = world.with_settings(rules, "p", settings()).unwrap();
    let read = Effect::path(Scope::FILE_READ, world.path("ws/.env"));
    let denied = Effect::any(Scope::CLIPBOARD_WRITE);
    assert!(matches!(verdict(&world, &p, std::slice::from_ref(&read)), Verdict::Ask { .. }));
    assert_eq!(verdict(&world, &p, std::slice::from_ref(&denied)), Verdict::Allow);
    // The rule that is only watched does not make it a denial.
    assert!(matches!(verdict(&world, &p, &[denied, read]), Verdict::Ask { .. }));
}

#[test]
fn s_c1_a_command_reaches_the_loopback_of_its_own_network() {
    let world = World::new();
    let p = world.builtin("default");
    for command in [
        "curl http://localhost:3000/health",
        "curl -s 127.0.0.1:8080",
        "curl 'http://[::1]:9/'",
        "curl -X POST -d a=1 http://localhost:3000/api",
    ] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Allow, "{command}");
    }
    for command in ["curl http://10.0.0.7/", "curl -d a=1 http://example.com/"] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Ask, "{command}");
    }
    assert_eq!(world.judged(&p, "curl http://169.254.169.254/"), PolicyAnswer::Deny);
    // Other tools run in this process, whose loopback is the machine's.
    for scope in [Scope::NETWORK_FETCH, Scope::BROWSER_CONTROL] {
        assert_eq!(
            world.reaches(&p, scope.clone(), "localhost:3000"),
            PolicyAnswer::Ask,
            "{scope}"
        );
        assert_eq!(world.reaches(&p, scope, "169.254.169.254"), PolicyAnswer::Deny);
    }
    for sandbox in ["network: host", "enabled: false"] {
        let yaml = format!("profiles: {{p: {{extends: default, sandbox: {{{sandbox}}}}}}}");
        let p = world.with(&yaml, "p").unwrap();
        assert_eq!(world.judged(&p, "curl http://localhost:3000/"), PolicyAnswer::Ask, "{sandbox}");
    }
    let off =
        world.with("profiles: {p: {extends: default, sandbox: {network: 'off'}}}", "p").unwrap();
    assert_eq!(world.judged(&off, "curl http://localhost:3000/"), PolicyAnswer::Allow);
    // Who names the host means it.
    for (rule, answer) in [
        ("approval_required: [{scope: network:fetch, hosts: [localhost]}]", PolicyAnswer::Ask),
        ("deny: [{scope: network:fetch, hosts: [localhost]}]", PolicyAnswer::Deny),
        ("deny: [network:fetch]", PolicyAnswer::Deny),
    ] {
        let p = world.with(&format!("profiles: {{p: {{extends: default, {rule}}}}}"), "p").unwrap();
        assert_eq!(world.judged(&p, "curl http://localhost:3000/"), answer, "{rule}");
    }
}

#[test]
fn n_b7_a_program_that_is_not_there_is_not_asked_about() {
    let world = World::new();
    let p = world.builtin("default");
    for command in [
        "nosuchcmd",
        "nosuchcmd --flag x",
        "ls | nosuchcmd",
        "timeout 5 nosuchcmd",
        "/opt/no/such/program",
    ] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Allow, "{command}");
    }
    // It may be there by the time that it runs, or be something else.
    for command in [
        "PATH=bin:$PATH nosuchcmd",
        "pip install nosuchcmd && nosuchcmd x",
        "npx -- nosuchcmd x",
        "a=(r m); b=$(IFS=; echo \"${a[*]}\"); $b -rf src",
    ] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Ask, "{command}");
    }
    // What else is in the command is judged like everything.
    assert_eq!(world.judged(&p, "nosuchcmd; rm -rf src"), PolicyAnswer::Ask);
    assert_eq!(world.judged(&p, "nosuchcmd $(cat ~/.ssh/id_rsa)"), PolicyAnswer::Deny);
    // One that is there, and that nobody knows.
    world.put("home/.local/bin/strangecmd", "#!/bin/sh\n");
    assert_eq!(world.judged(&p, "strangecmd x"), PolicyAnswer::Ask);
}

#[test]
fn n_b7_a_mistake_is_left_to_the_shell() {
    let world = World::new();
    let p = world.builtin("default");
    for command in [
        "echo 'unclosed",
        "echo \"unclosed",
        "git commit -m 'it's done'",
        "grep \"a\\.b src",
        "if true; then",
        "ls )",
        "for x in a b; do echo $x",
        "echo a\necho 'unclosed",
    ] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Allow, "{command}");
    }
    // Lines before the mistake run, and what was meant is judged as well.
    for (command, answer) in [
        ("rm -rf src\necho 'unclosed", PolicyAnswer::Ask),
        ("rm -rf /\n)", PolicyAnswer::Deny),
        ("cat ~/.ssh/id_rsa\nif true; then", PolicyAnswer::Deny),
        ("if true; then rm -rf src", PolicyAnswer::Ask),
        // A shell takes this as it is, or nobody can tell.
        ("cat <<EOF\nx", PolicyAnswer::Ask),
        ("echo ${x:-'}", PolicyAnswer::Ask),
        ("echo `ls", PolicyAnswer::Ask),
    ] {
        assert_eq!(world.judged(&p, command), answer, "{command}");
    }
    // In a shell that lasts, it is the beginning of what comes next.
    let script = hermes_core::ShellScript {
        text: "echo 'unclosed".to_owned(),
        fresh_shell: true,
        ..hermes_core::ShellScript::default()
    };
    let resource = Resource::Script(Box::new(script));
    let typed = Effect { scope: Scope::TERMINAL_EXECUTE, resource };
    assert_eq!(world.examine(&p, typed).answer(), PolicyAnswer::Ask);
}
