use std::path::PathBuf;

use hermes_core::WorkingDir;

use super::*;

#[test]
fn a_definition_is_found_whatever_blanks_are_in_it() {
    for code in [
        "ls() { rm -rf x; }",
        "ls ( ) { rm -rf x; }",
        "ls (\t) \n { rm -rf x; }",
        "ls (\\\n) { rm -rf x; }",
        "function ls { rm -rf x; }",
        "func\\\ntion ls { rm -rf x; }",
        "alias ls='rm -rf'",
        "al''ias ls='rm -rf'",
        "\\unalias ls",
        "unset -f ls",
        "BASH_ALIASES[ls]='rm -rf'",
        "HOME=/etc",
        "set -- /etc",
    ] {
        assert!(may_define(code), "{code}");
    }
    for code in ["ls", "echo (a)", "cd src && make", "x=1; echo $x"] {
        assert!(!may_define(code), "{code}");
    }
}

#[test]
fn the_policy_sees_what_a_remembered_definition_runs() {
    let at = WorkingDir::new("/ws", Some(PathBuf::from("/home/u")));
    for code in ["ls ( ) { rm -rf /; }", "ls (\\\n) { rm -rf /; }", "alias ls='rm -rf /; :'"] {
        let mut history = ShellHistory::default();
        history.push(code);
        let analysis = hermes_shell::analyze_after(&history.told.join("\n"), "ls", &at);
        assert_eq!(analysis.level(), Some(hermes_shell::FindingLevel::Block), "{code}");
    }
}

#[test]
fn a_definition_is_not_forgotten_for_later_code() {
    let mut history = ShellHistory::default();
    history.push("echo first");
    history.push("ls() { rm -rf x; }");
    let long = "echo x;".repeat(1_000);
    (0..20).for_each(|_| history.push(&long));
    assert_eq!(history.told.first().map(String::as_str), Some("ls() { rm -rf x; }"));
    assert!(history.len_bytes() <= MAX_REMEMBERED_BYTES);
    assert_eq!(history.told.len(), 5);
}

#[test]
fn more_definitions_than_can_be_analyzed_are_asked_about() {
    let mut history = ShellHistory::default();
    let long = format!("f() {{ {} }}", "echo x;".repeat(1_000));
    (0..100).for_each(|_| history.push(&long));
    assert!(history.len_bytes() <= MAX_HISTORY_BYTES + long.len());
    let at = WorkingDir::new("/ws", None);
    let analysis = hermes_shell::analyze_after(&history.told.join("\n"), "ls", &at);
    assert!(analysis.level().is_some());
}
