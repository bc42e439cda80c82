//! Commands with the verdict that the default profile owes them.

use std::sync::Arc;

use hermes_policy::PolicyAnswer;

use crate::World;

const COMMANDS: [&str; 2] =
    [include_str!("../corpus/commands.tsv"), include_str!("../corpus/travelling.tsv")];

struct Case {
    verdict: &'static str,
    class: &'static str,
    command: String,
}

fn cases(world: &World) -> Vec<Case> {
    let read = |line: &'static str| {
        let mut fields = line.splitn(3, '\t');
        let (verdict, class, text) = (fields.next()?, fields.next()?, fields.next()?);
        let command = unescape(text)
            .replace("/workspace", &world.path("ws").to_string_lossy())
            .replace("/home/dev", &world.path("home").to_string_lossy());
        Some(Case { verdict, class, command })
    };
    let lines = COMMANDS.iter().flat_map(|text| text.split('\n'));
    lines.filter(|line| !line.starts_with('#')).filter_map(read).collect()
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some(other)) => out.push(other),
            (c, _) => out.push(c),
        }
    }
    out
}

#[test]
fn a_program_of_the_project_is_not_the_one_that_a_rule_names() {
    let world = World::new();
    let rules = "profiles:
  few:
    extends: default
    restrictions:
      terminal:execute: {allowed_commands: [ls, git log, ./gradlew test]}
  pushes:
    extends: default
    approved: [{scope: network:send, commands: [git push]}]
";
    let few = world.with(rules, "few").unwrap();
    for command in ["ls -l", "/bin/ls", "git log", "./gradlew test --info"] {
        assert_eq!(world.judged(&few, command), PolicyAnswer::Allow, "{command}");
    }
    for command in ["./ls", "bin/git log", "./timeout 5 ls", "tools/gradlew test", "ls; ./ls"] {
        assert_ne!(world.judged(&few, command), PolicyAnswer::Allow, "{command}");
    }
    let pushes = world.with(rules, "pushes").unwrap();
    let reaches = |command: &str| {
        let effects = world.command(&pushes, command).command_effects;
        effects.iter().any(|effect| matches!(effect.scope.family(), "network" | "git"))
    };
    assert!(reaches("git push"));
    assert!(!reaches("./git push"));
}

#[test]
fn nothing_dangerous_runs_and_next_to_nothing_harmless_is_asked_about() {
    let world = World::new();
    world.put("ws/.env", "KEY=1");
    // The verdicts are those of a machine that has all of the programs.
    let permissions = world.builtin("default").with_programs(Arc::new(|_, _| true));
    let cases = cases(&world);
    assert!(cases.len() >= 400, "only {} cases", cases.len());
    let (mut wrong, mut harmless, mut bothered) = (Vec::new(), 0, Vec::new());
    for case in &cases {
        let exam = world.command(&permissions, &case.command);
        let got = exam.answer();
        let right = match case.verdict {
            "allow" => got == PolicyAnswer::Allow,
            "ask" => got == PolicyAnswer::Ask,
            "deny" => got == PolicyAnswer::Deny,
            "stop" => got != PolicyAnswer::Allow,
            other => panic!("verdict '{other}'"),
        };
        let why =
            exam.decisive_finding().map(|f| format!("{:?}", f.origin.as_ref().map(|o| &o.rule)));
        let shown =
            format!("{} {} is {}: {} {why:?}", case.class, case.verdict, got.name(), case.command);
        if case.verdict == "allow" {
            harmless += 1;
            if !right {
                bothered.push(shown);
            }
        } else if !right {
            wrong.push(shown);
        }
    }
    eprintln!("{} of {harmless} harmless commands are asked about", bothered.len());
    for line in &bothered {
        eprintln!("  {line}");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(bothered.len() * 50 < harmless, "{} of {harmless}", bothered.len());
}
