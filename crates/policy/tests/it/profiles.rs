//! The policy file and what it means.

use hermes_core::Scope;
use hermes_policy::{EnforcementMode, EnforcementSettings, PolicyAnswer};

use crate::World;

const SEED: &str = r#"
profiles:
  readonly_research:
    allow:
      - network:search
      - network:fetch
      - file:read
    deny:
      - file:write
      - file:delete
      - terminal:execute

  full_developer:
    allow: ["*"]
    deny:
      - env:write
    restrictions:
      file:write:
        allowed_paths: [/workspace/**, /tmp/**]
        denied_paths: [/workspace/.env, /workspace/secrets/**]
      terminal:execute:
        denied_commands: ["rm -rf /", ":(){ :|:& };:"]

  production_deploy:
    allow: [git:read, docker:run, network:fetch]
    deny: [terminal:execute, file:delete]
    approval_required: [docker:run, database:write]
"#;

fn any(world: &World, permissions: &hermes_policy::PermissionPolicy, scope: Scope) -> PolicyAnswer {
    world.examine(permissions, hermes_core::Effect::any(scope)).answer()
}

#[test]
fn the_well_known_file_works_as_it_is() {
    let world = World::new();
    let p = world.with(SEED, "readonly_research").unwrap();
    assert_eq!(world.touches(&p, Scope::FILE_READ, "/srv/x"), PolicyAnswer::Allow);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, world.path("ws/x")), PolicyAnswer::Deny);
    assert_eq!(world.judged(&p, "ls"), PolicyAnswer::Deny);
    assert_eq!(any(&world, &p, Scope::EMAIL_SEND), PolicyAnswer::Deny);
    let p = world.with(SEED, "full_developer").unwrap();
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, "/workspace/a/b"), PolicyAnswer::Allow);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, "/workspace/secrets/x"), PolicyAnswer::Deny);
    assert_eq!(
        world.touches(&p, Scope::FILE_WRITE, "/workspace/../etc/passwd"),
        PolicyAnswer::Deny
    );
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, "/srv/x"), PolicyAnswer::Deny);
    assert_eq!(any(&world, &p, Scope::ENV_WRITE), PolicyAnswer::Deny);
    assert_eq!(any(&world, &p, Scope::EMAIL_SEND), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "rm  -fr   /"), PolicyAnswer::Deny);
    let p = world.with(SEED, "production_deploy").unwrap();
    assert_eq!(any(&world, &p, Scope::DOCKER_RUN), PolicyAnswer::Ask);
    assert_eq!(any(&world, &p, Scope::DATABASE_WRITE), PolicyAnswer::Ask);
    assert_eq!(any(&world, &p, Scope::GIT_READ), PolicyAnswer::Allow);
    assert_eq!(any(&world, &p, Scope::GIT_WRITE), PolicyAnswer::Deny);
    assert_eq!(world.reaches(&p, Scope::NETWORK_FETCH, "example.com"), PolicyAnswer::Allow);
}

#[test]
fn the_default_profile_is_for_people_who_configured_nothing() {
    let world = World::new();
    let p = world.builtin("default");
    assert_eq!(world.touches(&p, Scope::FILE_READ, "/etc/hostname"), PolicyAnswer::Allow);
    assert_eq!(world.touches(&p, Scope::FILE_READ, "/etc/shadow"), PolicyAnswer::Deny);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, world.path("ws/a")), PolicyAnswer::Allow);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, "/tmp/a"), PolicyAnswer::Allow);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, world.path("out/a")), PolicyAnswer::Ask);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, "/etc/hosts"), PolicyAnswer::Deny);
    assert_eq!(world.touches(&p, Scope::FILE_DELETE, world.path("home/notes")), PolicyAnswer::Ask);
    assert_eq!(world.reaches(&p, Scope::NETWORK_FETCH, "example.com"), PolicyAnswer::Allow);
    assert_eq!(world.reaches(&p, Scope::NETWORK_FETCH, "10.0.0.7"), PolicyAnswer::Ask);
    assert_eq!(world.reaches(&p, Scope::NETWORK_FETCH, "localhost:3000"), PolicyAnswer::Ask);
    assert_eq!(world.reaches(&p, Scope::NETWORK_FETCH, "169.254.169.254"), PolicyAnswer::Deny);
    assert_eq!(world.reaches(&p, Scope::NETWORK_SEND, "example.com"), PolicyAnswer::Ask);
    for scope in [Scope::DOCKER_RUN, Scope::DATABASE_WRITE, Scope::CLOUD_WRITE, Scope::EMAIL_SEND] {
        assert_eq!(any(&world, &p, scope), PolicyAnswer::Ask);
    }
    for scope in [Scope::MEMORY_WRITE, Scope::SCHEDULE_WRITE, Scope::AGENT_DELEGATE] {
        assert_eq!(any(&world, &p, scope), PolicyAnswer::Allow);
    }
}

#[test]
fn a_slip_is_an_error_with_its_line_and_a_way_out() {
    let world = World::new();
    let cases = [
        ("profiles:\n  a:\n    alow: [file:read]\n", 3, "'allow'"),
        ("profiles:\n  a:\n    allow: [file:reed]\n", 3, "file:read"),
        (
            "profiles:\n  a:\n    restrictions:\n      file:write:\n        allowed_path: [x]\n",
            5,
            "'allowed_paths'",
        ),
        ("profile:\n  a: {}\n", 1, "'profiles'"),
        ("profiles:\n  a:\n    allow: {file: read}\n", 3, "list"),
        ("profiles:\n  a:\n    sandbox: {missing: allow}\n", 3, "refuse, ask or reduced"),
        ("profiles:\n  a:\n    deny:\n      - {scope: file:write, path: [x]}\n", 4, "'paths'"),
        (
            "profiles:\n  a:\n    tools:\n      terminal:\n        parametres: {}\n",
            5,
            "'parameters'",
        ),
    ];
    for (yaml, line, hint) in cases {
        let error = world.with(yaml, "default").unwrap_err();
        let place = error.place.clone().unwrap_or_else(|| panic!("no place: {error}"));
        assert_eq!(place.line, line, "{error}");
        let shown = format!("{error} {}", error.hint.clone().unwrap_or_default());
        assert!(shown.contains(hint), "{shown}");
    }
    // Not YAML at all.
    assert!(world.with("profiles: [\n", "default").is_err());
    let error = world.with(SEED, "full_develper").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("Did you mean 'full_developer'?"));
}

#[test]
fn lower_levels_only_narrow() {
    let world = World::new();
    let project = "
global:
  allow: ['*']
  deny: [network:fetch]
profiles:
  default:
    allow: ['*']
    restrictions:
      file:write: {allowed_paths: ['${workspace}/src/**', '/srv/**']}
    sensitive_paths: ['~/.ssh/**']
";
    world.put("ws/.hermes/hermes_permissions.yaml", project);
    let yaml = "
global:
  deny: [docker:read]
  tools:
    probe:
      parameters:
        mode: {allowed: [fast, safe], denied: [raw]}
        count: {max: 10}
";
    let p = world.with(yaml, "default").unwrap();
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, world.path("ws/src/a")), PolicyAnswer::Allow);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, world.path("ws/a")), PolicyAnswer::Deny);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, "/srv/a"), PolicyAnswer::Ask);
    assert_eq!(
        world.touches(&p, Scope::FILE_READ, world.path("home/.ssh/id_rsa")),
        PolicyAnswer::Deny
    );
    assert_eq!(world.reaches(&p, Scope::NETWORK_FETCH, "example.com"), PolicyAnswer::Deny);
    assert_eq!(any(&world, &p, Scope::DOCKER_READ), PolicyAnswer::Deny);
    assert_eq!(any(&world, &p, Scope::EMAIL_SEND), PolicyAnswer::Ask);
    for (arguments, answer) in [
        (serde_json::json!({"mode": "fast", "count": 3}), PolicyAnswer::Allow),
        (serde_json::json!({"mode": "raw"}), PolicyAnswer::Deny),
        (serde_json::json!({"mode": "other"}), PolicyAnswer::Deny),
        (serde_json::json!({"count": 11}), PolicyAnswer::Deny),
    ] {
        let at = world.at();
        let mut proposal = world.proposal(&[], &at);
        proposal.arguments = &arguments;
        assert_eq!(p.consider(&proposal).0.answer(), answer, "{arguments}");
    }
}

#[test]
fn profiles_extend_one_another() {
    let world = World::new();
    let yaml = "
profiles:
  mine:
    extends: default
    allow: [docker:run]
    restrictions:
      file:write: {allowed_paths: [~/notes/**]}
  default:
    extends: default
    deny: [network:search]
  round:
    extends: about
  about:
    extends: round
";
    let p = world.with(yaml, "mine").unwrap();
    assert_eq!(
        world.touches(&p, Scope::FILE_WRITE, world.path("home/notes/a")),
        PolicyAnswer::Allow
    );
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, world.path("ws/a")), PolicyAnswer::Allow);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, world.path("home/a")), PolicyAnswer::Ask);
    assert_eq!(any(&world, &p, Scope::NETWORK_SEARCH), PolicyAnswer::Deny);
    assert_eq!(any(&world, &p, Scope::DOCKER_RUN), PolicyAnswer::Ask);
    assert!(world.with(yaml, "round").unwrap_err().message.contains("in a cycle"));
}

#[test]
fn rules_name_programs_and_subcommands() {
    let world = World::new();
    let yaml = "
profiles:
  p:
    allow: [file:*, git:*, network:*, {scope: terminal:execute, commands: ['git *', 'npm run *', ls]}]
    restrictions:
      terminal:execute:
        denied_commands: ['git push', 'npm run deploy']
        approval_commands: ['git rebase']
        examples:
          allow: ['git status', 'npm run test']
          deny: ['git push -f', 'git -C x push', 'ls && git push', 'make']
          ask: ['git rebase main']
";
    let p = world.with(yaml, "p").unwrap();
    assert_eq!(world.judged(&p, "git status && ls -la"), PolicyAnswer::Allow);
    assert_eq!(world.judged(&p, "git status; cat x"), PolicyAnswer::Deny);
    let broken = yaml.replace("'git status', ", "'git status', 'git push', ");
    let error = world.with(&broken, "p").unwrap_err();
    assert!(error.message.contains("'git push' should be allowed, but it is denied"), "{error}");
    assert_eq!(error.place.unwrap().line, 10);
}

#[test]
fn watching_refuses_only_hard_blocks_and_tells_what_would_have_been() {
    use hermes_core::{Policy as _, Verdict};
    let world = World::new();
    let settings =
        EnforcementSettings { mode: EnforcementMode::Audit, ..EnforcementSettings::default() };
    let p = world.with_settings("", "readonly_research", settings).unwrap();
    let at = world.at();
    let effect = hermes_core::Effect::path(Scope::FILE_WRITE, world.path("ws/x"));
    let ruling = p.judge(&world.proposal(std::slice::from_ref(&effect), &at));
    assert_eq!(ruling.verdict, Verdict::Allow);
    assert!(matches!(ruling.audit_verdict, Some(Verdict::Deny { .. })));
    let command = hermes_core::Resource::Command("rm -rf /".into());
    let effect = hermes_core::Effect { scope: Scope::TERMINAL_EXECUTE, resource: command };
    let ruling = p.judge(&world.proposal(&[effect], &at));
    assert!(matches!(ruling.verdict, Verdict::Deny { .. }));
}

#[test]
fn a_pattern_that_would_mean_nothing_or_everything_is_refused() {
    let world = World::new();
    let refused = |body: &str| {
        let yaml = format!("profiles:\n  mine:\n    allow: [\"*\"]\n{body}");
        world.with(&yaml, "mine").map(drop).unwrap_err().to_string()
    };
    let denied = |path: &str| {
        refused(&format!(
            "    restrictions:\n      file:read:\n        denied_paths: [\"{path}\"]\n"
        ))
    };
    assert!(denied("$HOME/x").contains("variables are not expanded"));
    assert!(denied("!/srv/x").contains("negated"));
    for all in ["**", "/**", "*", "**/.env"] {
        let shown = refused(&format!("    sensitive_paths: [\"{all}\"]\n"));
        assert!(shown.contains("expose every secret"), "{shown}");
    }
    let shown = refused("    extends: full_develper\n");
    assert!(shown.contains("did you mean 'full_developer'"), "{shown}");
}

#[test]
fn a_rule_for_a_tool_or_parameter_that_is_not_there_is_an_error_with_its_line() {
    let world = World::new();
    let check = |yaml: &str| {
        let parameters = |tool: &str| match tool {
            "read_file" => vec!["path".to_owned(), "offset".to_owned()],
            _ => vec!["seconds".to_owned()],
        };
        world.sources(yaml).unwrap().check_tools(&["read_file", "sleep"], parameters)
    };
    for (yaml, name, meant) in [
        ("global:\n  tools:\n    read_fle: {approval_required: true}", "read_fle", "read_file"),
        (
            "profiles:\n  a:\n    tools: {read_file: {parameters: {pth: {denied: [x]}}}}",
            "pth",
            "path",
        ),
    ] {
        let error = check(yaml).unwrap_err();
        assert!(error.message.contains(name), "{error}");
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains(meant)), "{error:?}");
        assert_eq!(error.place.as_ref().map(|place| place.line), Some(3), "{error}");
    }
    for yaml in [
        "",
        "global: {tools: {read_file: {parameters: {path: {denied: [x]}}}}}",
        "global: {tools: {mcp__server__do: {parameters: {any: {denied: [x]}}}}}",
        "global: {tools: {'read_*': {parameters: {any: {denied: [x]}}}}}",
    ] {
        check(yaml).unwrap();
    }
}

#[test]
fn a_rule_for_files_can_name_the_commands_that_touch_them() {
    let world = World::new();
    let yaml = "global: {deny: [{scope: file:read, commands: [cat]}]}";
    let p = world.with(yaml, "default").unwrap();
    assert_eq!(world.judged(&p, "cat src/a"), PolicyAnswer::Deny);
    assert_eq!(world.judged(&p, "head src/a"), PolicyAnswer::Allow);
}

#[test]
fn patterns_that_cannot_match_are_errors() {
    let world = World::new();
    for rules in [
        "deny: [{scope: network:fetch, hosts: ['https://a.b/c']}]",
        "restrictions: {network:fetch: {denied_hosts: ['a.b/c']}}",
        "deny: [{scope: terminal:execute, commands: ['git \"push']}]",
        "tools: {sleep: {parameters: {seconds: {min: 10, max: 1}}}}",
    ] {
        let yaml = format!("profiles:\n  x:\n    {rules}\n");
        assert!(world.sources(&yaml).is_err(), "{rules}");
    }
    let tools = |pattern: &str| {
        let yaml = format!("profiles: {{x: {{tools: {{\"{pattern}\": {{deny: ['*']}}}}}}}}\n");
        world.sources(&yaml).unwrap().check_tools(&["read_file", "sleep"], |_| Vec::new())
    };
    assert!(tools("web_*").is_err());
    for known in ["read_*", "*", "mcp__x_*", "m*"] {
        assert!(tools(known).is_ok(), "{known}");
    }
}

#[test]
fn the_rules_of_a_project_mean_its_folder_wherever_somebody_works() {
    let world = World::new();
    let rules = "profiles: {default: {deny: [{scope: file:read, paths: ['priv/**']}]}}\n";
    let project = world.put("ws/.hermes/hermes_permissions.yaml", rules);
    let secret = world.put("ws/priv/x", "");
    let own = world.put("hermes/hermes_permissions.yaml", "");
    for dir in ["ws", "ws/src"] {
        let places =
            hermes_policy::PathVariables { workspace: Some(world.path(dir)), ..world.places() };
        let sources = hermes_policy::PolicySources::load(&own, Some(&project), places).unwrap();
        let saved = hermes_policy::SavedRules::load(world.path("hermes/none.json")).unwrap();
        let tickets = hermes_policy::TicketStore::new(world.path("hermes/none"));
        let settings = hermes_policy::EnforcementSettings::default();
        let p = sources.permissions("default", settings, saved, tickets).unwrap();
        assert_eq!(world.touches(&p, Scope::FILE_READ, &secret), PolicyAnswer::Deny, "{dir}");
    }
    std::fs::remove_file(&project).unwrap();
    std::os::unix::fs::symlink("nowhere", &project).unwrap();
    assert!(hermes_policy::PolicySources::load(&own, Some(&project), world.places()).is_err());
}
