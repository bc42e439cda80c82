#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn every_variable_is_documented_once() {
    let mut names: Vec<_> = VARS.iter().map(|var| var.name).collect();
    assert!(VARS.iter().all(|var| !var.meaning.is_empty() && !var.default.is_empty()));
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn empty_counts_as_unset() {
    let env = EnvSnapshot::from_iter([("NO_COLOR", ""), ("HERMES_SESSION", "a")]);
    assert_eq!(env.get(&NO_COLOR), None);
    assert_eq!(env.text(&HERMES_SESSION).unwrap(), "a");
}

#[test]
fn fill_never_overrides() {
    let mut env = EnvSnapshot::from_iter([("HERMES_LOG", "debug")]);
    env.fill_missing([("HERMES_LOG", "off"), ("HERMES_SESSION", "b")]);
    assert_eq!(env.text(&HERMES_LOG).unwrap(), "debug");
    assert_eq!(env.text(&HERMES_SESSION).unwrap(), "b");
}

#[test]
fn debug_hides_values() {
    let env = EnvSnapshot::from_iter([("OPENAI_API_KEY", "sk-very-secret")]);
    let shown = format!("{env:?}");
    assert!(shown.contains("OPENAI_API_KEY") && !shown.contains("secret"));
}
