use hermes_core::{Session, ToolAnnotations};
use serde_json::Value;

use super::*;

fn command(text: &str) -> Effect {
    Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Command(text.to_owned()) }
}

fn script(script: ShellScript) -> Effect {
    Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Script(Box::new(script)) }
}

fn with_proposal<T>(effects: &[Effect], look: impl FnOnce(&CallProposal<'_>) -> T) -> T {
    let (at, session) = (WorkingDir::new("/project", None), Session::in_memory());
    look(&CallProposal {
        tool: "terminal",
        toolset: "terminal",
        arguments: &Value::Null,
        effects,
        code: None,
        annotations: ToolAnnotations::default(),
        working_dir: &at,
        call_id: "1",
        session: &session,
        task_id: "t",
        depth: 0,
    })
}

fn side_effects(effects: &[Effect]) -> SideEffects {
    with_proposal(effects, |proposal| ShellAnalyzer.side_effects(proposal))
}

#[test]
fn one_analysis_serves_all_stages() {
    let script = ShellScript { text: "git status --short".to_owned(), ..ShellScript::default() };
    let at = WorkingDir::new("/one-analysis", None);
    let first = shared_analysis("", &script, &at);
    assert!(Arc::ptr_eq(&first, &shared_analysis("", &script, &at)));
    for (earlier, dir) in [("x=1", "/one-analysis"), ("", "/another")] {
        let other = shared_analysis(earlier, &script, &WorkingDir::new(dir, None));
        assert!(!Arc::ptr_eq(&first, &other), "{earlier} {dir}");
    }
}

#[test]
fn a_command_that_the_tool_leaves_open_may_do_anything() {
    assert_eq!(side_effects(&[command("ls")]), SideEffects::ReadOnly);
    let text = "ls".to_owned();
    for open in [
        ShellScript { text: text.clone(), open_ended: true, ..ShellScript::default() },
        ShellScript { text: text.clone(), stdin: Some("x".into()), ..ShellScript::default() },
        ShellScript { text: text.clone(), fresh_shell: true, ..ShellScript::default() },
    ] {
        assert_eq!(side_effects(&[script(open)]), SideEffects::Unknown);
    }
    let elsewhere = ShellScript { text, cwd: Some("/tmp".into()), ..ShellScript::default() };
    assert_eq!(side_effects(&[script(elsewhere)]), SideEffects::ReadOnly);
    assert_eq!(side_effects(&[command("ls"), command("ls")]), SideEffects::Unknown);
}

#[test]
fn writes_follow_the_directory_of_the_script() {
    let here = [command("echo x > out.txt")];
    let writes = with_proposal(&here, |proposal| ShellAnalyzer.writes(proposal));
    assert_eq!(writes.paths, [std::path::Path::new("/project/out.txt")]);
    let there = ShellScript {
        text: "echo x > out.txt".to_owned(),
        cwd: Some("/other".into()),
        ..ShellScript::default()
    };
    let writes = with_proposal(&[script(there)], |proposal| ShellAnalyzer.writes(proposal));
    assert_eq!(writes.paths, [std::path::Path::new("/other/out.txt")]);
}

#[test]
fn a_secret_that_becomes_a_path_changes_the_effects() {
    let at = WorkingDir::new("/project", None);
    let run = |text: &str| ShellScript { text: text.to_owned(), ..ShellScript::default() };
    let same = |judged: &str, filled: &str| {
        ShellAnalyzer.compare(&run(judged), &run(filled), &at).same_effects
    };
    assert!(same("curl -u me:X https://a.example", "curl -u me:hunter2 https://a.example"));
    assert!(!same("cat X", "cat /etc/hosts"));
}
