#![allow(clippy::unwrap_used)]
use super::PolicyFile;
use crate::level::PolicyAnswer;
use crate::pattern::PathVariables;

fn places() -> PathVariables {
    PathVariables {
        workspace: Some("/ws".into()),
        home: Some("/users/me".into()),
        hermes: "/users/me/.hermes".into(),
        temp: vec!["/tmp".into()],
    }
}

fn parse(text: &str) -> Result<PolicyFile, crate::PolicyError> {
    PolicyFile::parse("rules.yaml", text, &places())
}

fn message(text: &str) -> String {
    match parse(text) {
        Ok(_) => panic!("read without complaint: {text}"),
        Err(error) => format!("{error} {}", error.hint.clone().unwrap_or_default()),
    }
}

#[test]
fn every_key_is_read() {
    let file = parse(
        "
global:
  deny: [email:send]
profiles:
  a:
    description: All of it.
    allow: ['*', {scope: file:read, paths: [src/**], reason: sources}]
    deny: [{scope: network:send, hosts: [evil.example]}]
    approval_required: [{scope: secret:use, names: ['PROD_*']}]
    restrictions:
      file:write:
        allowed_paths: [a/**]
        denied_paths: [a/b]
        approval_paths: a/c
        elsewhere: ask
        examples: {allow: [a/x], deny: [a/b], ask: [other]}
      terminal:execute:
        allowed_commands: ['git *']
        denied_commands: [git push]
        approval_commands: [git rebase]
        dangerous: deny
      network:fetch:
        allowed_hosts: ['*.example.com']
        denied_hosts: [x.example.com]
        approval_hosts: [y.example.com]
        private_hosts: deny
      database:read: {allowed_names: [t], denied_names: [u], approval_names: [v]}
    tools:
      terminal:
        approval_required: true
        parameters:
          timeout: {min: 1, max: 60}
          mode: {allowed: [a], denied: [b], approval: [c]}
      probe:
        approval_required: [file:read]
        deny: [file:write]
    after_untrusted:
      deny: [email:send]
      new_hosts: ask
    sensitive_paths: [~/.ssh/config]
    sandbox: {enabled: true, bubblewrap: true, missing: ask, processes: 9, memory: 2G, file_size: 1K, open_files: 8}
  b:
    extends: a
",
    )
    .unwrap();
    assert_eq!(file.global.unwrap().level.deny.len(), 1);
    let a = &file.profiles[0];
    assert_eq!((a.name.as_str(), a.description.as_deref()), ("a", Some("All of it.")));
    assert_eq!(
        (a.level.allow.as_ref().unwrap().len(), a.level.deny.len(), a.level.ask.len()),
        (2, 1, 1)
    );
    assert_eq!(a.level.allow.as_ref().unwrap()[1].reason.as_deref(), Some("sources"));
    let write = &a.level.restrictions[0];
    assert_eq!(write.default_answer, PolicyAnswer::Ask);
    let allowed = write.allowed.as_ref().unwrap();
    assert_eq!((allowed.paths.len(), write.denied.paths.len(), write.asked.paths.len()), (1, 1, 1));
    let run = &a.level.restrictions[1];
    assert_eq!(
        (run.dangerous, run.denied.commands.len(), run.asked.commands.len()),
        (Some(PolicyAnswer::Deny), 1, 1)
    );
    assert_eq!(a.level.restrictions[2].private_hosts, Some(PolicyAnswer::Deny));
    assert_eq!(a.level.restrictions[3].denied.names.len(), 1);
    assert!(a.tools[0].ask.is_some() && a.tools[0].parameters.len() == 2);
    assert!(a.tools[1].ask.is_none() && a.tools[1].level.ask.len() == 1);
    assert_eq!(a.after_untrusted.as_ref().unwrap().new_hosts, Some(PolicyAnswer::Ask));
    assert_eq!(a.sensitive_paths.len(), 1);
    let held = &a.sandbox;
    assert!(held.enabled && held.bubblewrap && held.missing == PolicyAnswer::Ask);
    assert_eq!((held.limits.processes, held.limits.open_files), (Some(9), Some(8)));
    assert_eq!((held.limits.memory, held.limits.file_size), (Some(2 << 30), Some(1 << 10)));
    assert_eq!(file.expectations.len(), 3);
    let place = a.level.deny[0].origin.place.as_ref().unwrap();
    assert_eq!(place.line, 8);
}

#[test]
fn nothing_says_nothing() {
    for empty in
        ["", "\n", "# only a comment\n", "---\n", "{}", "profiles:\n", "profiles: {}\nglobal: {}\n"]
    {
        let file = parse(empty).unwrap_or_else(|e| panic!("{empty:?}: {e}"));
        assert!(file.profiles.is_empty(), "{empty:?}");
    }
    let bare = parse(
        "profiles: {a: {}, b: {allow: [], deny: [], restrictions: {}, tools: {}, sandbox: }}",
    )
    .unwrap();
    assert!(bare.profiles[0].level.allow.is_none(), "no opinion");
    assert_eq!(bare.profiles[1].level.allow.as_ref().map(Vec::len), Some(0), "nothing at all");
}

#[test]
fn an_empty_list_where_it_would_mean_anything_is_refused() {
    for text in [
        "profiles: {a: {allow: [{scope: file:write, paths: []}]}}",
        "profiles: {a: {allow: [{scope: file:write, paths: }]}}",
        "profiles: {a: {deny: [{scope: network:send, hosts: []}]}}",
        "profiles: {a: {allow: [{scope: secret:use, names: []}]}}",
        "profiles: {a: {allow: [{scope: terminal:execute, commands: []}]}}",
        "profiles: {a: {restrictions: {file:write: {allowed_paths: []}}}}",
        "profiles: {a: {restrictions: {file:write: {allowed_paths: }}}}",
        "profiles: {a: {restrictions: {network:fetch: {allowed_hosts: []}}}}",
        "profiles: {a: {tools: {x: {parameters: {mode: {allowed: []}}}}}}",
    ] {
        assert!(message(text).contains("empty"), "{text}");
    }
    assert!(parse("profiles: {a: {restrictions: {file:write: {denied_paths: []}}}}").is_ok());
}

#[test]
fn wrong_types_are_errors() {
    for text in [
        "[]",
        "profiles: []",
        "profiles: 3",
        "global: x",
        "profiles: {a: []}",
        "profiles: {a: {allow: {x: y}}}",
        "profiles: {a: {allow: [3]}}",
        "profiles: {a: {allow: [true]}}",
        "profiles: {a: {allow: [[file:read]]}}",
        "profiles: {a: {allow: [null]}}",
        "profiles: {a: {allow: [{paths: [x]}]}}",
        "profiles: {a: {description: [x]}}",
        "profiles: {a: {extends: [b]}}",
        "profiles: {a: {restrictions: [x]}}",
        "profiles: {a: {restrictions: {file:write: x}}}",
        "profiles: {a: {restrictions: {file:write: {elsewhere: maybe}}}}",
        "profiles: {a: {restrictions: {file:write: {elsewhere: }}}}",
        "profiles: {a: {restrictions: {file:write: {allowed_paths: [3]}}}}",
        "profiles: {a: {restrictions: {file:write: {allowed_paths: ['${nowhere}/x']}}}}",
        "profiles: {a: {restrictions: {file:write: {allowed: [x]}}}}",
        "profiles: {a: {restrictions: {file:write: {allowed_: [x]}}}}",
        "profiles: {a: {restrictions: {nothing: {}}}}",
        "profiles: {a: {restrictions: {network:fetch: {allowed_hosts: ['[']}}}}",
        "profiles: {a: {tools: {x: {approval_required: {a: b}}}}}",
        "profiles: {a: {tools: {'[': {}}}}",
        "profiles: {a: {tools: {x: {parameters: {n: {min: x}}}}}}",
        "profiles: {a: {tools: {x: {parameters: {n: {most: 1}}}}}}",
        "profiles: {a: {sandbox: {enabled: 1}}}",
        "profiles: {a: {sandbox: {memory: lots}}}",
        "profiles: {a: {sandbox: {memory: -1}}}",
        "profiles: {a: {sandbox: {memory: 99999999999999T}}}",
        "profiles: {a: {sandbox: {missing: allow}}}",
        "profiles: {a: {sandbox: {processes: 1.5}}}",
        "profiles: {a: {after_untrusted: {new_hosts: x}}}",
        "profiles: {a: {after_untrusted: {hosts: x}}}",
        "global: {extends: default}",
        "profiles: {a: {restrictions: {file:write: {examples: {maybe: [x]}}}}}",
        "profiles: {a: {restrictions: {terminal:execute: {denied_commands: ['']}}}}",
    ] {
        message(text);
    }
}

#[test]
fn a_key_twice_is_not_read_as_one_of_the_two() {
    for text in [
        "profiles: {a: {deny: [file:write]}, a: {}}",
        "profiles:\n  a:\n    deny: [file:write]\n    deny: []\n",
        "profiles: {}\nprofiles: {}\n",
    ] {
        message(text);
    }
}

#[test]
fn anchors_are_what_they_stand_for() {
    let file = parse(
        "
profiles:
  a: &base
    deny: &list [file:write, file:delete]
  b:
    <<: *base
    approval_required: *list
",
    )
    .unwrap();
    assert_eq!((file.profiles[1].level.deny.len(), file.profiles[1].level.ask.len()), (2, 2));
    message("profiles: {a: {deny: *nobody}}");
}

#[test]
fn size_and_depth_are_bounded() {
    let deep = format!("profiles: {}{}", "[".repeat(10_000), "]".repeat(10_000));
    message(&deep);
    let deep = format!("profiles: {}x{}", "{a: ".repeat(10_000), "}".repeat(10_000));
    message(&deep);
    message(&format!("# {}\n", "x".repeat(9 * 1024 * 1024)));
    let mut bomb = "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n".to_owned();
    for level in 1..12 {
        let below = format!("*x{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("x{level}: &x{level} [{}]\n", below.trim_end_matches(", ")));
    }
    message(&bomb);
    // Many rules are fine.
    let many: String =
        (0..3000).map(|n| format!("      - {{scope: file:read, paths: [/p/{n}/**]}}\n")).collect();
    let file = parse(&format!("profiles:\n  a:\n    allow:\n{many}")).unwrap();
    assert_eq!(file.profiles[0].level.allow.as_ref().unwrap().len(), 3000);
}

#[test]
fn who_extends_can_be_stricter_in_everything() {
    let file = parse(
        "
profiles:
  base:
    restrictions: {file:write: {allowed_paths: [a/**], elsewhere: ask}}
    after_untrusted: {deny: [email:send], new_hosts: deny}
    sandbox: {enabled: false, bubblewrap: true, memory: 1G}
  strict:
    extends: base
    restrictions: {file:write: {elsewhere: deny}}
    after_untrusted: {deny: [network:send]}
    sandbox: {enabled: true}
  same:
    extends: base
    restrictions: {file:write: {allowed_paths: [b/**]}}
",
    )
    .unwrap();
    let strict = file.resolve("strict", None).unwrap().unwrap();
    assert_eq!(strict.level.restrictions[0].default_answer, PolicyAnswer::Deny);
    assert!(strict.sandbox.enabled && strict.sandbox.bubblewrap, "what is not said is inherited");
    assert_eq!(strict.sandbox.limits.memory, Some(1 << 30));
    let after = strict.after_untrusted.unwrap();
    assert_eq!((after.level.deny.len(), after.new_hosts), (2, Some(PolicyAnswer::Deny)));
    let same = file.resolve("same", None).unwrap().unwrap();
    assert_eq!(same.level.restrictions[0].default_answer, PolicyAnswer::Ask);
    assert!(!same.sandbox.enabled);
}

#[test]
fn a_long_chain_and_a_circle_end() {
    let chain: String = (0..40).map(|n| format!("  p{n}: {{extends: p{}}}\n", n + 1)).collect();
    let file = parse(&format!("profiles:\n{chain}  p40: {{}}\n")).unwrap();
    assert!(file.resolve("p0", None).is_err());
    assert!(file.resolve("p30", None).unwrap().is_some());
    let own = parse("profiles: {x: {extends: x}}").unwrap();
    let message = own.resolve("x", None).unwrap_err().message;
    assert!(message.contains("no profile 'x'") && !message.contains("mean"), "{message}");
}

#[test]
fn a_key_with_nothing_after_it_is_an_error_with_its_line() {
    for (text, line) in [
        ("profiles:\n  p:\n    deny:\n", 3),
        ("profiles:\n  p:\n    allow:\n", 3),
        ("profiles:\n  p:\n    restrictions:\n", 3),
        ("profiles:\n  p:\n    restrictions: {file:read:}\n", 3),
        ("profiles:\n  p:\n    restrictions:\n      file:read:\n", 4),
        ("profiles:\n  p:\n    restrictions:\n      file:read:\n        denied_paths:\n", 5),
        ("profiles:\n  p:\n    tools:\n      sleep:\n", 4),
        ("profiles:\n  p:\n    after_untrusted:\n", 3),
        ("global:\n  approval_required:\n", 2),
        ("profiles:\n  p:\n", 2),
        ("profiles: {}\nglobal:\n", 2),
    ] {
        let error = PolicyFile::parse("f.yaml", text, &places()).unwrap_err().to_string();
        assert!(error.contains(&format!("f.yaml:{line}:")), "{text}: {error}");
    }
    PolicyFile::parse("f.yaml", "profiles:\n  p:\n    deny: []\n", &places()).unwrap();
}
