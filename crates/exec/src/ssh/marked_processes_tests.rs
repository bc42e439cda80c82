use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};

use super::*;

fn sleeper(mark: &str) -> Child {
    Command::new("sleep").arg("300").env(JOB_VARIABLE, mark).spawn().unwrap()
}

fn said(script: &str) -> String {
    let output = Command::new("sh").args(["-c", script]).env_remove(JOB_VARIABLE).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A mark that no other test has.
fn mark(name: &str) -> String {
    format!("marked_{name}_{}", std::process::id())
}

#[test]
fn what_has_the_mark_is_ended_and_nothing_else() {
    let (ours, inner) = (mark("ours"), format!("{}/inner", mark("ours")));
    let mut ended = [sleeper(&ours), sleeper(&inner)];
    let mut other = sleeper(&format!("{ours}2"));
    let script = terminate_script(std::slice::from_ref(&ours), Duration::from_secs(1));
    assert!(!script.contains('\n'));
    assert_eq!(said(&script), "2");
    for child in &mut ended {
        assert_eq!(child.wait().unwrap().signal(), Some(15));
    }
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(said(&script), "0");
}

#[test]
fn ps_finds_them_as_well() {
    let ours = mark("ps");
    let mut child = sleeper(&ours);
    let found =
        said(&format!("{}; echo $a", find_by_ps(&format!("{JOB_VARIABLE}={ours}($|[/ ])"))));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found, child.id().to_string());
}

#[test]
fn a_mark_is_never_a_word_of_the_shell() {
    assert_eq!(terminate_script(&["a'; rm -rf /".into(), String::new()], Duration::ZERO), "echo 0");
}
